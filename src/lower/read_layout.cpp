// Divisors, what is copied, and the variables of a lowering file.
#include <fmt/format.h>

#include "base/text.h"
#include "lower/read_parts.h"

namespace tilescope::lower {
namespace {

Scope read_scope(const Node& node) {
  const std::string name = node.one_of(scope_names());
  return static_cast<Scope>(std::find(scope_names().begin(), scope_names().end(), name) - scope_names().begin());
}

// The coalescing granule: a line of the hardware in values of the array (128 B / width).
void read_granule(const Node& node, const ReadState& state, SizeDivisor& divisor) {
  std::string array;
  const std::int64_t width_bits = read_array(node, state, array);
  divisor.because = fmt::format("coalesced rows of {}", array);
  if (!state.hardware_known) return;
  const auto& line = state.lowering.hardware.line_bytes;
  if (line) divisor.multiple = std::max<std::int64_t>(1, 8 * line->value / width_bits);
  else node.report(fmt::format("{} has no levels.l2.line, which coalescing needs", state.lowering.hardware.id));
}

}  // namespace

const std::vector<std::string>& scope_names() {
  static const std::vector<std::string> names{"warp", "warpgroup", "block"};
  return names;
}

SizeDivisor read_divisor(const Node& node, const ReadState& state) {
  node.only({"size", "multiple", "because", "coalesced"});
  SizeDivisor divisor;
  divisor.size = read_size_name(node["size"], state);
  const auto multiple = node.find("multiple"), because = node.find("because"), coalesced = node.find("coalesced");
  if (multiple) divisor.multiple = multiple->integer(1, most_size);
  if (because) divisor.because = because->text();
  if (coalesced) read_granule(*coalesced, state, divisor);
  const bool one_kind = coalesced ? !multiple && !because : multiple && because;
  if (!one_kind) node.report("needs 'multiple' and 'because', or 'coalesced: ARRAY' alone");
  return divisor;
}

void read_copies(const Node& node, ReadState& state) {
  node.only({"scope", "rows", "threads"});
  ResidentCopies& copies = state.lowering.copies;
  const Node scope = node["scope"];
  copies.scope = read_scope(scope);
  copies.rows = read_size_name(node["rows"], state);
  const auto threads = node.find("threads");
  if (threads) copies.threads = threads->integer(1, 1024);
  if (!is_one_of(scope, scope_names())) return;
  if (copies.scope != Scope::block) copies.threads = threads_of(copies.scope, state.lowering);
  if (copies.scope == Scope::block && !threads) node.report("copies of scope 'block' need 'threads'");
  if (copies.scope != Scope::block && threads)
    threads->report("only copies of scope 'block' say how many threads they have; remove this key");
}

Variable read_variable(const Node& node, const ReadState& state) {
  node.only({"name", "array", "shape", "level", "scope", "buffers", "streamed", "shares", "plans", "source"});
  Variable variable;
  variable.name = node["name"].text();
  variable.bits = read_array(node["array"], state, variable.array);
  variable.shape = read_product(node["shape"], state);
  const Node level = node["level"];
  variable.level = read_level(level);
  const MemoryLevel* memory = state.hardware_known ? state.lowering.hardware.level(variable.level) : nullptr;
  if (state.hardware_known && !(memory && memory->capacity_bytes))
    level.report(fmt::format("{} has no capacity for '{}'", state.lowering.hardware.id, to_string(variable.level)));
  variable.scope = read_scope(node["scope"]);
  if (const auto buffers = node.find("buffers")) variable.buffers = buffers->integer(1, 64);
  if (const auto streamed = node.find("streamed")) variable.streamed = streamed->integer(1, 1024);
  if (const auto shares = node.find("shares")) variable.shares = shares->text();
  if (const auto plans = node.find("plans"))
    for (const Node& item : plans->items()) variable.plans.push_back(item.text());
  if (const auto source = node.find("source")) variable.source = read_source(*source, state);
  return variable;
}

}  // namespace tilescope::lower
