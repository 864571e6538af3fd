// Rates of pipes: from the hardware profile, or from the file with their source.
#include <fmt/format.h>

#include "base/text.h"
#include "lower/read_parts.h"

namespace tilescope::lower {
namespace {

void missing_rate(const Node& node, const ReadState& state, const std::string& what) {
  node.report(
      fmt::format("{} has no rate for {}; give 'rate' with a source under 'rates'", state.lowering.hardware.id, what));
}

// The profile's rate for an operation that names none of its own; `format`: its dtype, fp32 when it gives none.
Rate profile_rate(const Node& node, const ReadState& state, const PipeOperation& operation,
                  std::optional<Format> format) {
  const HardwareProfile& hardware = state.lowering.hardware;
  if (operation.pipe == "tensor") return tensor_rate(node["dtype"], state, format);
  if (operation.pipe == "smem") return smem_rate(node, state);
  if (!state.hardware_known || !format) return {};
  if (operation.pipe == "exp2" && hardware.exp2_per_cycle)
    return {hardware.exp2_per_cycle->value, hardware.id + " compute.exp2"};
  if (operation.pipe == "fma" && *format == Format::fp32 && hardware.fp32_fma_per_cycle) {
    const double lanes = hardware.fp32_fma_per_cycle->value;
    return {operation.unit == AmountUnit::flop ? 2 * lanes : lanes, hardware.id + " compute.fp32"};
  }
  missing_rate(node, state, fmt::format("pipe '{}' in {}", operation.pipe, to_string(*format)));
  return {};
}

}  // namespace

void read_rates(const Node& node, ReadState& state) {
  for (const auto& [name, entry] : node.entries()) {
    entry.only({"value", "source"});
    Rate rate{entry["value"].quantity(Dimension::flop_per_cycle), {}};
    rate.source = fmt::format("rates.{}: {}", name, read_source(entry["source"], state));
    state.rates.emplace(name, std::move(rate));
  }
}

std::optional<Format> read_format(const Node& node) {
  const std::string name = node.text();
  if (name.empty()) return std::nullopt;
  if (const auto format = parse_format(name)) return format;
  node.report(fmt::format("{} is not a number format{}", shown_text(name), did_you_mean(name, dtype_names())));
  return std::nullopt;
}

Rate tensor_rate(const Node& node, const ReadState& state, std::optional<Format> format) {
  if (!state.hardware_known || !format) return {};
  const HardwareProfile& hardware = state.lowering.hardware;
  const auto found = hardware.tensor_flop_per_cycle.find(*format);
  if (found != hardware.tensor_flop_per_cycle.end())
    return {found->second.value, fmt::format("{} compute.tensor.{}", hardware.id, to_string(*format))};
  missing_rate(node, state, "tensor " + to_string(*format));
  return {};
}

Rate smem_rate(const Node& node, const ReadState& state) {
  const HardwareProfile& hardware = state.lowering.hardware;
  const MemoryLevel* smem = state.hardware_known ? hardware.level(LevelId::smem) : nullptr;
  if (smem && smem->bandwidth_bytes_per_cycle)
    return {smem->bandwidth_bytes_per_cycle->value, hardware.id + " levels.smem.bandwidth_per_cycle"};
  if (state.hardware_known)
    node.report(
        fmt::format("{} has no levels.smem.bandwidth_per_cycle, which shared-memory traffic needs", hardware.id));
  return {};
}

Rate read_rate(const Node& node, const ReadState& state, const PipeOperation& operation) {
  const auto dtype = node.find("dtype");
  const std::optional<Format> format = dtype ? read_format(*dtype) : Format::fp32;
  const auto given = node.find("rate");
  if (!given) return profile_rate(node, state, operation, format);
  if (operation.pipe == "smem") given->report("shared memory moves at the hardware's rate; remove this key");
  const std::string name = given->text();
  const auto found = state.rates.find(name);
  if (found != state.rates.end()) return found->second;
  if (!name.empty())
    given->report(fmt::format("{} is not under 'rates'{}", shown_text(name), did_you_mean(name, keys_of(state.rates))));
  return {};
}

}  // namespace tilescope::lower
