#include "lower/lowering.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "lower/read_parts.h"

namespace tilescope::lower {
namespace {

void read_hardware(const Node& node, const std::filesystem::path& data_directory, ReadState& state) {
  const std::string id = node.text();
  if (id.empty()) return;
  try {
    HardwareProfile& hardware = state.lowering.hardware = find_profile(id, data_directory / "hardware");
    // As papers count: the datasheet's rates.
    hardware.measured.reset();
    for (MemoryLevel& level : hardware.levels) level.measured_bandwidth_bytes_per_second.reset();
    state.hardware_known = true;
  } catch (const InputError& error) {
    node.report(error.diagnostics().front().message);
  }
}

void read_sizes(const Node& node, Sizes& sizes) {
  for (const auto& [name, value] : node.entries()) {
    sizes[name] = value.integer(1, most_size);
    const bool letter =
        !name.empty() && ((name.front() >= 'a' && name.front() <= 'z') || (name.front() >= 'A' && name.front() <= 'Z'));
    if (!letter) value.report("expected a size's name to begin with a letter");
  }
}

void read_dtypes(const Node& node, ReadState& state) {
  for (const auto& [array, value] : node.entries()) {
    const std::string name = value.text();
    const auto dtype = parse_dtype(name);
    if (!name.empty() && (!dtype || *dtype != dtype_of(dtype->format) || dtype->scale_group != 0))
      value.report(fmt::format("{} is not a number format{}", shown_text(name), did_you_mean(name, dtype_names())));
    state.lowering.dtypes[array] = dtype.value_or(Dtype{});
  }
}

LoweringPlan read_plan(const Node& node, const ReadState& state, const PhaseOverlap& overlap) {
  node.only({"name", "sizes", "overlap"});
  LoweringPlan plan{node["name"].text(), state.sizes, overlap};
  if (const auto sizes = node.find("sizes"))
    for (const auto& [name, value] : sizes->entries()) {
      if (!state.sizes.contains(name))
        value.report(fmt::format("{} is not a size{}", shown_text(name), did_you_mean(name, keys_of(state.sizes))));
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

std::string to_string(Scope scope) { return scope_names()[static_cast<std::size_t>(scope)]; }

std::int64_t value_of(const SizeFactor& factor, const Sizes& sizes) {
  return factor.size.empty() ? factor.number : sizes.at(factor.size);
}

std::int64_t value_of(const SizeProduct& product, const Sizes& sizes) {
  std::int64_t value = 1;
  for (const SizeFactor& factor : product) value = checked_mul(value, value_of(factor, sizes));
  return value;
}

Lowering load_lowering(const std::filesystem::path& file, const std::filesystem::path& data_directory) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/lowering/1");
  const Node root = document.root();
  root.only({"schema", "lowering", "hardware", "summary", "source", "sources", "sizes", "dtypes", "divisors", "copies",
             "variables", "work", "rates", "overlap", "plans"});
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
  const PhaseOverlap overlap = read_overlap(root["overlap"]);
  for (const Node& item : root["plans"].items()) lowering.plans.push_back(read_plan(item, state, overlap));
  // After a finding, names may be placeholders.
  if (document.clean()) check_references(root, lowering);
  document.finish();
  return std::move(state.lowering);
}

}  // namespace tilescope::lower
