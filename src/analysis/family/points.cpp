#include "analysis/family/points.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"

namespace tilescope::analysis {
namespace {

double median(std::vector<double> values) { return values.empty() ? 0 : spread(std::move(values)).median; }

bool multiplies_by_matrix_instructions(const Plan& plan) {
  return std::any_of(plan.kernel.islands.begin(), plan.kernel.islands.end(),
                     [](const auto& island) { return island.uses_tensor_cores(); });
}

std::map<std::string, double> predicted_values(const ComparedPoint& compared) {
  const Prediction& p = compared.prediction;
  const auto traffic = [&](Boundary boundary, Direction direction) {
    return static_cast<double>(p.traffic[boundary][static_cast<std::size_t>(direction)]);
  };
  const auto operations = [&](Pipe pipe) { return static_cast<double>(p.work.pipes[static_cast<std::size_t>(pipe)]); };
  std::map<std::string, double> values{{"l2_read_bytes", traffic(Boundary::l2, Direction::read)},
                                       {"l2_write_bytes", traffic(Boundary::l2, Direction::write)},
                                       {"hbm_read_bytes", traffic(Boundary::hbm, Direction::read)},
                                       {"hbm_write_bytes", traffic(Boundary::hbm, Direction::write)}};
  // A descriptor may leave out the thread operations; no kernel of attention has none.
  const double xu = operations(Pipe::xu),
               fma = operations(Pipe::ffma) + operations(Pipe::fadd) + operations(Pipe::fmul);
  if (xu > 0) values["xu"] = xu;
  if (fma > 0) values["fma"] = fma;
  values["hbm_bytes"] = values["hbm_read_bytes"] + values["hbm_write_bytes"];
  if (multiplies_by_matrix_instructions(compared.plan)) values["tensor_flop"] = static_cast<double>(p.work.tensor_flop);
  if (p.smem_modelled) values["smem_operand_bytes"] = static_cast<double>(p.operand_bytes);
  return values;
}

std::map<std::string, double> measured_values(const ComparedPoint& compared, const HardwareProfile& hardware) {
  std::map<std::string, double> values, pipes;
  for (const Measured& m : measured_quantities(compared.record, hardware, compared.plan, compared.prediction)) {
    for (const FamilyQuantity& q : family_quantities)
      if (m.quantity == q.quantity && m.level == q.level && m.direction == q.direction) values[q.name] = m.value;
    if (m.quantity == "xu") values["xu"] = m.value;
    if (m.quantity == "ffma" || m.quantity == "fadd" || m.quantity == "fmul") pipes[m.quantity] = m.value;
  }
  if (values.contains("hbm_read_bytes") && values.contains("hbm_write_bytes"))
    values["hbm_bytes"] = values["hbm_read_bytes"] + values["hbm_write_bytes"];
  if (pipes.size() == 3) values["fma"] = pipes["ffma"] + pipes["fadd"] + pipes["fmul"];
  return values;
}

double kv_bytes(const ComparedPoint& compared) {
  const Diagram& diagram = compared.plan.schedule.diagram;
  if (!diagram.guard) return 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const Array& array = diagram.arrays[i];
    if (array.role != ArrayRole::input || array.alias_of || !array.has(diagram.guard->key)) continue;
    std::int64_t values = 1;
    for (const AxisId axis : array.axes) values *= diagram.axes[index(axis)].size_in(compared.point.workload);
    bytes += bytes_of(compared.point, diagram, static_cast<ArrayId>(static_cast<int>(i)), values);
  }
  return static_cast<double>(bytes);
}

std::string workload_of(const ComparedPoint& compared) {
  const validate::PointWorkload& w = compared.record.point.workload;
  return fmt::format("{} {} {} {} {} {} {} {} {}", to_string(pass_of(compared.plan.schedule.diagram)), w.batch,
                     w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v, compared.record.point.mask);
}

std::string step_of(const validate::MeasurePoint& point) {
  const auto width = [](const Dtype& dtype) {
    return dtype.format == Format::fp16 || dtype.format == Format::bf16 ? std::string("16-bit") : to_string(dtype);
  };
  std::string step = point.kernel + " " + width(Dtype{point.dtype});
  for (const auto& [key, dtype] : point.dtypes) step += fmt::format(",{}={}", key, width(dtype));
  return step;
}

// The counter behind a quantity, as the profile names it for the formats of the record.
std::string counter_of(const FamilyPoint& point, const HardwareProfile& hardware, const FamilyQuantity& quantity) {
  const auto work = [&](const std::string& key) {
    const auto found = hardware.work_counters.find(key);
    return found == hardware.work_counters.end() ? std::string() : found->second.metric;
  };
  const std::string name = quantity.quantity;
  if (name == "tensor_flop") return work("tensor_flop." + to_string(point.point().dtype));
  if (name == "operand_bytes") {
    const auto& islands = point.plan().kernel.islands;
    const bool warpgroups =
        std::any_of(islands.begin(), islands.end(), [](const auto& island) { return island.path().warpgroup; });
    return work(warpgroups ? "smem_gmma_bytes" : "smem_ldsm_bytes");
  }
  const auto id = parse_kind<LevelId>(quantity.level);
  const MemoryLevel* level = id ? hardware.level(*id) : nullptr;
  if (!level) return {};
  const auto& counter = std::string(quantity.direction) == "read" ? level->counters.read : level->counters.write;
  return counter ? counter->metric : std::string();
}

}  // namespace

std::optional<double> find(const std::map<std::string, double>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

FamilyPoint family_point(const ComparedPoint& compared, const HardwareProfile& hardware) {
  return {.compared = &compared,
          .predicted = predicted_values(compared),
          .measured = measured_values(compared, hardware),
          .seconds = median(compared.record.steady_seconds),
          .kv_bytes = kv_bytes(compared),
          .workload = workload_of(compared),
          .step = step_of(compared.record.point)};
}

std::string why_absent(const FamilyPoint& point, const HardwareProfile& hardware, const FamilyQuantity& quantity) {
  const bool matrix = multiplies_by_matrix_instructions(point.plan());
  if (std::string(quantity.name) == "tensor_flop" && !matrix) return "no matrix instructions: products run as FMA";
  if (std::string(quantity.name) == "smem_operand_bytes" && !matrix) return "not modelled for products in plain FMA";
  if (!point.predicted.contains(quantity.name)) return "not modelled";
  if (point.measured.contains(quantity.name)) return {};
  const std::string counter = counter_of(point, hardware, quantity);
  if (counter.empty()) return "no counter of this GPU gives it";
  const auto& lacking = point.compared->record.unavailable;
  if (contains(lacking, counter)) return "this GPU lacks " + counter;
  const validate::Record& record = point.compared->record;
  return record.counters.contains(counter) || record.counters_with_flush.contains(counter)
             ? counter + " alone does not give it"
             : counter + " was not counted";
}

}  // namespace tilescope::analysis
