#include "request/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/contains.h"
#include "config/read_kind.h"
#include "config/reader.h"
#include "kernel/descriptor/read_shapes.h"
#include "predict/point/support.h"

namespace tilescope {
namespace {

std::optional<CallRule> read_rule(const Node& node, bool splits) {
  node.only({"backend", "compute_capability", "pass", "when", "launches", "kernel"});
  const auto when = reading::read_condition(node["when"], splits);
  if (!when) return std::nullopt;
  CallRule rule{.backend = node["backend"].text(),
                .compute_capabilities = {},
                .pass = std::nullopt,
                .when = *when,
                .launches = node["launches"].text(),
                .kernel = {}};
  if (const auto list = node.find("compute_capability"))
    for (const Node& item : list->items()) rule.compute_capabilities.push_back(item.number(1, 99));
  if (const auto pass = node.find("pass")) rule.pass = find_kind<Pass>(*pass);
  if (const auto kernel = node.find("kernel")) rule.kernel = kernel->text();
  return rule;
}

}  // namespace

Calls load_calls(const std::filesystem::path& file) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/calls/1");
  const Node root = document.root();
  root.only({"schema", "software", "call", "dtypes", "masks", "host_splits", "rules"});
  Calls calls{.software = root["software"].text(),
              .call = root["call"].text(),
              .dtypes = {},
              .masks = {},
              .host_splits = std::nullopt,
              .rules = {}};
  for (const Node& item : root["dtypes"].items()) {
    const auto dtype = parse_dtype(item.text());
    if (dtype) calls.dtypes.push_back(*dtype);
    else item.report("expected a format such as fp16");
  }
  for (const Node& item : root["masks"].items())
    if (const auto mask = find_kind<MaskKind>(item)) calls.masks.push_back(*mask);
  if (const auto splits = root.find("host_splits")) calls.host_splits = reading::read_host_splits(*splits);
  for (const Node& item : root["rules"].items())
    if (const auto rule = read_rule(item, calls.host_splits.has_value())) calls.rules.push_back(*rule);
  document.finish();
  return calls;
}

std::vector<std::pair<std::string, std::filesystem::path>> shipped_calls(
    const std::filesystem::path& kernels_directory) {
  constexpr std::string_view ending = ".calls.yaml";
  std::vector<std::pair<std::string, std::filesystem::path>> found;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator(kernels_directory, ignored))
    for (const auto& entry : std::filesystem::directory_iterator(folder.path(), ignored))
      if (const std::string file = entry.path().filename().string(); file.ends_with(ending))
        found.emplace_back(file.substr(0, file.size() - ending.size()), entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

const CallRule* launched_by(const Calls& calls, const HardwareProfile& hardware, const Call& call) {
  NamedSizes sizes = named_sizes(hardware, call.workload);
  if (calls.host_splits)
    sizes["splits"] = static_cast<double>(chosen_splits(*calls.host_splits, hardware.units.value, sizes));
  const double capability = std::strtod(hardware.compute_capability.c_str(), nullptr);
  const auto meets = [&](const CallRule& rule) {
    return (call.backend.empty() || rule.backend == call.backend) && (!rule.pass || *rule.pass == call.pass) &&
           (rule.compute_capabilities.empty() || contains(rule.compute_capabilities, capability)) &&
           rule.when.holds(sizes);
  };
  const auto rule = std::find_if(calls.rules.begin(), calls.rules.end(), meets);
  return rule == calls.rules.end() ? nullptr : &*rule;
}

}  // namespace tilescope
