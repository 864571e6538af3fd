#include "lower/read_parts.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tilescope::lower {

std::string read_size_name(const Node& node, const ReadState& state) {
  const std::string name = node.text();
  if (!name.empty() && !state.sizes.contains(name))
    node.report(fmt::format("{} is not a size{}", shown_text(name), did_you_mean(name, keys_of(state.sizes))));
  return name;
}

SizeFactor read_factor(const Node& node, const ReadState& state) {
  const std::string text = node.text();
  if (text.empty()) return {};
  const bool number = std::string("0123456789+-.").find(text.front()) != std::string::npos;
  if (number) return {"", node.integer(1, most_size)};
  return {read_size_name(node, state), 1};
}

SizeProduct read_product(const Node& node, const ReadState& state) {
  constexpr std::size_t most_factors = 8;
  SizeProduct product;
  for (const Node& item : node.items()) product.push_back(read_factor(item, state));
  if (node.is_list() && product.empty()) node.report("is an empty list; write [1] for one");
  if (product.size() > most_factors)
    node.report(fmt::format("has {} factors; at most {} make sense", product.size(), most_factors));
  return product;
}

std::string read_source(const Node& node, const ReadState& state) {
  const std::string id = node.text();
  if (!id.empty() && !state.lowering.sources.contains(id))
    node.report(fmt::format("{} is not declared under 'sources'{}", shown_text(id),
                            did_you_mean(id, keys_of(state.lowering.sources))));
  return id;
}

std::int64_t read_array(const Node& node, const ReadState& state, std::string& name) {
  name = node.text();
  if (name.empty()) return 8;
  const auto found = state.lowering.dtypes.find(name);
  if (found != state.lowering.dtypes.end()) return bits(found->second.format);
  node.report(fmt::format("{} is not an array of 'dtypes'{}", shown_text(name),
                          did_you_mean(name, keys_of(state.lowering.dtypes))));
  return 8;
}

PhaseOverlap read_overlap(const Node& node) {
  node.only({"style", "phases"});
  PhaseOverlap overlap;
  const Node style = node["style"];
  overlap.style = style.one_of({"full", "serial", "phases"});
  const auto phases = node.find("phases");
  if (phases)
    for (const Node& phase : phases->items()) {
      overlap.phases.emplace_back();
      for (const Node& name : phase.items()) overlap.phases.back().push_back(name.text());
    }
  if (!is_one_of(style, {"full", "serial", "phases"})) return overlap;
  if (phases && overlap.style != "phases")
    phases->report(fmt::format("overlap '{}' has no phases; remove this key or write 'style: phases'", overlap.style));
  if (!phases && overlap.style == "phases") node.report("style 'phases' needs 'phases: [[operation, ...], ...]'");
  return overlap;
}

}  // namespace tilescope::lower
