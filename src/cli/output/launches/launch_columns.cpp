#include "cli/output/launches/launch_columns.h"

#include <fmt/format.h>

#include <functional>

#include "base/text.h"

namespace tilescope::cli {
namespace {

using launches::LaunchPrediction;
using launches::LaunchRow;
using launches::PredictedAndCounted;

using PairOf = std::function<PredictedAndCounted(const LaunchPrediction&)>;

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// "68.7 GFLOP / 68.7 GFLOP": predicted, then counted; a dash where nothing was counted.
Json both_text(const PredictedAndCounted& pair, const char* unit) {
  return with_si(pair.predicted, unit) + " / " + (pair.counted ? with_si(*pair.counted, unit) : "-");
}

// A text column, and a predicted and a counted one in JSON and CSV.
void add_pair(Columns<LaunchRow>& columns, const std::string& key, const std::string& title, const char* unit,
              const std::string& meaning, const PairOf& pair) {
  using R = LaunchRow;
  columns.push_back(
      json_only<R>({key, "predicted " + title, unit, meaning + ", predicted.", Origin::time_model},
                   [pair](const R& r) { return r.prediction ? Json(pair(*r.prediction).predicted) : Json(); }));
  columns.push_back(
      json_only<R>({key + "_counted", "counted " + title, unit, meaning + ", counted.", Origin::measured},
                   [pair](const R& r) { return r.prediction ? number_or_null(pair(*r.prediction).counted) : Json(); }));
  columns.push_back(
      text_only<R>({key, title, unit, meaning + ": predicted / counted.", Origin::time_model},
                   [pair, unit](const R& r) { return r.prediction ? both_text(pair(*r.prediction), unit) : Json(); }));
}

// A launch that is not predicted has a time too.
std::optional<double> measured_seconds(const LaunchRow& row) {
  return row.prediction && row.prediction->seconds.counted ? row.prediction->seconds.counted
                                                           : row.launches.median_seconds;
}

void add_time(Columns<LaunchRow>& columns) {
  using R = LaunchRow;
  columns.push_back(
      json_only<R>({"seconds", "predicted time", "s", "Time of one launch, predicted.", Origin::time_model},
                   [](const R& r) { return r.prediction ? Json(r.prediction->seconds.predicted) : Json(); }));
  columns.push_back(json_only<R>({"seconds_measured", "time", "s", "Median time of one launch.", Origin::measured},
                                 [](const R& r) { return number_or_null(measured_seconds(r)); }));
  columns.push_back(text_only<R>(
      {"seconds", "time", "s", "Time of one launch: predicted / measured.", Origin::time_model}, [](const R& r) {
        const auto measured = measured_seconds(r);
        return (r.prediction ? with_si(r.prediction->seconds.predicted, "s") : "-") + " / " +
               (measured ? with_si(*measured, "s") : "-");
      }));
}

void add_pairs(Columns<LaunchRow>& columns) {
  add_time(columns);
  add_pair(columns, "tensor_flop", "FLOP", "FLOP", "FLOP that tensor cores execute in one launch",
           [](const LaunchPrediction& p) { return p.flop; });
  add_pair(columns, "hbm_read_bytes", "HBM read", "B",
           "Bytes that one launch reads from memory, for an L2 that holds none of its inputs",
           [](const LaunchPrediction& p) { return p.hbm_read; });
  add_pair(columns, "l2_read_bytes", "L2 read", "B", "Bytes that go from the L2 to the SMs in one launch",
           [](const LaunchPrediction& p) { return p.l2_read; });
  add_pair(columns, "l2_write_bytes", "L2 write", "B", "Bytes that go from the SMs to the L2 in one launch",
           [](const LaunchPrediction& p) { return p.l2_write; });
  add_pair(columns, "smem_read_bytes", "smem read", "B", "Bytes read from shared memory in one launch",
           [](const LaunchPrediction& p) { return p.smem_read; });
}

std::string caches_text(const LaunchRow& row) {
  if (!row.launches.record || !row.launches.record->source) return "";
  return to_string(row.launches.record->source->caches);
}

void add_launches(Columns<LaunchRow>& columns) {
  using R = LaunchRow;
  const auto by = [](const std::array<std::int64_t, 3>& sizes) { return fmt::format("{}", fmt::join(sizes, " x ")); };
  columns = {
      {{"kernel", "kernel", "", "Name of the kernel, without namespaces and template arguments.", Origin::question},
       [](const R& r) { return r.launches.kernel; }},
      {{"sizes", "sizes", "", "Head dimension, lengths, batch, heads and mask; none: not known.", Origin::question},
       [](const R& r) { return r.prediction ? Json(r.prediction->sizes) : Json(); }},
      {{"recognised", "recognised", "",
        "Tile, warps, stages and instructions that `describe` found in the code, or the descriptor that covers the "
        "kernel; none: no loop of attention was found.",
        Origin::code},
       [](const R& r) { return r.launches.recognised.empty() ? Json() : Json(r.launches.recognised); }},
      {{"launches", "launches", "", "Launches of this kernel with these sizes.", Origin::measured},
       [](const R& r) { return r.launches.launches; }},
      {{"share", "share", "", "Part of the time of all kernels of the program; none: not known.", Origin::measured},
       [](const R& r) { return number_or_null(r.launches.share); },
       [](const R& r) { return r.launches.share ? Json(fmt::format("{:.1f} %", 100 * *r.launches.share)) : Json(); }},
      json_only<R>(
          {"total_seconds", "total time", "s",
           "Time of all these launches; those without a time count as the median of the others.", Origin::measured},
          [](const R& r) { return number_or_null(r.launches.seconds); }),
      json_only<R>({"timed", "timed", "", "Launches that have a time.", Origin::measured},
                   [](const R& r) { return r.launches.timed; }),
      json_only<R>({"counted", "counted", "", "Launches that were counted.", Origin::measured},
                   [](const R& r) { return r.launches.counted; }),
      json_only<R>({"caches", "caches", "", "State of the caches before counted launches: cold, warm or unknown.",
                    Origin::measured},
                   [](const R& r) { return caches_text(r); }),
      json_only<R>({"grid", "grid", "", "Blocks along x, y and z.", Origin::measured},
                   [by](const R& r) { return by(r.launches.grid); }),
      json_only<R>({"block", "block", "", "Threads of a block along x, y and z.", Origin::measured},
                   [by](const R& r) { return by(r.launches.block); }),
      json_only<R>(
          {"sizes_from", "sizes from", "",
           "What states the sizes: `option`, an NVTX `range`, an operator's `call`, a `record`, or the `launch` "
           "itself; empty: nothing.",
           Origin::question},
          [](const R& r) { return r.launches.sizes_from; }),
  };
}

void add_point(Columns<LaunchRow>& columns) {
  using R = LaunchRow;
  const auto add = [&](const char* key, const char* meaning, auto value) {
    columns.push_back(json_only<R>({key, key, "", meaning, Origin::question}, [value](const R& r) {
      return r.launches.record ? Json(value(r.launches.record->point)) : Json();
    }));
  };
  using Point = validate::MeasurePoint;
  add("batch", "Batch entries; none: not known.", [](const Point& p) { return p.workload.batch; });
  add("heads_q", "Query heads.", [](const Point& p) { return p.workload.heads_q; });
  add("heads_kv", "Heads of keys and values.", [](const Point& p) { return p.workload.heads_kv; });
  add("q_len", "Queries of a batch entry.", [](const Point& p) { return p.workload.q_len; });
  add("kv_len", "Keys of a batch entry.", [](const Point& p) { return p.workload.kv_len; });
  add("head_dim", "Head dimension of queries and keys.", [](const Point& p) { return p.workload.d_qk; });
  add("v_head_dim", "Head dimension of values.", [](const Point& p) { return p.workload.d_v; });
  add("mask", "The mask, as --mask takes it.", [](const Point& p) { return p.mask; });
  add("dtype", "Format of the arrays.", [](const Point& p) { return to_string(p.dtype); });
}

}  // namespace

const Columns<LaunchRow>& launch_columns() {
  using R = LaunchRow;
  static const Columns<R> columns = [] {
    Columns<R> list;
    add_launches(list);
    add_point(list);
    add_pairs(list);
    list.push_back({{"bound_by", "bound by", "", "The busiest resource of the prediction.", Origin::time_model},
                    [](const R& r) { return r.prediction ? Json(r.prediction->bound_by) : Json(); }});
    list.push_back(
        {{"helps", "what helps", "", "What saves most time were it 10 % faster.", Origin::time_model},
         [](const R& r) { return r.prediction && !r.prediction->helps.empty() ? Json(r.prediction->helps) : Json(); },
         [](const R& r) {
           return r.prediction && !r.prediction->helps.empty()
                      ? Json(fmt::format("{} (-{:.1f} %)", r.prediction->helps, 100 * r.prediction->helps_part))
                      : Json();
         }});
    list.push_back(json_only<R>(
        {"helps_percent", "saves", "%", "Part of the time that this saves.", Origin::time_model}, [](const R& r) {
          return r.prediction && !r.prediction->helps.empty() ? Json(100 * r.prediction->helps_part) : Json();
        }));
    list.push_back(
        {{"missing", "missing", "", "What keeps the launch from being predicted; empty: nothing.", Origin::question},
         [](const R& r) { return join(r.launches.missing, "; "); }});
    return list;
  }();
  return columns;
}

ColumnList launch_column_list() { return listed("launches", "run", launch_columns()); }

}  // namespace tilescope::cli
