#include "predict/explain/prediction_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "predict/explain/bounds.h"
#include "predict/explain/labels.h"
#include "predict/explain/notes.h"
#include "predict/explain/row_columns.h"
#include "predict/point/support.h"
#include "predict/rate_basis.h"

namespace tilescope {
namespace {

using Table = std::vector<PredictionColumn>;
using Row = PredictedPoint;
using namespace shown;

// A column from its description, its places and what it needs.
PredictionColumn column(ColumnInfo info, unsigned where, Needs needs, std::function<Json(const Row&)> value,
                        Wanted wanted = Wanted::times) {
  return {{std::move(info), std::move(value)}, where, needs, needs == Needs::nothing ? Wanted::beyond_l2 : wanted};
}

void add_point(Table& t, const std::vector<std::string>& tiles) {
  const auto add = [&](const char* key, const char* title, const char* meaning, unsigned where, auto value) {
    t.push_back(column({key, title, "", meaning, Origin::question}, where, Needs::nothing, value));
  };
  add("hardware", "hardware", "Id of the GPU's profile.", csv | compare, [](const Row& r) { return r.hardware.id; });
  add("schedule", "schedule", "Name of the schedule.", csv, [](const Row& r) { return r.plan.schedule.name; });
  add("kernel", "kernel", "Name of the kernel, or of the assumed implementation of the schedule.", csv | compare,
      [](const Row& r) { return r.plan.kernel.name; });
  add("dtype", "dtype", "Format of most arrays, then of each array that differs; ';' between them.", csv,
      [](const Row& r) { return dtype_label(r.plan, r.point, ';'); });
  add("dtype", "dtype", "Format of most arrays, then of each array that differs, as --dtype takes it.", compare,
      [](const Row& r) { return dtype_label(r.plan, r.point); });
  add("mask", "mask", "Which scores are computed.", csv, [](const Row& r) { return r.point.mask.text; });
  static constexpr std::pair<const char*, std::int64_t Workload::*> extents[] = {
      {"batch", &Workload::batch}, {"heads_q", &Workload::heads_q}, {"heads_kv", &Workload::heads_kv},
      {"q_len", &Workload::q_len}, {"kv_len", &Workload::kv_len},   {"d_qk", &Workload::d_qk},
      {"d_v", &Workload::d_v}};
  for (const auto& [key, extent] : extents)
    add(key, key, "Size of the workload.", csv, [extent = extent](const Row& r) { return r.point.workload.*extent; });
  add("tile", "tile", "Tile sizes, warps and stages, as --tile takes them.", compare,
      [](const Row& r) { return tile_label(r.plan, r.point); });
  for (const std::string& tile : tiles)
    t.push_back(column(
        {"tile_" + tile, "tile_" + tile, "", "Tile size, a column a parameter of the schedule.", Origin::question}, csv,
        Needs::nothing, [name = tile](const Row& r) {
          const int position = r.plan.schedule.find_parameter(name);
          return position < 0 ? Json(nullptr) : Json(r.point.tiles[static_cast<std::size_t>(position)]);
        }));
  add("warps", "warps", "Warps of a thread block that compute.", csv, [](const Row& r) { return r.point.warps; });
  add("stages", "stages", "Copies of each streamed input tile in shared memory.", csv,
      [](const Row& r) { return stages_of(r.plan.kernel, r.point); });
  add("diagram", "diagram", "What is computed. In a sweep only where an axis changes it, as sizes and l2.", csv,
      [](const Row& r) { return r.plan.schedule.diagram.name; });
  add("sizes", "sizes", "Sizes that the diagram defines, as --size takes them; ';' between them.", csv,
      [](const Row& r) { return sizes_label(r.plan.schedule.diagram); });
  add("l2", "l2", "Model of the L2 that was asked for.", csv, [](const Row& r) { return to_string(r.point.l2); });
}

void add_feasibility(Table& t) {
  t.push_back(column({"feasible", "feasible", "",
                      "The kernel supports the point, every tile fits its memory, and the "
                      "GPU has a rate for the format.",
                      Origin::loops},
                     json_head | csv, Needs::nothing,
                     [](const Row& r) { return r.prediction != nullptr && r.prediction->feasible; }));
  t.push_back(column({"fits", "fits", "", "yes: every tile fits its memory.", Origin::loops}, compare,
                     Needs::prediction, [](const Row& r) {
                       const auto& rows = r.prediction->footprint;
                       const bool fits =
                           std::all_of(rows.begin(), rows.end(), [](const FootprintRow& row) { return row.fits(); });
                       return fits ? "yes" : "no";
                     }));
  t.push_back(column({"runnable", "runnable", "", "yes: the GPU states a tensor rate for the format.", Origin::profile},
                     compare, Needs::prediction, [](const Row& r) { return r.prediction->runnable ? "yes" : "no"; }));
}

// Null where nothing is said of the arrays in HBM.
Json memory_bytes(const Prediction& prediction) {
  for (const FootprintRow& row : prediction.footprint)
    if (row.level == Boundary::hbm) return row.bytes;
  return nullptr;
}

Origin origin_of(Boundary boundary) { return beyond_l2(boundary) ? Origin::cache : Origin::loops; }

void add_traffic(Table& t) {
  for (const LevelId level : counted_levels)
    for (const Direction direction : {Direction::read, Direction::write}) {
      const std::string name = to_string(level);
      const bool read = direction == Direction::read;
      t.push_back(column(
          {fmt::format("{}_{}_bytes", name, to_string(direction)), name + " " + to_string(direction), "B",
           fmt::format("Bytes that {} {} the level inside it.", name, read ? "serves to" : "takes from"),
           origin_of(level)},
          csv, Needs::prediction,
          [level, direction](const Row& r) { return bytes_at(*r.prediction, level, direction); },
          beyond_l2(level)        ? Wanted::beyond_l2
          : level == Boundary::l2 ? Wanted::memory
                                  : Wanted::counts));
    }
  for (const Boundary boundary : {Boundary::hbm, Boundary::l2}) {
    const std::string name = to_string(boundary);
    t.push_back(column({name + "_bytes", name + "_bytes", "B", fmt::format("Bytes read and written at {}.", name),
                        origin_of(boundary)},
                       compare, Needs::prediction, [boundary](const Row& r) {
                         const auto& both = r.prediction->traffic[boundary];
                         return both[0] + both[1];
                       }));
  }
  t.push_back(column(
      {"compulsory_bytes", "compulsory bytes", "B", "Every input read once and every output written once.",
       Origin::loops},
      json_top | csv, Needs::prediction, [](const Row& r) { return r.prediction->compulsory_bytes; },
      Wanted::beyond_l2));
  t.push_back(column(
      {"memory_bytes", "memory", "B",
       "HBM that all arrays take together: inputs, outputs, and what passes between launches.", Origin::loops},
      json_top | csv, Needs::prediction, [](const Row& r) { return memory_bytes(*r.prediction); }, Wanted::beyond_l2));
  t.push_back(column({"lower_bound_bytes", "I/O lower bound", "B",
                      "Bytes at hbm that no schedule of this operator can avoid, whatever its tiles.", Origin::bound},
                     json_top, Needs::prediction,
                     [](const Row& r) { return lower_bound_bytes(r.plan, r.hardware, r.point, *r.prediction); }));
}

void add_work(Table& t) {
  const auto add = [&](const char* key, const char* title, const char* unit, const char* meaning, Origin origin,
                       unsigned where, std::function<std::int64_t(const Work&)> value) {
    t.push_back(column(
        {key, title, unit, meaning, origin}, where | json_work, Needs::prediction,
        [value = std::move(value)](const Row& r) { return value(r.prediction->work); }, Wanted::counts));
  };
  add("tensor_flop", "tensor FLOP executed by the tiles", "FLOP",
      "Matrix FLOP that whole tiles execute, padding and masked scores of visited tiles included.", Origin::loops,
      csv | work_text, [](const Work& w) { return w.tensor_flop; });
  add("model_flop", "model FLOP (the field's convention)", "FLOP",
      "2 x visible pairs x summed extent of every contraction, each counted once.", Origin::loops, csv | work_text,
      [](const Work& w) { return w.model_flop; });
  add("clipped_flop", "FLOP of clipped tiles", "FLOP",
      "Matrix FLOP of visited tiles, with partial tiles clipped to the arrays.", Origin::loops, 0,
      [](const Work& w) { return w.clipped_flop; });
  add("fma_flop", "fp32 FLOP on the FMA pipe", "FLOP", "2 ffma + fadd + fmul.", Origin::descriptor, work_text,
      [](const Work& w) { return w.fma_flop(); });
  add("exp", "exponentials of the schedule", "", "One a score of clipped tiles, one a row and step.", Origin::loops,
      csv | work_text, [](const Work& w) { return w.exp; });
  for (std::size_t i = 0; i < pipe_count; ++i) {
    const std::string name = to_string(static_cast<Pipe>(i));
    t.push_back(column({name, name + " thread operations", "",
                        "Thread operations of this kind that the kernel executes.", Origin::descriptor},
                       json_work | (static_cast<Pipe>(i) == Pipe::xu ? work_text : 0), Needs::prediction,
                       [i](const Row& r) { return r.prediction->work.pipes[i]; }));
  }
}

// At most the time between launches: clocks of a cold run at the highest clock may be more than those run after run.
double busy_seconds_of(const TimePrediction& time) {
  return time.clock_hz > 0 ? std::min(time.busy_cycles / time.clock_hz, time.total - time.launch) : 0;
}

// The parts of the time and the time itself.
void add_seconds(Table& t) {
  const auto add = [&](const char* key, const char* title, const char* unit, const char* meaning, unsigned where,
                       std::function<Json(const TimePrediction&)> value) {
    t.push_back(column({key, title, unit, meaning, Origin::time_model}, where, Needs::feasible,
                       [value = std::move(value)](const Row& r) { return value(r.prediction->time); }));
  };
  add("busy_seconds", "mean SM busy time", "s",
      "Time that a multiprocessor holds blocks, mean over all multiprocessors.", time_text, busy_seconds_of);
  add("wait_seconds", "mean SM idle time (tail of the launch, memory)", "s",
      "Time that a multiprocessor has no block because others still run or memory still delivers.", time_text,
      [](const TimePrediction& time) { return time.total - time.launch - busy_seconds_of(time); });
  add("between_kernels", "between kernels", "s", "Part of the time between the end of a kernel and the next start.",
      time_text, [](const TimePrediction& time) { return time.launch; });
  add("seconds", "run after run", "s",
      "Time of a run, run after run without a pause, launches queued ahead of the GPU, at the clock of the power "
      "limit.",
      json_time | csv | time_text, [](const TimePrediction& time) { return time.total; });
  add("microseconds", "microseconds", "us", "The same in microseconds.", compare,
      [](const TimePrediction& time) { return time.total * 1e6; });
  add("cold_seconds", "one run alone, after a pause", "s",
      "Time of one run alone after a pause, with an empty L2, as CUDA events around it show.", json_time | time_text,
      [](const TimePrediction& time) { return time.cold; });
}

void add_clocks(Table& t) {
  const auto add = [&](const char* key, const char* title, const char* unit, const char* meaning, unsigned where,
                       std::function<Json(const TimePrediction&)> value) {
    t.push_back(column({key, title, unit, meaning, Origin::time_model}, where, Needs::feasible,
                       [value = std::move(value)](const Row& r) { return value(r.prediction->time); }));
  };
  add("sm_cycles", "SM cycles", "clk", "Clocks from the first block's start to the last one's end, over all kernels.",
      json_time, [](const TimePrediction& time) { return time.sm_cycles; });
  add("busy_cycles", "busy cycles", "clk",
      "Clocks that a multiprocessor holds blocks, mean over them; null: blocks were not placed one by one.", json_time,
      [](const TimePrediction& time) { return time.modelled ? Json(time.busy_cycles) : Json(nullptr); });
  add("launch_seconds", "launch", "s", "Part of the time between kernels.", json_time,
      [](const TimePrediction& time) { return time.launch; });
  add("cold_launch_seconds", "launch alone", "s", "Part of cold_seconds outside of kernels.", json_time,
      [](const TimePrediction& time) { return time.cold_launch; });
  add("host_seconds", "host", "s",
      "Time that the host of the measured GPU takes to launch the kernels one by one, without a CUDA graph: where it "
      "is "
      "longer than seconds, runs take that long unless their launches are queued ahead; null: not measured.",
      json_time, [](const TimePrediction& time) { return time.host > 0 ? Json(time.host) : Json(nullptr); });
  add("clock_hz", "clock", "Hz", "SM clock under the power limit, run after run.", json_time,
      [](const TimePrediction& time) { return time.clock_hz; });
  add("watts", "power", "W", "Power, run after run; null: the profile states no energies.", json_time,
      [](const TimePrediction& time) { return time.watts > 0 ? Json(time.watts) : Json(nullptr); });
  add("bound_by", "bound_by", "",
      "The resource that takes longest by itself; of several kernels, what bounds them for most of the time.",
      json_time | csv | compare, [](const TimePrediction& time) { return to_string(time.bound_by); });
}

// Quotients of this row and others of a comparison.
void add_ratios(Table& t) {
  const auto ratio = [](double value, double of) { return of > 0 ? Json(value / of) : Json(nullptr); };
  t.push_back(
      column({"times_fastest", "times fastest", "",
              "seconds / those of the fastest row by the same model; null for a bound, which has no place among times.",
              Origin::time_model},
             compare, Needs::feasible, [ratio](const Row& r) {
               const TimePrediction& time = r.prediction->time;
               return time.modelled ? ratio(time.total, r.options.fastest_seconds) : Json(nullptr);
             }));
  t.push_back(column({"time_ratio", "time ratio", "",
                      "seconds / those of the first row with a time by the model of blocks, or with a bound where none "
                      "has; null where the two are not by one model.",
                      Origin::time_model},
                     compare, Needs::feasible,
                     [ratio](const Row& r) { return ratio(r.prediction->time.total, r.options.first_seconds); }));
  t.push_back(
      column({"hbm_ratio", "hbm ratio", "", "hbm_bytes / those of the first row that is predicted.", Origin::cache},
             compare, Needs::prediction, [ratio](const Row& r) {
               const auto& both = r.prediction->traffic[Boundary::hbm];
               return ratio(static_cast<double>(both[0] + both[1]), r.options.first_hbm_bytes);
             }));
}

// An infeasible point has no time, so that nothing is said of its error.
Json error_of_time(const Prediction& prediction, const std::optional<TimeError>& error) {
  if (!prediction.feasible) return {{"mape", nullptr}, {"n", 0}, {"basis", "infeasible"}};
  return to_json(prediction.time.modelled ? error : std::optional<TimeError>());
}

// What the time was made from, and how far to trust it.
void add_quality(Table& t) {
  const auto add = [&](ColumnInfo info, unsigned where, Needs needs, std::function<Json(const Row&)> value) {
    t.push_back(column(std::move(info), where, needs, std::move(value)));
  };
  add({"model_tflops", "model_tflops", "TFLOP/s", "model_flop / seconds.", Origin::time_model}, compare,
      Needs::feasible, [](const Row& r) {
        const double seconds = r.prediction->time.total;
        return seconds > 0 ? Json(static_cast<double>(r.prediction->work.model_flop) / seconds / 1e12) : Json(nullptr);
      });
  add_ratios(t);
  add({"time_error", "time error", "",
       "Mean absolute relative error of times like this one: of the kernel's records on a measured GPU, of all kernels "
       "where rates are derived; null: no record, or a bound.",
       Origin::records},
      compare, Needs::feasible, [](const Row& r) {
        return r.prediction->time.modelled && r.options.error ? Json(r.options.error->mape) : Json(nullptr);
      });
  add({"rate_unknown", "rate_unknown", "", "Rates that the GPU's profile lacks: the time is then a lower bound.",
       Origin::profile},
      compare, Needs::prediction,
      [](const Row& r) { return join(missing_rates(r.plan, r.hardware, *r.prediction), "; "); });
  add({"model", "model", "",
       "blocks: blocks on multiprocessors, floors of memory and L2, launch, clock under the power limit. bound: the "
       "slowest resource of each kernel, a lower bound, which must not be compared with a time by blocks.",
       Origin::time_model},
      json_time | csv | compare, Needs::prediction, [](const Row& r) { return model_name(*r.prediction); });
  add({"basis", "basis", "",
       "Where the GPU's rates come from: measured on it, published about it, derived by rules, or mixed.",
       Origin::profile},
      json_time | csv | compare, Needs::prediction,
      [](const Row& r) { return to_string(overall_basis(r.hardware, *r.prediction)); });
  add({"bases", "bases", "", "The same by resource.", Origin::profile}, json_time, Needs::prediction, [](const Row& r) {
    Json bases = Json::object();
    for (const ResourceBasis& row : resource_bases(r.hardware, *r.prediction))
      bases[row.resource] = to_string(row.basis);
    return bases;
  });
  add({"spills", "spills", "", "Spilled registers and what of them is modelled; null: none.", Origin::descriptor},
      json_time, Needs::prediction,
      [](const Row& r) { return r.prediction->time.spills ? Json(spill_text(*r.prediction)) : Json(nullptr); });
  t.push_back(column(
      {"saved_by_10_percent", "saved by 10 %", "",
       "Part of the time saved were one thing 10 % faster, by its name; null: not worked out, of lower bounds and of "
       "the closed form of the L2.",
       Origin::time_model},
      json_time, Needs::prediction,
      [](const Row& r) {
        const TimePrediction& time = r.prediction->time;
        if (r.prediction->feasible && std::all_of(time.gain.begin(), time.gain.end(), [](double g) { return g == 0; }))
          return Json(nullptr);
        Json gains = Json::object();
        for (const GainRow& gain : gain_rows(*r.prediction)) gains[to_string(gain.lever)] = gain.part;
        return gains;
      },
      Wanted::all));
  add({"missing", "missing", "", "Rates that the GPU's profile lacks.", Origin::profile}, json_time, Needs::prediction,
      [](const Row& r) { return missing_rates(r.plan, r.hardware, *r.prediction); });
  add({"resources", "resources", "", "Busy time of each resource (table resources).", Origin::time_model}, json_time,
      Needs::prediction, [](const Row& r) { return objects_of(resource_columns(), resource_rows(*r.prediction)); });
  add({"error", "error", "",
       "Error that measurements show: mean, p90, their number and which; from where it is borrowed, and how much wider "
       "that makes it.",
       Origin::records},
      json_time, Needs::prediction, [](const Row& r) { return error_of_time(*r.prediction, r.options.error); });
  add({"cold_error", "cold error", "", "The same of cold_seconds.", Origin::records}, json_time, Needs::prediction,
      [](const Row& r) { return error_of_time(*r.prediction, r.options.cold_error); });
  t.push_back(
      column({"outside", "outside", "", "Why the kernel does not run this point; empty: it does.", Origin::descriptor},
             csv | compare, Needs::nothing, [](const Row& r) {
               if (!r.outside.empty()) return r.outside;
               return join(outside_shapes(r.plan.kernel, r.hardware, r.point.workload), "; ");
             }));
  t.push_back(column({"no_time", "why no time", "",
                      "Why the row has no time: the kernel is refused or not launched, a memory is too small, the GPU "
                      "has no rate; empty: it has one.",
                      Origin::question},
                     compare, Needs::nothing, no_time_reason));
}

}  // namespace

std::string no_time_reason(const PredictedPoint& row) {
  if (!row.outside.empty()) return row.outside;
  if (!row.prediction) {
    const std::string outside = join(outside_shapes(row.plan.kernel, row.hardware, row.point.workload), "; ");
    return outside.empty() ? "the kernel does not support this point" : outside;
  }
  if (row.prediction->feasible) return "";
  std::vector<std::string> reasons;
  for (const FootprintRow& level : row.prediction->footprint)
    if (!level.fits())
      reasons.push_back(fmt::format("{} holds {}, the point needs {} (most: {})", to_string(level.level),
                                    with_thousands(static_cast<std::int64_t>(level.capacity_bytes)),
                                    with_thousands(level.bytes), level.largest));
  if (!row.prediction->runnable)
    reasons.push_back(
        fmt::format("{} states no tensor rate for {}", row.hardware.id, dtype_label(row.plan, row.point)));
  return join(reasons, "; ");
}

Wanted wanted_of(const std::vector<PredictionColumn>& columns) {
  Wanted wanted = Wanted::beyond_l2;
  for (const PredictionColumn& each : columns) wanted = std::min(wanted, each.wanted);
  return wanted;
}

std::vector<PredictionColumn> prediction_columns(const std::vector<std::string>& tiles) {
  Table table;
  add_point(table, tiles);
  add_feasibility(table);
  add_traffic(table);
  add_work(table);
  add_seconds(table);
  add_clocks(table);
  add_quality(table);
  return table;
}

std::vector<PredictionColumn> prediction_columns(const Plan& plan) {
  std::vector<std::string> tiles;
  for (const Parameter& parameter : plan.schedule.parameters) tiles.push_back(parameter.name);
  return prediction_columns(tiles);
}

std::vector<PredictionColumn> columns_at(const std::vector<PredictionColumn>& columns, unsigned where) {
  std::vector<PredictionColumn> chosen;
  for (const PredictionColumn& column : columns)
    if (column.where & where) chosen.push_back(column);
  return chosen;
}

Json cell(const PredictionColumn& column, const PredictedPoint& row) {
  if (column.needs != Needs::nothing && !row.prediction) return nullptr;
  if (column.needs == Needs::feasible && !row.prediction->feasible) return nullptr;
  return column.value(row);
}

void add_fields(Json& object, const std::vector<PredictionColumn>& columns, unsigned where, const PredictedPoint& row) {
  for (const PredictionColumn& column : columns)
    if (column.where & where) object[column.key] = cell(column, row);
}

}  // namespace tilescope
