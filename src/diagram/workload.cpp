#include "diagram/workload.h"

#include <fmt/format.h>

#include <charconv>

namespace tilescope {
namespace {

constexpr std::array<std::string_view, extent_count> names{"batch",  "heads_kv", "group", "q_len",
                                                           "kv_len", "d_qk",     "d_v"};
}  // namespace

std::string to_string(Extent extent) { return std::string(names[static_cast<std::size_t>(extent)]); }

std::optional<Extent> parse_extent(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<Extent>(i);
  return std::nullopt;
}

std::vector<std::string> extent_names() { return {names.begin(), names.end()}; }

std::int64_t Workload::size(Extent extent) const {
  switch (extent) {
    case Extent::batch:
      return batch;
    case Extent::heads_kv:
      return heads_kv;
    case Extent::group:
      return heads_q / heads_kv;
    case Extent::q_len:
      return q_len;
    case Extent::kv_len:
      return kv_len;
    case Extent::d_qk:
      return d_qk;
    case Extent::d_v:
      return d_v;
  }
  return 0;
}

std::vector<std::string> Workload::violations() const {
  std::vector<std::string> found;
  const auto check = [&](std::string_view name, std::int64_t value) {
    if (value < 1 || value > largest_extent)
      found.push_back(fmt::format("{} must be an integer from 1 to 2^40, found {}", name, value));
  };
  check("batch", batch), check("heads_q", heads_q), check("heads_kv", heads_kv), check("q_len", q_len);
  check("kv_len", kv_len), check("d_qk", d_qk), check("d_v", d_v);
  if (found.empty() && heads_q % heads_kv != 0)
    found.push_back(
        fmt::format("heads_q must be a multiple of heads_kv so that every KV head serves equally many "
                    "query heads, found heads_q {} and heads_kv {}",
                    heads_q, heads_kv));
  return found;
}

std::optional<Mask> parse_mask(std::string_view text) {
  if (text == "none") return Mask{};
  if (text == "causal") return Mask{.kind = Mask::Kind::causal, .text = "causal"};
  constexpr std::string_view prefix = "window:";
  if (!text.starts_with(prefix)) return std::nullopt;
  std::int64_t width = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + prefix.size(), last, width);
  if (error != std::errc() || end != last || width < 1 || width > largest_extent) return std::nullopt;
  return Mask{.kind = Mask::Kind::window, .window = width, .text = std::string(text)};
}

}  // namespace tilescope
