// predict and explain: one point.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/why_not.h"
#include "cli/input/best_tile.h"
#include "cli/output/help.h"
#include "cli/output/labels.h"
#include "predict/explain/bounds.h"
#include "predict/explain/notes.h"
#include "predict/explain/orders.h"
#include "predict/explain/pseudocode.h"
#include "predict/predict.h"

namespace tilescope::cli {
namespace {

std::string bound_text(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                       const Prediction& prediction) {
  return fmt::format("{} bytes compulsory, {} bytes the I/O lower bound at hbm",
                     with_thousands(prediction.compulsory_bytes),
                     with_thousands(lower_bound_bytes(plan, hardware, point, prediction)));
}

// How far the schedule is from what no schedule can beat.
Table bounds_table(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                   const Prediction& prediction) {
  Table table{.title = "lower bounds (of bytes read and written at a level)",
              .columns = {"level", "of", "bound", "memory", "bytes", "moved", "times", "source"},
              .rows = {}};
  for (const TrafficBound& bound : lower_bounds(plan, hardware, point, prediction))
    table.rows.push_back({to_string(bound.boundary),
                          bound.island < 0 ? "all" : plan.schedule.islands[static_cast<std::size_t>(bound.island)].name,
                          bound.name, bound.memory_bytes > 0 ? Json(with_binary(bound.memory_bytes)) : Json(nullptr),
                          static_cast<std::int64_t>(bound.bytes), bound.moved_bytes, bound.times(), bound.source});
  return table;
}

// The kernels of a schedule that has several, side by side.
std::string kernels_table(const Plan& plan, const Prediction& prediction, OutputFormat format) {
  if (prediction.islands.size() < 2) return {};
  Table table{.title = "kernels, one after the other",
              .columns = {"kernel", "blocks", "hbm_bytes", "l2_bytes", "tensor_flop", "microseconds", "bound_by"},
              .rows = {}};
  for (std::size_t i = 0; i < prediction.islands.size(); ++i) {
    const IslandPrediction& island = prediction.islands[i];
    table.rows.push_back({plan.schedule.islands[i].name, island.blocks, island.traffic[0][0] + island.traffic[0][1],
                          island.traffic[1][0] + island.traffic[1][1], island.work.tensor_flop, island.seconds * 1e6,
                          to_string(island.bound_by)});
  }
  return render(table, format) + "\n";
}

Table traffic_table(const Prediction& prediction) {
  Table table{.title = "traffic (bytes a level serves inwards and takes from it)",
              .columns = {"level", "read", "write", "total"},
              .rows = {}};
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
  return fmt::format("error: mean {:.1f} %, p90 {:.1f} % over {}", 100 * error->mape, 100 * error->p90, error->basis);
}

Table footprint_table(const Plan& plan, const Prediction& prediction) {
  Table table{.title = "footprint of a thread block",
              .columns = {"kernel", "level", "bytes", "capacity", "largest", "fits"},
              .rows = {}};
  for (const FootprintRow& row : prediction.footprint)
    table.rows.push_back(
        {plan.schedule.islands[static_cast<std::size_t>(row.island)].name, to_string(row.level), row.bytes,
         row.capacity_bytes > 0 ? Json(static_cast<std::int64_t>(row.capacity_bytes)) : Json(nullptr), row.largest,
         row.capacity_bytes == 0 ? "capacity unknown"
         : row.fits()            ? "yes"
                                 : "no"});
  return table;
}

// Kernels without matrix instructions have no footprint row, and why.
std::string plain_kernels_line(const Plan& plan) {
  std::vector<std::string> plain;
  for (const IslandImplementation& island : plan.kernel.islands)
    if (!island.uses_tensor_cores()) plain.push_back(island.name);
  return plain.empty()
             ? ""
             : fmt::format("without matrix instructions, so where tiles lie is not modelled: {}\n", join(plain, ", "));
}

// Where the time goes, and what would help.
Table split_table(const Prediction& prediction) {
  const TimePrediction& time = prediction.time;
  const double busy = time.clock_hz > 0 ? time.busy_cycles / time.clock_hz : 0;
  Table table{.title = "time", .columns = {"part", "microseconds"}, .rows = {}};
  table.rows = {{"multiprocessors hold blocks, in the mean", busy * 1e6},
                {"they wait for the last blocks or for memory", (time.total - time.launch - busy) * 1e6},
                {"between kernels", time.launch * 1e6},
                {"run after run", time.total * 1e6},
                {"one run alone, at the highest clock", time.cold * 1e6}};
  return table;
}

Table gain_table(const Prediction& prediction) {
  Table table{.title = "what 10 % more of one thing would save", .columns = {"thing", "percent"}, .rows = {}};
  for (std::size_t i = 0; i < lever_count; ++i)
    table.rows.push_back({to_string(static_cast<Lever>(i)), std::round(prediction.time.gain[i] * 1e4) / 100});
  return table;
}

std::string clock_text(const Prediction& prediction) {
  const TimePrediction& time = prediction.time;
  const std::string watts = time.watts > 0 ? fmt::format(" at {:.0f} W", time.watts) : "";
  return fmt::format("{} SM cycles, {:.0f} MHz{} run after run\n", with_thousands(std::llround(time.sm_cycles)),
                     time.clock_hz / 1e6, watts);
}

Table time_table(const Prediction& prediction) {
  Table table{.title = "time of each resource (everything else overlapped)",
              .columns = {"resource", "microseconds"},
              .rows = {}};
  for (std::size_t i = 0; i < resource_count; ++i)
    table.rows.push_back({to_string(static_cast<Resource>(i)), prediction.time.seconds[i] < 0
                                                                   ? Json("rate unknown")
                                                                   : Json(prediction.time.seconds[i] * 1e6)});
  return table;
}

// The sizes that the diagram's axes take: of the workload, then its own.
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
  std::vector<std::string> own;  // a size may be that of several axes
  for (const Axis& axis : diagram.axes)
    if (!axis.extent && !axis.chunks_of && !contains(own, axis.size))
      own.push_back(axis.size), parts.push_back(fmt::format("{} {}", axis.size, axis.length));
  return join(parts, ", ");
}

std::string point_line(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::vector<std::string> formats{to_string(point.dtypes[0])},
      seen{"l", "acc", "index"};  // the first array's, and every key's that differs
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
      plan.assumed ? "schedule " + plan.schedule.name + " (assumed implementation)" : "kernel " + plan.kernel.name;
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
          "infeasible: {} of kernel '{}' needs {} bytes, {} available: {} too many; the largest part is {}; try a "
          "smaller tile or tilescope search\n",
          to_string(row.level), plan.schedule.islands[static_cast<std::size_t>(row.island)].name,
          with_thousands(row.bytes), with_thousands(static_cast<std::int64_t>(row.capacity_bytes)),
          with_thousands(row.bytes - static_cast<std::int64_t>(row.capacity_bytes)), row.largest);
  return out;
}

