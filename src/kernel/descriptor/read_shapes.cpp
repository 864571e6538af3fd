// Reads `shapes` and `host_splits`.
#include "kernel/descriptor/read_shapes.h"

#include <stdexcept>

#include "kernel/descriptor/read_fields.h"

namespace tilescope::reading {

std::optional<Condition> read_condition(const Node& node, bool splits) {
  const std::string text = node.text();
  if (text.empty()) return std::nullopt;
  std::vector<std::string> names = size_names();
  if (splits) names.emplace_back("splits");
  try {
    return Condition(text, names);
  } catch (const std::invalid_argument& finding) {
    node.report(finding.what());
    return std::nullopt;
  }
}

HostSplits read_host_splits(const Node& node) {
  node.only({"rows", "keys", "blocks_per_sm", "most", "full", "near_best", "packs_one_query"});
  HostSplits host{.rows = node["rows"].integer(1, 4096),
                  .keys = {},
                  .blocks_per_sm = node["blocks_per_sm"].integer(1, 64),
                  .most = node["most"].integer(1, 4096),
                  .full = node["full"].number(0, 1),
                  .near_best = node["near_best"].number(0, 1)};
  constexpr double largest_head_dim = 65536;
  for (const auto& [head_dim, keys] : node["keys"].entries()) {
    const auto size = parse_decimal(head_dim);
    if (!size || !(*size >= 1 && *size <= largest_head_dim) ||
        *size != static_cast<double>(static_cast<std::int64_t>(*size)))
      keys.report("expected a head_dim as key, as in {128: 64}");
    else host.keys[static_cast<std::int64_t>(*size)] = keys.integer(1, 4096);
  }
  if (node["keys"].is_map() && host.keys.empty()) node["keys"].report("is empty, expected keys of a block by head_dim");
  if (const auto packs = node.find("packs_one_query")) host.packs_one_query = packs->boolean();
  return host;
}

void read_shapes(const Node& root, const Node* code, KernelDescriptor& kernel) {
  if (code)
    if (const auto splits = code->find("host_splits")) kernel.host_splits = read_host_splits(*splits);
  const auto shapes = root.find("shapes");
  if (!shapes) return;
  for (const Node& item : shapes->items()) {
    item.only({"when", "otherwise", "kernel"});
    const auto when = read_condition(item["when"], kernel.host_splits.has_value());
    const std::string reason = item["otherwise"].text();
    const auto instead = item.find("kernel");
    if (when) kernel.shapes.push_back({*when, reason, instead ? instead->text() : ""});
  }
}

}  // namespace tilescope::reading
