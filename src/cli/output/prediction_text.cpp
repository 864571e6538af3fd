#include "cli/output/prediction_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/contains.h"
#include "base/text.h"
#include "predict/explain/bounds.h"
#include "predict/explain/labels.h"
#include "predict/explain/notes.h"

namespace tilescope::cli {
namespace {

// The sizes of the axes: those of the workload, then those of the diagram.
std::string size_text(const Diagram& diagram, const Workload& w) {
  const auto uses = [&](Extent extent) {
    return std::any_of(diagram.axes.begin(), diagram.axes.end(),
                       [&](const Axis& axis) { return axis.extent == extent; });
  };
  std::vector<std::string> parts;
  if (uses(Extent::batch)) parts.push_back(fmt::format("batch {}", w.batch));
  if (uses(Extent::heads_kv)) parts.push_back(fmt::format("heads {}/{}", w.heads_q, w.heads_kv));
  if (uses(Extent::q_len)) parts.push_back(fmt::format("q_len {}", w.q_len));
  if (uses(Extent::kv_len)) parts.push_back(fmt::format("kv_len {}", w.kv_len));
  if (uses(Extent::d_qk)) parts.push_back(fmt::format("head_dim {}/{}", w.d_qk, w.d_v));
  else if (uses(Extent::d_v)) parts.push_back(fmt::format("v_head_dim {}", w.d_v));
  std::vector<std::string> own;  // several axes may have the same size
  for (const Axis& axis : diagram.axes)
    if (!axis.extent && !axis.chunks_of && !contains(own, axis.size))
      own.push_back(axis.size), parts.push_back(fmt::format("{} {}", axis.size, axis.length));
  return join(parts, ", ");
}

std::string point_line(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::vector<std::string> formats{to_string(point.dtypes[0])},
      seen{"l", "acc", "index"};  // keys that are not listed, and below those listed already
  for (std::size_t i = 0; i < plan.schedule.diagram.arrays.size(); ++i) {
    const Array& array = plan.schedule.diagram.arrays[i];
    if (array.role == ArrayRole::interior || contains(seen, array.dtype_key)) continue;
    seen.push_back(array.dtype_key);
    if (point.dtypes[i] != point.dtypes[0]) formats.push_back(array.name + " " + to_string(point.dtypes[i]));
  }
  std::vector<std::string> parts{join(formats, ", ")};
  if (plan.schedule.diagram.guard) parts.push_back("mask " + point.mask.text);
  const std::string sizes = size_text(plan.schedule.diagram, point.workload);
  if (!sizes.empty()) parts.push_back(sizes);
  parts.push_back("tile " + tile_label(plan, point));
  const std::string what =
      plan.assumed ? "ideal kernel of schedule " + plan.schedule.name : "kernel " + plan.kernel.name;
  return fmt::format("{} on {}: {}", what, hardware.name, join(parts, ", "));
}

std::string infeasible_lines(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                             const Prediction& prediction) {
  std::string out;
  if (!prediction.runnable)
    out += fmt::format("infeasible: {} states no tensor rate for {}; choose another dtype or GPU\n", hardware.id,
                       to_string(point.dtypes[0]));
  for (const FootprintRow& row : prediction.footprint)
    if (!row.fits())
      out += fmt::format(
          "infeasible: {} of {} needs {} bytes, {} available: {} too many; the largest part is {}; try {}\n",
          to_string(row.level),
          row.island == every_island
              ? "all arrays"
              : fmt::format("kernel '{}'", plan.schedule.islands[static_cast<std::size_t>(row.island)].name),
          with_thousands(row.bytes), with_thousands(static_cast<std::int64_t>(row.capacity_bytes)),
          with_thousands(row.bytes - static_cast<std::int64_t>(row.capacity_bytes)), row.largest,
          row.level == Boundary::hbm ? "smaller sizes, another format or a schedule that keeps less"
                                     : "a smaller tile or tilescope search");
  return out;
}

// The columns that are shown at place `where`, one per line. Seconds are shown as microseconds.
Table list_of(const Answer& a, unsigned where, const std::string& title, std::vector<std::string> headings) {
  Table table{.title = title, .columns = std::move(headings), .rows = {}};
  for (const PredictionColumn& column : columns_at(prediction_columns(a.plan), where)) {
    const Json value = column.value(a.row());
    table.rows.push_back({column.title, column.unit == "s" ? Json(value.get<double>() * 1e6) : value});
  }
  return table;
}

// Names the kernels without matrix instructions, which have no footprint row.
std::string plain_kernels_line(const Plan& plan) {
  std::vector<std::string> plain;
  for (const IslandImplementation& island : plan.kernel.islands)
    if (!island.uses_tensor_cores()) plain.push_back(island.name);
  return plain.empty() ? ""
                       : fmt::format("no footprint of kernels without matrix instructions: {}\n", join(plain, ", "));
}

std::string clock_text(const Prediction& prediction) {
  const TimePrediction& time = prediction.time;
  const std::string watts = time.watts > 0 ? fmt::format(" at {:.0f} W", time.watts) : "";
  return fmt::format("{} SM cycles, {:.0f} MHz{} run after run\n", with_thousands(std::llround(time.sm_cycles)),
                     time.clock_hz / 1e6, watts);
}

std::string error_text(const std::optional<TimeError>& error) {
  if (!error) return "error: no record";
  if (const auto& range = error->range)
    return fmt::format(
        "error: the fastest of {} recorded kernels took {:.2f} to {:.2f} times this in nine of ten points, {:.2f} to "
        "{:.2f} "
        "in all, median {:.2f} ({}{}{})",
        range->kernels, range->low, range->high, range->least, range->most, range->median, error->basis,
        error->borrowed_from.empty() ? "" : ", borrowed",
        error->widened > 1 ? fmt::format(", widened {:.2f} times", error->widened) : "");
  return fmt::format("error: mean {:.1f} %, p90 {:.1f} % over {}{}{}", 100 * error->mape, 100 * error->p90,
                     error->basis, error->borrowed_from.empty() ? "" : ", borrowed",
                     error->widened > 1 ? fmt::format(", widened {:.2f} times", error->widened) : "");
}

std::string bound_text(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                       const Prediction& prediction) {
  return fmt::format("{} bytes compulsory, {} bytes I/O lower bound at hbm",
                     with_thousands(prediction.compulsory_bytes),
                     with_thousands(lower_bound_bytes(plan, hardware, point, prediction)));
}

// The parts of the time, and the time that faster resources would save. Empty if the time is not modelled.
std::string time_parts(const Answer& a, const Style& style) {
  if (!a.prediction.time.modelled) return "";
  std::string out =
      "\n" + render(list_of(a, shown::time_text, "time", {"part", "microseconds"}), style) + clock_text(a.prediction);
  if (a.point.l2 == L2Model::walk)
    out += "\n" +
           render(table_of("what 10 % more of one thing would save", gain_columns(), gain_rows(a.prediction)), style);
  return out;
}

// What takes the energy. Without energies in the profile, what it would have to state.
std::string energy_text(const Answer& a, const Style& style) {
  const std::vector<EnergyRow> rows = energy_rows(a.prediction);
  if (rows.empty() && a.hardware.measured && a.hardware.measured->power.hbm) return "";  // the time is not modelled
  if (rows.empty())
    return fmt::format("\nenergy: unknown, {} states no measured.power (energies of hbm, l2, smem and operations)\n",
                       a.hardware.id);
  return "\n" + render(table_of("energy of one run above a busy GPU", energy_columns(), rows), style) +
         fmt::format("transfers: {:.0f} % of it\n", 100 * transfer_share(a.prediction));
}

// Kernels that the walk was asked for and did not take.
std::string closed_form_line(const Answer& a) {
  const MemoryLevel* l2 = a.hardware.level(LevelId::l2);
  if (a.point.l2 != L2Model::walk || !l2 || !l2->capacity_bytes) return "";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < a.prediction.islands.size(); ++i)
    if (!a.prediction.islands[i].l2_walked) names.push_back(a.plan.schedule.islands[i].name);
  if (names.empty()) return "";
  return fmt::format("L2 by its closed form: {} (too many steps or tiles to walk)\n", join(names, ", "));
}

std::string predicted_line(const Answer& a) {
  if (!a.prediction.feasible) return "\nno time: the point is infeasible\n";
  const TimePrediction& time = a.prediction.time;
  const std::string rate = with_si(static_cast<double>(a.prediction.work.model_flop) / time.total, "FLOP/s");
  if (!time.modelled)
    return fmt::format(
        "\npredicted at least {:.2f} us, bound by {}: at most {} of model FLOP. This is a lower bound: the time of the "
        "slowest resource at the highest rate that the profile states\n",
        time.total * 1e6, to_string(time.bound_by), rate);
  return fmt::format("\npredicted {:.2f} us, busiest {}: {} of model FLOP; {}\n", time.total * 1e6,
                     to_string(time.bound_by), rate, error_text(a.options.error));
}

// Rates that nobody measured on this GPU.
std::string basis_line(const Answer& a) {
  if (!a.prediction.feasible || !a.prediction.time.modelled) return "";
  const Basis basis = overall_basis(a.hardware, a.prediction);
  if (basis == Basis::measured) return "";
  return fmt::format("rates and energies of {} are {}, not measured: tilescope hardware check lists the rules\n",
                     a.hardware.id, basis == Basis::mixed ? "derived in part" : to_string(basis));
}

std::string last_lines(const Answer& a) {
  std::string out = predicted_line(a);
  if (a.plan.assumed)
    out += fmt::format(
        "this is a hypothetical kernel of schedule '{}'; use --kernel auto for the fastest described kernel on {}\n",
        a.plan.schedule.name, a.hardware.id);
  out += basis_line(a);
  if (const std::string spills = spill_text(a.prediction); !spills.empty()) out += spills + "\n";
  if (const std::string host = host_text(a.prediction); !host.empty()) out += host + "\n";
  out += closed_form_line(a);
  for (const std::string& line : computed_lines(a.plan, a.hardware, a.point)) out += line + "\n";
  for (const std::string& missing : missing_rates(a.plan, a.hardware, a.prediction))
    out += "the profile does not state " + missing + ": the time excludes everything that depends on it\n";
  return out;
}

}  // namespace

