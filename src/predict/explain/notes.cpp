#include "predict/explain/notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "predict/point/computed_format.h"
#include "predict/point/products.h"

namespace tilescope {

std::string host_text(const Prediction& prediction) {
  const TimePrediction& time = prediction.time;
  if (time.host <= time.total) return {};
  const std::size_t launches = prediction.islands.size();
  return fmt::format(
      "the host takes longer to launch {}, {:.2f} us: the time is that of launches queued ahead of the GPU",
      launches == 1 ? "the kernel" : fmt::format("the {} kernels", launches), time.host * 1e6);
}

std::string spill_text(const Prediction& prediction) {
  if (!prediction.time.spills) return {};
  if (!prediction.time.spills_traffic)
    return "warning: this variant spills registers to memory; neither their traffic nor their time is in these figures";
  LocalTraffic all;
  for (const IslandPrediction& island : prediction.islands) {
    all.stored = checked_add(all.stored, island.local.stored),
    all.loaded = checked_add(all.loaded, island.local.loaded);
    all.missed = checked_add(all.missed, island.local.missed);
  }
  const std::string text =
      fmt::format("spilled registers: {} bytes stored to L2, {} loaded, {} of them from L2", with_thousands(all.stored),
                  with_thousands(all.loaded), with_thousands(all.missed));
  return prediction.time.spills_time ? text
                                     : "warning: the time leaves them out, the profile has no measured.local; " + text;
}

std::string bandwidth_text(const HardwareProfile& hardware) {
  constexpr double slack = 1.01, least = 0.5;  // a measurement may read so much high, as in `hardware check`
  const MemoryLevel* hbm = hardware.level(LevelId::hbm);
  if (!hbm || !hbm->bandwidth_bytes_per_second) return {};
  const double stated = hbm->bandwidth_bytes_per_second->value;
  const MeasuredRates::Value none, &read = hardware.measured ? hardware.measured->hbm.read : none;
  for (const auto& [name, value] : {std::pair<const char*, const MeasuredRates::Value&>{"measured.hbm.read", read},
                                    {"levels.hbm.measured_bandwidth", hbm->measured_bandwidth_bytes_per_second}})
    if (value && (value->value > stated * slack || value->value < stated * least))
      return fmt::format(
          "levels.hbm.bandwidth of {} is {:.4g} GB/s and {} {:.4g} GB/s: times use the measured one; change both, or "
          "give --basis derived, which starts from the datasheet",
          hardware.id, stated / 1e9, name, value->value / 1e9);
  return {};
}

std::vector<ComputedProduct> computed_products(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::vector<ComputedProduct> all;
  if (!plan.assumed) return all;
  const Diagram& diagram = plan.schedule.diagram;
  for (std::size_t i = 0; i < plan.schedule.islands.size(); ++i) {
    const BoundIsland bound = bind_island(plan, hardware, point, static_cast<int>(i));
    for_each_product(bound, [&](const Product& product) {
      const Operator& op = diagram.operators[static_cast<std::size_t>(product.op)];
      ComputedProduct& added = all.emplace_back(ComputedProduct{.kernel = bound.island.name,
                                                                .product = op.name,
                                                                .format = to_string(product.computes_in),
                                                                .reason = computed_format_reason(bound, op),
                                                                .converted = {}});
      for (const Operand& operand : product.operands)
        if (operand.converted) added.converted.push_back(diagram.array(operand.id).name);
    });
  }
  return all;
}

std::vector<std::string> computed_lines(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::vector<std::string> lines;
  for (const ComputedProduct& each : computed_products(plan, hardware, point)) {
    const std::string start = fmt::format("{} of kernel {}", each.product, each.kernel);
    if (!each.reason.empty()) lines.push_back(fmt::format("{} is computed in {}: {}", start, each.format, each.reason));
    if (!each.converted.empty())
      lines.push_back(fmt::format("{}: threads convert {} to {}", start, join(each.converted, " and "), each.format));
  }
  return lines;
}

namespace {

// A walk through an L2 of unknown associativity takes it as fully associative.
bool walks_without_ways(const HardwareProfile& hardware, const Prediction& prediction) {
  return !hardware.l2_ways && std::any_of(prediction.islands.begin(), prediction.islands.end(),
                                          [](const IslandPrediction& island) { return island.l2_walked; });
}

// Reductions into the L2 are free where their rate is unknown.
bool reduces_without_rate(const Plan& plan, const HardwareProfile& hardware, const Prediction& prediction) {
  if (!prediction.time.modelled || (hardware.measured && hardware.measured->atomics.red_fp32)) return false;
  const auto reduces = [](const Island& island) {
    return std::any_of(island.stored_as.begin(), island.stored_as.end(),
                       [](const Stored& stored) { return stored.by == Accumulate::reduction; });
  };
  return std::any_of(plan.schedule.islands.begin(), plan.schedule.islands.end(), reduces);
}

}  // namespace

std::vector<std::string> missing_rates(const Plan& plan, const HardwareProfile& hardware,
                                       const Prediction& prediction) {
  static const std::array<std::string, resource_count> fields{"levels.hbm.bandwidth",
                                                              "levels.llc.bandwidth",
                                                              "levels.l2.bandwidth",
                                                              "levels.smem.bandwidth_per_cycle",
                                                              "compute.tensor (for this dtype)",
                                                              "compute.exp2",
                                                              "compute.fp32_fma"};
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (prediction.time.seconds[i] < 0) missing.push_back(fmt::format("{} of {}", fields[i], hardware.id));
  if (walks_without_ways(hardware, prediction)) missing.push_back(fmt::format("levels.l2.ways of {}", hardware.id));
  if (reduces_without_rate(plan, hardware, prediction))
    missing.push_back(fmt::format("measured.atomics.red_fp32 of {}", hardware.id));
  return missing;
}

}  // namespace tilescope
