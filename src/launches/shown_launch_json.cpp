#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "launches/shown_launch.h"

namespace tilescope::launches {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Sizes by their keys.
template <class Sizes, class Do>
void for_each_size(Sizes& sizes, const Do& act) {
  act("batch", sizes.batch), act("heads_q", sizes.heads_q), act("heads_kv", sizes.heads_kv);
  act("q_len", sizes.q_len), act("kv_len", sizes.kv_len), act("splits", sizes.splits);
}

template <class Sizes, class Do>
void for_each_flag(Sizes& sizes, const Do& act) {
  act("folded", sizes.folded), act("falling", sizes.falling), act("q_falling", sizes.q_falling);
  act("own_last_tile", sizes.own_last_tile);
}

constexpr std::int64_t largest_size = std::int64_t{1} << 31;

std::int64_t checked_size(const nlohmann::json& value, const std::string& file) {
  const bool fits = value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= largest_size;
  if (fits) return value.get<std::int64_t>();
  throw InputError(Diagnostic{.file = file,
                              .message = fmt::format("what a launch shows: expected a size from 1 to {}, found {}",
                                                     largest_size, shown_text(value.dump()))});
}

}  // namespace

std::string shown_json(const ShownLaunch& shown) {
  OrderedJson json = OrderedJson::object();
  if (shown.head_dims) json["head_dims"] = {shown.head_dims->first, shown.head_dims->second};
  if (shown.leaves_out_rows) json["leaves_out_rows"] = true;
  if (shown.tensor_maps) json["tensor_maps"] = true;
  if (shown.stages > 0) json["stages"] = shown.stages;
  const LaunchSizes& sizes = shown.sizes;
  for_each_size(sizes, [&](const char* key, const std::optional<std::int64_t>& size) {
    if (size) json[key] = *size;
  });
  if (!sizes.mask.empty()) json["mask"] = sizes.mask;
  if (!sizes.order.empty()) json["order"] = sizes.order;
  if (!sizes.layout.empty()) json["layout"] = sizes.layout;
  for_each_flag(sizes, [&](const char* key, bool flag) {
    if (flag) json[key] = true;
  });
  if (!sizes.unknown.empty()) json["unknown"] = sizes.unknown;
  return json.dump();
}

ShownLaunch read_shown(const std::string& text, const std::string& file) {
  try {
    const auto json = nlohmann::json::parse(text);
    ShownLaunch shown;
    if (const auto dims = json.find("head_dims"); dims != json.end())
      shown.head_dims = {checked_size(dims->at(0), file), checked_size(dims->at(1), file)};
    shown.leaves_out_rows = json.value("leaves_out_rows", false), shown.tensor_maps = json.value("tensor_maps", false);
    if (const auto stages = json.find("stages"); stages != json.end()) shown.stages = checked_size(*stages, file);
    LaunchSizes& sizes = shown.sizes;
    for_each_size(sizes, [&](const char* key, std::optional<std::int64_t>& size) {
      if (const auto found = json.find(key); found != json.end()) size = checked_size(*found, file);
    });
    sizes.mask = json.value("mask", ""), sizes.order = json.value("order", "");
    sizes.layout = json.value("layout", "");
    for_each_flag(sizes, [&](const char* key, bool& flag) { flag = json.value(key, false); });
    if (const auto unknown = json.find("unknown"); unknown != json.end()) unknown->get_to(sizes.unknown);
    return shown;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(Diagnostic{.file = file, .message = std::string("is not what a launch shows: ") + error.what()});
  }
}

}  // namespace tilescope::launches