std::string text(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction,
                 const std::optional<TimeError>& error, const std::optional<TimeError>& dram_error,
                 OutputFormat format) {
  std::string out = point_line(plan, hardware, point) + "\n\n" + infeasible_lines(plan, hardware, point, prediction);
  out += render(traffic_table(prediction), format) + bound_text(plan, hardware, point, prediction) + "; hbm read " +
         error_text(dram_error) + "\n\n";
  out += kernels_table(plan, prediction, format);
  const Work& work = prediction.work;
  Table table{.title = "work", .columns = {"quantity", "count"}, .rows = {}};
  table.rows = {{"tensor FLOP executed by the tiles", work.tensor_flop},
                {"model FLOP (the field's convention)", work.model_flop},
                {"exponentials of the schedule", work.exp},
                {"xu thread operations", work.pipes[0]},
                {"fp32 FLOP on the FMA pipe", work.fma_flop()}};
  out += render(table, format) + "\n" + render(footprint_table(plan, prediction), format) + plain_kernels_line(plan) +
         "\n" + render(time_table(prediction), format);
  if (prediction.time.modelled) {
    out += "\n" + render(split_table(prediction), format) + clock_text(prediction);
    if (point.l2 == L2Model::walk) out += "\n" + render(gain_table(prediction), format);
  }
  out +=
      fmt::format("\npredicted {:.2f} us, {} {}: {} of model FLOP; {}\n", prediction.time.total * 1e6,
                  prediction.time.modelled ? "busiest" : "bound by", to_string(prediction.time.bound_by),
                  with_si(static_cast<double>(work.model_flop) / prediction.time.total, "FLOP/s"), error_text(error));
  if (const std::string spills = spill_text(prediction); !spills.empty()) out += spills + "\n";
  for (const std::string& missing : missing_rates(hardware, prediction))
    out += "the time is a lower bound: a rate is not known: " + missing + "\n";
  return out;
}

