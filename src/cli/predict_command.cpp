// predict and explain: one point.
#include <fmt/format.h>

#include <iostream>

#include "base/text.h"
#include "cli/best_tile.h"
#include "cli/cli.h"
#include "cli/help.h"

namespace tilescope::cli {
namespace {

std::string bound_text(const Prediction& prediction) {
  return fmt::format("{} bytes compulsory, {} bytes the I/O lower bound at hbm", with_thousands(prediction.compulsory_bytes),
                     with_thousands(prediction.lower_bound_bytes));
}

Table traffic_table(const Prediction& prediction) {
  Table table{.title = "traffic (bytes a level serves inwards and takes from it)", .columns = {"level", "read", "write", "total"}, .rows = {}};
  for (std::size_t b = 0; b < boundary_count; ++b) {
    const auto& both = prediction.traffic[b];
    if (static_cast<Boundary>(b) == Boundary::smem && !prediction.smem_modelled) {
      table.rows.push_back({"smem", "not modelled", "not modelled", "not modelled"});
      continue;
    }
    table.rows.push_back({to_string(static_cast<Boundary>(b)), both[0], both[1], both[0] + both[1]});
  }
  return table;
}

std::string error_text(const std::optional<TimeError>& error) {
  if (!error) return "error: no record";
  return fmt::format("this bound was off by {:.0f} % in the mean, {:.0f} % at the 90th percentile ({})", 100 * error->mape, 100 * error->p90, error->basis);
}

Table footprint_table(const Plan& plan, const Prediction& prediction) {
  Table table{.title = "footprint of a thread block", .columns = {"kernel", "level", "bytes", "capacity", "largest", "fits"}, .rows = {}};
  for (const FootprintRow& row : prediction.footprint)
    table.rows.push_back({plan.schedule.islands[static_cast<std::size_t>(row.island)].name, to_string(row.level), row.bytes,
                          row.capacity_bytes > 0 ? Json(static_cast<std::int64_t>(row.capacity_bytes)) : Json(nullptr), row.largest,
                          row.capacity_bytes == 0 ? "capacity unknown" : row.fits() ? "yes" : "no"});
  return table;
}

Table time_table(const Prediction& prediction) {
  Table table{.title = "time of each resource (everything else overlapped)", .columns = {"resource", "microseconds"}, .rows = {}};
  for (std::size_t i = 0; i < resource_count; ++i)
    table.rows.push_back({to_string(static_cast<Resource>(i)), prediction.time.seconds[i] < 0 ? Json("rate unknown") : Json(prediction.time.seconds[i] * 1e6)});
  return table;
}

std::string point_line(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  const Workload& w = point.workload;
  std::string tiles;
  for (std::size_t i = 0; i < plan.schedule.parameters.size(); ++i)
    tiles += fmt::format("{}{}={}", i ? "," : "", plan.schedule.parameters[i].name, point.tiles[i]);
  std::vector<std::string> formats;  // Q's, and every array's that differs
  for (std::size_t i = 0; i < plan.schedule.diagram.arrays.size(); ++i) {
    const Array& array = plan.schedule.diagram.arrays[i];
    if (array.role == ArrayRole::interior || array.dtype_key == "l") continue;
    if (formats.empty()) formats.push_back(to_string(point.dtypes[i]));
    else if (point.dtypes[i] != point.dtypes[0]) formats.push_back(array.name + " " + to_string(point.dtypes[i]));
  }
  return fmt::format("{} on {}: {}, mask {}, batch {}, heads {}/{}, q_len {}, kv_len {}, head_dim {}/{}, tile {},warps={}",
                     plan.assumed ? "schedule " + plan.schedule.name + " (assumed implementation)" : "kernel " + plan.kernel.name, hardware.name,
                     join(formats, ", "), point.mask.text, w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v, tiles, point.warps);
}

std::string infeasible_lines(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction) {
  std::string out;
  if (!prediction.runnable)
    out += fmt::format("infeasible: {} states no tensor rate for {}; choose another dtype or GPU\n", hardware.id, to_string(point.dtypes[0]));
  for (const FootprintRow& row : prediction.footprint)
    if (!row.fits())
      out += fmt::format("infeasible: {} of kernel '{}' needs {} bytes, {} available: {} too many; the largest part is {}; try a smaller tile or tilescope search\n",
                         to_string(row.level), plan.schedule.islands[static_cast<std::size_t>(row.island)].name, with_thousands(row.bytes),
                         with_thousands(static_cast<std::int64_t>(row.capacity_bytes)),
                         with_thousands(row.bytes - static_cast<std::int64_t>(row.capacity_bytes)), row.largest);
  return out;
}

std::string text(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction, const std::optional<TimeError>& error, Format format) {
  std::string out = point_line(plan, hardware, point) + "\n\n" + infeasible_lines(plan, hardware, point, prediction);
  out += render(traffic_table(prediction), format) + bound_text(prediction) + "\n\n";
  const Work& work = prediction.work;
  Table table{.title = "work", .columns = {"quantity", "count"}, .rows = {}};
  table.rows = {{"tensor FLOP executed by the tiles", work.tensor_flop}, {"model FLOP (the field's convention)", work.model_flop},
                {"exponentials of the schedule", work.exp}, {"xu thread operations", work.pipes[0]}, {"fp32 FLOP on the FMA pipe", work.fma_flop()}};
  out += render(table, format) + "\n" + render(footprint_table(plan, prediction), format) + "\n" + render(time_table(prediction), format);
  out += fmt::format("\npredicted {:.2f} us, bound by {}: {} of model FLOP; {}\n", prediction.time.total * 1e6,
                     to_string(prediction.time.bound_by), with_si(static_cast<double>(work.model_flop) / prediction.time.total, "FLOP/s"), error_text(error));
  for (const std::string& missing : missing_rates(hardware, prediction))
    out += "the time is a lower bound: a rate is not known: " + missing + "\n";
  return out;
}

Table term_table(const Plan& plan, const Point& point, const Prediction& prediction) {
  Table table{.title = "terms", .columns = {"kernel", "level", "array", "direction", "bytes", "formula", "because"}, .rows = {}};
  const Json json = to_json(plan, HardwareProfile{}, point, prediction);
  for (const Json& term : json["terms"]) {
    std::vector<std::string> reasons;
    for (const Json& reason : term["because"]) reasons.push_back(reason.get<std::string>());
    table.rows.push_back({term["island"], term["boundary"], term["array"], term["direction"], term["bytes"], term["formula"], join(reasons, "; ")});
  }
  return table;
}

// One row of every number, for CSV.
Table flat_table(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction) {
  Table table;
  std::vector<Json> row;
  const auto add = [&](const std::string& name, Json value) { table.columns.push_back(name), row.push_back(std::move(value)); };
  add("hardware", hardware.id), add("schedule", plan.schedule.name), add("kernel", plan.kernel.name), add("mask", point.mask.text);
  add("feasible", prediction.feasible);
  for (std::size_t b = 0; b < boundary_count; ++b) {
    add(to_string(static_cast<Boundary>(b)) + "_read_bytes", prediction.traffic[b][0]);
    add(to_string(static_cast<Boundary>(b)) + "_write_bytes", prediction.traffic[b][1]);
  }
  add("compulsory_bytes", prediction.compulsory_bytes), add("tensor_flop", prediction.work.tensor_flop);
  add("model_flop", prediction.work.model_flop), add("exp", prediction.work.exp), add("seconds", prediction.time.total);
  add("bound_by", to_string(prediction.time.bound_by));
  table.rows.push_back(std::move(row));
  return table;
}

struct Answer {
  Plan plan;
  HardwareProfile hardware;
  Point point;
  Prediction prediction;
  std::optional<TimeError> error;
};

Answer answer(const Arguments& arguments) {
  Answer a{read_plan(arguments), read_hardware(arguments), {}, {}, {}};
  if (!a.plan.assumed) a.error = recorded_time_error(data_directory() / "validate" / "errors.json", a.hardware.id, a.plan.kernel.name);
  a.point = read_point(arguments, a.plan);
  settle_tile(a.plan, a.hardware, a.point, tile_given(arguments));
  predict(a.plan, a.hardware, a.point, a.prediction);
  return a;
}

ExitStatus status_of(const Prediction& prediction) { return prediction.feasible ? ExitStatus::done : ExitStatus::answer_no; }

}  // namespace

ExitStatus predict_command(const std::vector<std::string>& words) {
  const auto specs = point_options() + output_options();
  if (help_wanted(words, "predict --hardware ID [--kernel NAME | --schedule NAME] --q-len N ...", specs,
                  "  tilescope predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128 --mask causal\n"
                  "  tilescope predict --hardware b200_sxm --schedule standard --workload gpt2-medium --format json\n"))
    return ExitStatus::done;
  const Arguments arguments("predict", words, specs, 0);
  const Answer a = answer(arguments);
  const Format format = arguments.format();
  if (format == Format::json) deliver(arguments, to_json(a.plan, a.hardware, a.point, a.prediction, {.error = a.error}).dump(2) + "\n");
  else if (format == Format::csv) deliver(arguments, render(flat_table(a.plan, a.hardware, a.point, a.prediction), format));
  else deliver(arguments, text(a.plan, a.hardware, a.point, a.prediction, a.error, format));
  return status_of(a.prediction);
}

ExitStatus explain_command(const std::vector<std::string>& words) {
  const auto specs = point_options() + output_options();
  if (help_wanted(words, "explain --hardware ID [--kernel NAME | --schedule NAME] --q-len N ...", specs,
                  "  tilescope explain --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128\n"))
    return ExitStatus::done;
  const Arguments arguments("explain", words, specs, 0);
  const Answer a = answer(arguments);
  const Format format = arguments.format();
  const Table terms = term_table(a.plan, a.point, a.prediction);
  if (format == Format::json) deliver(arguments, to_json(a.plan, a.hardware, a.point, a.prediction, {.error = a.error}).dump(2) + "\n");
  else if (format == Format::csv) deliver(arguments, render(terms, format));
  else
    deliver(arguments, text(a.plan, a.hardware, a.point, a.prediction, a.error, format) + "\n" + render(terms, format) + "\n" + pseudocode(a.plan, a.point));
  return status_of(a.prediction);
}

}  // namespace tilescope::cli
