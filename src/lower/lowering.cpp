#include "lower/lowering.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "lower/read_parts.h"

namespace tilescope::lower {
namespace {

const std::vector<std::string> scopes{"warp", "warpgroup", "block"};

Scope read_scope(const Node& node) {
  const std::string name = node.one_of(scopes);
  return static_cast<Scope>(std::find(scopes.begin(), scopes.end(), name) - scopes.begin());
}

void read_hardware(const Node& node, const std::filesystem::path& data_directory, ReadState& state) {
  const std::string id = node.text();
  if (id.empty()) return;
  try {
    state.lowering.hardware = find_profile(id, data_directory / "hardware");
    state.hardware_known = true;
  } catch (const InputError& error) {
    node.report(error.diagnostics().front().message);
  }
}

void read_sizes(const Node& node, Sizes& sizes) {
  for (const auto& [name, value] : node.entries()) {
    sizes[name] = value.integer(1, most_size);
    const bool letter = !name.empty() && ((name.front() >= 'a' && name.front() <= 'z') || (name.front() >= 'A' && name.front() <= 'Z'));
    if (!letter) value.report("expected a size's name to begin with a letter");
  }
}

void read_dtypes(const Node& node, ReadState& state) {
  for (const auto& [array, value] : node.entries()) {
    const std::string name = value.text();
    const auto dtype = parse_dtype(name);
    if (!name.empty() && (!dtype || dtype->scale_group != 0))
      value.report(fmt::format("{} is not a number format{}", shown_text(name), did_you_mean(name, dtype_names())));
    state.lowering.dtypes[array] = dtype.value_or(Dtype{});
  }
}

// The coalescing granule: a line of the hardware in values of the array (128 B / width; theory 3.1).
void read_granule(const Node& node, const ReadState& state, Divisor& divisor) {
  std::string array;
  const std::int64_t width_bits = read_array(node, state, array);
  divisor.because = fmt::format("coalesced rows of {}", array);
  if (!state.hardware_known) return;
  const auto& line = state.lowering.hardware.line_bytes;
  if (line) divisor.multiple = std::max<std::int64_t>(1, 8 * line->value / width_bits);
  else node.report(fmt::format("{} has no levels.l2.line, which coalescing needs", state.lowering.hardware.id));
}

Divisor read_divisor(const Node& node, const ReadState& state) {
  node.only({"size", "multiple", "because", "coalesced"});
  Divisor divisor;
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
  Copies& copies = state.lowering.copies;
  const Node scope = node["scope"];
  copies.scope = read_scope(scope);
  copies.rows = read_size_name(node["rows"], state);
  const auto threads = node.find("threads");
  if (threads) copies.threads = threads->integer(1, 1024);
  if (!is_one_of(scope, scopes)) return;
  if (copies.scope != Scope::block) copies.threads = threads_of(copies.scope, state.lowering);
  if (copies.scope == Scope::block && !threads) node.report("copies of scope 'block' need 'threads'");
  if (copies.scope != Scope::block && threads) threads->report("only copies of scope 'block' say how many threads they have; remove this key");
}

Variable read_variable(const Node& node, const ReadState& state) {
  node.only({"name", "array", "shape", "level", "scope", "buffers", "streamed", "shares", "plans", "source"});
  Variable variable;
  variable.name = node["name"].text();
  variable.bits = read_array(node["array"], state, variable.array);
  variable.shape = read_product(node["shape"], state);
  const Node level = node["level"];
  variable.level = level.one_of({"smem", "register", "tmem"});
  const MemoryLevel* memory = state.hardware_known ? state.lowering.hardware.level(variable.level) : nullptr;
  if (state.hardware_known && !(memory && memory->capacity_bytes))
    level.report(fmt::format("{} has no capacity for '{}'", state.lowering.hardware.id, variable.level));
  variable.scope = read_scope(node["scope"]);
  if (const auto buffers = node.find("buffers")) variable.buffers = buffers->integer(1, 64);
  if (const auto streamed = node.find("streamed")) variable.streamed = streamed->integer(1, 1024);
  if (const auto shares = node.find("shares")) variable.shares = shares->text();
  if (const auto plans = node.find("plans"))
    for (const Node& item : plans->items()) variable.plans.push_back(item.text());
  if (const auto source = node.find("source")) variable.source = read_source(*source, state);
  return variable;
}

Plan read_plan(const Node& node, const ReadState& state, const Overlap& overlap) {
  node.only({"name", "sizes", "overlap"});
  Plan plan{node["name"].text(), state.sizes, overlap};
  if (const auto sizes = node.find("sizes"))
    for (const auto& [name, value] : sizes->entries()) {
      if (!state.sizes.contains(name)) value.report(fmt::format("{} is not a size{}", shown_text(name), did_you_mean(name, keys_of(state.sizes))));
      plan.sizes[name] = value.integer(1, most_size);
    }
  if (const auto own = node.find("overlap")) plan.overlap = read_overlap(*own);
  return plan;
}

}  // namespace

std::int64_t threads_of(Scope scope, const Lowering& lowering) {
  constexpr std::int64_t warps_per_warpgroup = 4;
  const std::int64_t warp = lowering.hardware.warp_size ? lowering.hardware.warp_size->value : 32;
  if (scope == Scope::block) return lowering.copies.scope == Scope::block ? lowering.copies.threads : 0;
  return scope == Scope::warp ? warp : warps_per_warpgroup * warp;
}

std::string to_string(Scope scope) { return scopes[static_cast<std::size_t>(scope)]; }

std::int64_t value_of(const Factor& factor, const Sizes& sizes) { return factor.size.empty() ? factor.number : sizes.at(factor.size); }

std::int64_t value_of(const Product& product, const Sizes& sizes) {
  std::int64_t value = 1;
  for (const Factor& factor : product) value = checked_mul(value, value_of(factor, sizes));
  return value;
}

Lowering load_lowering(const std::filesystem::path& file, const std::filesystem::path& data_directory) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/lowering/1");
  const Node root = document.root();
  root.only({"schema", "lowering", "hardware", "summary", "source", "sources", "sizes", "dtypes", "divisors", "copies", "variables",
             "work", "rates", "overlap", "plans"});
  ReadState state;
  Lowering& lowering = state.lowering;
  lowering.file = file.string();
  lowering.name = root["lowering"].text();
  lowering.summary = root["summary"].text();
  for (const auto& [id, text] : root["sources"].entries()) lowering.sources[id] = text.text();
  lowering.source = read_source(root["source"], state);
  read_hardware(root["hardware"], data_directory, state);
  read_sizes(root["sizes"], state.sizes);
  read_dtypes(root["dtypes"], state);
  if (const auto divisors = root.find("divisors"))
    for (const Node& item : divisors->items()) lowering.divisors.push_back(read_divisor(item, state));
  read_copies(root["copies"], state);
  for (const Node& item : root["variables"].items()) lowering.variables.push_back(read_variable(item, state));
  if (const auto rates = root.find("rates")) read_rates(*rates, state);
  read_work(root["work"], state);
  const Overlap overlap = read_overlap(root["overlap"]);
  for (const Node& item : root["plans"].items()) lowering.plans.push_back(read_plan(item, state, overlap));
  if (document.clean()) check_references(root, lowering);  // after a finding, names may be placeholders
  document.finish();
  return std::move(state.lowering);
}

}  // namespace tilescope::lower