Table term_table(const Plan& plan, const Point& point, const Prediction& prediction) {
  Table table{.title = "terms",
              .columns = {"kernel", "level", "array", "direction", "bytes", "formula", "because"},
              .rows = {}};
  const Json json = to_json(plan, HardwareProfile{}, point, prediction);
  for (const Json& term : json["terms"]) {
    std::vector<std::string> reasons;
    for (const Json& reason : term["because"]) reasons.push_back(reason.get<std::string>());
    table.rows.push_back({term["island"], term["boundary"], term["array"], term["direction"], term["bytes"],
                          term["formula"], join(reasons, "; ")});
  }
  return table;
}

// One row of every number, for CSV.
Table flat_table(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction) {
  Table table;
  std::vector<Json> row;
  const auto add = [&](const std::string& name, Json value) {
    table.columns.push_back(name), row.push_back(std::move(value));
  };
  add("hardware", hardware.id), add("schedule", plan.schedule.name), add("kernel", plan.kernel.name),
      add("mask", point.mask.text);
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

// Markdown keeps the indentation only inside a fence.
std::string code_block(const std::string& code, OutputFormat format) {
  return format == OutputFormat::md ? "```\n" + code + "```\n" : code;
}

struct Answer {
  Plan plan;
  HardwareProfile hardware;
  Point point;
  Prediction prediction;
  std::optional<TimeError> error, dram_error;
};

std::vector<OptionSpec> l2_options() {
  return {
      {"l2",
       "how DRAM bytes are found: walk (default), all blocks through a model of the cache, or closed, a formula over "
       "waves of blocks"},
      {"drift", "of the walk, in percent: blocks' steps take up to so much longer, by a fixed sequence (default 0)"}};
}

Table orders_table(const Answer& a) {
  Table table{.title = "DRAM bytes by the order of blocks, by the walk",
              .columns = {"order (fastest first)", "kernel's own", "hbm_read_bytes", "hbm_write_bytes", "times_least"},
              .rows = {}};
  const std::vector<OrderedTraffic> orders = traffic_by_order(a.plan, a.hardware, a.point);
  const auto total = [](const OrderedTraffic& order) {
    return static_cast<double>(order.read_bytes + order.write_bytes);
  };
  for (const OrderedTraffic& order : orders)
    table.rows.push_back({order.order, order.own ? "yes" : "", order.read_bytes, order.write_bytes,
                          total(order) / total(orders.front())});
  return table;
}

void apply_l2(Point& point, const Arguments& arguments) {
  const std::string model = arguments.text("l2").value_or("walk");
  if (model != "walk" && model != "closed")
    refuse("--l2", fmt::format("expected walk or closed, found '{}'{}", model,
                               did_you_mean(model, std::vector<std::string>{"walk", "closed"})));
  point.l2 = model == "walk" ? L2Model::walk : L2Model::closed;
  const auto drift = arguments.integer("drift", 0, 100);
  if (drift && model == "closed") refuse("--drift", "is of the walk; leave it out or say --l2 walk");
  point.drift = static_cast<double>(drift.value_or(0)) / 100;
}

Answer answer(const Arguments& arguments) {
  Answer a{read_plan(arguments), read_hardware(arguments), {}, {}, {}, {}};
  a.point = read_point(arguments, a.plan);
  settle_tile(a.plan, a.hardware, a.point, tile_given(arguments), search_options(arguments, a.plan));
  apply_l2(a.point, arguments);
  predict(a.plan, a.hardware, a.point, a.prediction);
  const auto bar = [&](const char* quantity) {
    return recorded_error(data_directory() / "validate" / "errors.json", a.hardware.id, a.plan.kernel.name, quantity,
                          regime_of(a.prediction));
  };
  if (!a.plan.assumed) a.error = bar("seconds"), a.dram_error = bar("hbm_read_bytes");
  return a;
}

ExitStatus status_of(const Prediction& prediction) {
  return prediction.feasible ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace

ExitStatus predict_command(const std::vector<std::string>& words) {
  const auto specs =
      point_options() + l2_options() +
      std::vector<OptionSpec>{{"orders", "instead: DRAM bytes of this kernel with its blocks in other orders", true}} +
      output_options();
  if (help_wanted(
          words, "predict --hardware ID [--kernel NAME | --schedule NAME] --q-len N ...", specs,
          "  tilescope predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128 --mask "
          "causal\n"
          "  tilescope predict --hardware b200_sxm --schedule standard --workload gpt2-medium --format json\n"
          "  tilescope predict --hardware h200_sxm --pass backward --heads 16 --q-len 4k --head-dim 128\n"
          "  tilescope predict --hardware h200_sxm --schedule split-kv --splits 16 --workload llama3-70b-decode\n"
          "  tilescope predict --hardware h200_sxm --diagram attention_paged --size pages=512 --q-len 1 --kv-len 8k "
          "--heads 8\n"))
    return ExitStatus::done;
  const Arguments arguments("predict", words, specs, 0);
  const Answer a = answer(arguments);
  const OutputFormat format = arguments.format();
  if (arguments.has("orders")) {
    if (a.point.l2 == L2Model::closed) refuse("--orders", "compares orders by the walk; leave out --l2 closed");
    deliver(arguments, render(orders_table(a), format));
    return status_of(a.prediction);
  }
  if (format == OutputFormat::json)
    deliver(arguments,
            to_json(a.plan, a.hardware, a.point, a.prediction, {.error = a.error, .dram_error = a.dram_error}).dump(2) +
                "\n");
  else if (format == OutputFormat::csv)
    deliver(arguments, render(flat_table(a.plan, a.hardware, a.point, a.prediction), format));
  else deliver(arguments, text(a.plan, a.hardware, a.point, a.prediction, a.error, a.dram_error, format));
  return status_of(a.prediction);
}

ExitStatus explain_command(const std::vector<std::string>& words) {
  const auto specs =
      point_options() + l2_options() +
      std::vector<OptionSpec>{
          {"why-not", "AXIS:whole|group|stream|parts: may the schedule do that, and which rule forbids it"}} +
      output_options();
  if (help_wanted(words, "explain --hardware ID [--kernel NAME | --schedule NAME] --q-len N ...", specs,
                  "  tilescope explain --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128\n"
                  "  tilescope explain --schedule flash2 --why-not kv:group\n"))
    return ExitStatus::done;
  const Arguments arguments("explain", words, specs, 0);
  if (arguments.has("why-not")) return print_why_not(arguments, read_plan(arguments).schedule);
  const Answer a = answer(arguments);
  const OutputFormat format = arguments.format();
  const Table terms = term_table(a.plan, a.point, a.prediction);
  if (format == OutputFormat::json)
    deliver(arguments,
            to_json(a.plan, a.hardware, a.point, a.prediction, {.error = a.error, .dram_error = a.dram_error}).dump(2) +
                "\n");
  else if (format == OutputFormat::csv) deliver(arguments, render(terms, format));
  else
    deliver(arguments, text(a.plan, a.hardware, a.point, a.prediction, a.error, a.dram_error, format) + "\n" +
                           render(bounds_table(a.plan, a.hardware, a.point, a.prediction), format) + "\n" +
                           render(terms, format) + "\n" + code_block(pseudocode(a.plan, a.hardware, a.point), format));
  return status_of(a.prediction);
}

}  // namespace tilescope::cli