std::string prediction_text(const Answer& a, const Style& style) {
  const Prediction& prediction = a.prediction;
  const std::string choice = a.how.empty() ? "" : a.how + "\n";
  if (!a.outside.empty())
    return fmt::format("{}\n{}\ninfeasible: {}\n", point_line(a.plan, a.hardware, a.point), choice,
                       join(a.outside, "\ninfeasible: "));
  std::string out = point_line(a.plan, a.hardware, a.point) + "\n" + choice + "\n" +
                    infeasible_lines(a.plan, a.hardware, a.point, prediction);
  out += render(table_of("traffic (read: bytes to the next inner level; write: bytes from it)", traffic_columns(),
                         traffic_rows(prediction)),
                style) +
         bound_text(a.plan, a.hardware, a.point, prediction) + "; hbm read " + error_text(a.options.dram_error) +
         "\n\n";
  if (prediction.islands.size() > 1)
    out += render(table_of("kernels, one after the other", kernel_columns(), kernel_rows(a.plan, prediction)), style) +
           "\n";
  out += render(list_of(a, shown::work_text, "work", {"quantity", "count"}), style) + "\n";
  out += render(table_of("footprint", footprint_columns(), footprint_rows(a.plan, prediction)), style) +
         plain_kernels_line(a.plan) + "\n";
  if (prediction.feasible)
    out += render(table_of("time of each resource (everything else overlapped)", resource_columns(),
                           resource_rows(prediction)),
                  style) +
           time_parts(a, style) + energy_text(a, style);
  return out + last_lines(a);
}

}  // namespace tilescope::cli
