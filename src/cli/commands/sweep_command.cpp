// sweep: the cross product of axes, one prediction a line, streamed so that memory does not grow with the points.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "base/checked.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/input/sweep_axes.h"
#include "cli/output/help.h"
#include "cli/output/labels.h"
#include "predict/point/support.h"
#include "predict/predict.h"

namespace tilescope::cli {
namespace {

// Sends lines to stdout or, atomically, to a file.
class LineSink {
 public:
  explicit LineSink(const Arguments& arguments) {
    if (const auto file = arguments.text("output"); file && *file != "-") file_ = std::make_unique<OutputFile>(*file);
  }
  void write(const std::string& text) {
    if (file_) file_->write(text);
    else std::cout << text;
    if (!file_ && !std::cout)
      throw InputError(
          Diagnostic{.file = "standard output", .message = "cannot be written; is the disk full or the reader gone?"});
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::unique_ptr<OutputFile> file_;
};

// What the points of a sweep share.
struct Sweep {
  Plan plan;
  HardwareProfile hardware;
  std::vector<SweepAxis> axes;
  Point base;
  bool tile_fixed = false;
  std::string dtypes;                         // label
  std::map<std::string, JsonOptions> errors;  // by regime
};

// A default tile that cannot run at the first point would make an empty sweep: the best tile of that point takes its
// place.
void replace_unfit_tile(const Arguments& arguments, Sweep& sweep) {
  const bool swept = std::any_of(sweep.axes.begin(), sweep.axes.end(),
                                 [](const SweepAxis& axis) { return axis.tile >= 0 || axis.warps; });
  if (!sweep.plan.assumed || sweep.tile_fixed || swept) return;
  Prediction prediction;
  SearchResult result;
  try {
    predict(sweep.plan, sweep.hardware, sweep.base, prediction);
    if (prediction.feasible || !prediction.runnable) return;
    result = search_tiles(sweep.plan, sweep.hardware, sweep.base, search_options(arguments, sweep.plan));
  } catch (const CountOverflow&) {
    return;  // the point says so itself, with its place
  }
  if (result.feasible.empty()) return;
  const Point& best = result.feasible.front().point;
  if (!arguments.quiet())
    std::cerr << fmt::format(
        "note: the default tile {} cannot run here; every point takes {}, the best of the first point\n",
        tile_label(sweep.plan, sweep.base), tile_label(sweep.plan, best));
  sweep.base.tiles = best.tiles, sweep.base.warps = best.warps;
}

Sweep read_sweep(const std::string& command, const std::vector<std::string>& words,
                 const std::vector<OptionSpec>& specs) {
  const Arguments arguments(command, words, specs, 0);
  Sweep sweep{.plan = read_plan(arguments),
              .hardware = read_hardware(arguments),
              .axes = {},
              .base = {},
              .tile_fixed = tile_given(arguments),
              .dtypes = {},
              .errors = {}};
  sweep.axes = read_axes(arguments, sweep.plan);
  std::vector<std::string> all_words = words;
  const auto added = options_of_first_values(sweep.axes, arguments);
  all_words.insert(all_words.end(), added.begin(), added.end());
  sweep.base = read_point(Arguments(command, all_words, specs, 0), sweep.plan);
  for (const char* regime : {"short", "memory", "compute", "spills"}) {
    JsonOptions& options = sweep.errors[regime] = {.terms = false};
    if (sweep.plan.assumed) continue;
    const auto bar = [&](const char* quantity) {
      return recorded_error(data_directory() / "validate" / "errors.json", sweep.hardware.id, sweep.plan.kernel.name,
                            quantity, regime);
    };
    options.error = bar("seconds"), options.dram_error = bar("hbm_read_bytes");
  }
  sweep.dtypes = dtype_label(sweep.plan, sweep.base);
  replace_unfit_tile(arguments, sweep);
  if (const std::string reason = unsupported_on(sweep.plan, sweep.hardware); !reason.empty())
    throw InputError(Diagnostic{.path = "--kernel", .message = reason});
  return sweep;
}

std::string csv_header(const Plan& plan) {
  std::vector<Json> names;
  for (const char* name : {"hardware", "schedule", "kernel", "dtype", "mask", "batch", "heads_q", "heads_kv", "q_len",
                           "kv_len", "d_qk", "d_v"})
    names.emplace_back(name);
  for (const std::string& name : tile_columns(plan)) names.emplace_back(name);
  names.emplace_back("feasible");
  for (std::size_t b = 0; b < boundary_count; ++b)
    for (const char* direction : {"read", "write"})
      names.emplace_back(fmt::format("{}_{}_bytes", to_string(static_cast<Boundary>(b)), direction));
  for (const char* name : {"compulsory_bytes", "tensor_flop", "model_flop", "exp", "seconds", "bound_by"})
    names.emplace_back(name);
  return csv_line(names);
}

// Without a prediction (a point the kernel is not built for) the numbers are empty; one that cannot run has no time.
std::string csv_row(const Sweep& sweep, const Point& point, const Prediction* p) {
  const Workload& w = point.workload;
  std::vector<Json> cells{sweep.hardware.id,
                          sweep.plan.schedule.name,
                          sweep.plan.kernel.name,
                          sweep.dtypes,
                          point.mask.text,
                          w.batch,
                          w.heads_q,
                          w.heads_kv,
                          w.q_len,
                          w.kv_len,
                          w.d_qk,
                          w.d_v};
  for (const Json& tile : tile_cells(sweep.plan, point)) cells.push_back(tile);
  cells.emplace_back(p && p->feasible);
  for (std::size_t b = 0; b < boundary_count; ++b)
    for (std::size_t direction = 0; direction < 2; ++direction) {
      const bool known = p && (static_cast<Boundary>(b) != Boundary::smem || p->smem_modelled);
      cells.push_back(known ? Json(p->traffic[b][direction]) : Json(nullptr));
    }
  cells.push_back(p ? Json(p->compulsory_bytes) : Json(nullptr));
  for (const std::int64_t Work::*count : {&Work::tensor_flop, &Work::model_flop, &Work::exp})
    cells.push_back(p ? Json(p->work.*count) : Json(nullptr));
  cells.push_back(p && p->feasible ? Json(p->time.total) : Json(nullptr));
  cells.push_back(p && p->feasible ? Json(to_string(p->time.bound_by)) : Json(nullptr));
  return csv_line(cells);
}

// One line for the point, and whether it can run.
std::string line_of(const Sweep& sweep, const Point& point, OutputFormat format, Prediction& prediction) {
  const auto reasons = unsupported(sweep.plan, point);
  if (!reasons.empty()) {
    prediction.feasible = false;
    if (format == OutputFormat::csv) return csv_row(sweep, point, nullptr);
    return Json{{"schema", "tilescope/prediction/1"},
                {"point", point_json(sweep.plan, sweep.hardware.id, point)},
                {"feasible", false},
                {"unsupported", reasons}}
               .dump() +
           "\n";
  }
  predict(sweep.plan, sweep.hardware, point, prediction);
  if (format == OutputFormat::csv) return csv_row(sweep, point, &prediction);
  return to_json(sweep.plan, sweep.hardware, point, prediction, sweep.errors.at(regime_of(prediction))).dump() + "\n";
}

bool write_points(const Sweep& sweep, OutputFormat format, LineSink& sink) {
  Point point = sweep.base;
  Prediction prediction;
  bool any_feasible = false;
  std::vector<std::size_t> at(sweep.axes.size(), 0);
  for (std::size_t digit = 0; digit < at.size();) {
    set_point(point, sweep.base, sweep.plan, sweep.axes, at, sweep.tile_fixed);
    if (const auto violations = point.workload.violations(); !violations.empty())
      refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), violations.front()));
    std::string line;
    try {
      line = line_of(sweep, point, format, prediction);
    } catch (const CountOverflow& overflow) {
      refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), overflow.what()));
    }
    sink.write(line);
    any_feasible = any_feasible || prediction.feasible;
    for (digit = 0; digit < at.size() && ++at[digit] == sweep.axes[digit].values.size(); ++digit) at[digit] = 0;
  }
  return any_feasible;
}

}  // namespace

ExitStatus sweep_command(const std::vector<std::string>& words) {
  const auto specs = point_options() +
                     std::vector<OptionSpec>{
                         {"axis", "NAME=FIRST:LAST:xFACTOR, NAME=FIRST:LAST:+STEP or NAME=A,B,C; repeat to cross"}} +
                     output_options();
  if (help_wanted(words, "sweep --axis NAME=VALUES [--axis ...] --hardware ID ...", specs,
                  "  tilescope sweep --axis seqlen=1k:128k:x2 --axis tile_kv=32,64,128 --hardware h200_sxm --heads 16 "
                  "--format csv -o sweep.csv\n"
                  "A size follows another as with the options: heads_q sets heads_kv too, q_len kv_len, head_dim "
                  "v_head_dim, unless given.\n"
                  "Without --tile or a tile axis every point keeps the default tile, or the best tile of the first "
                  "point where that one\n"
                  "cannot run; tilescope search finds better ones.\n"
                  "Exit status 1 when no point can run.\n"))
    return ExitStatus::done;
  const Arguments arguments("sweep", words, specs, 0);
  const Sweep sweep = read_sweep("sweep", words, specs);
  const OutputFormat format = arguments.has("format") ? arguments.format() : OutputFormat::csv;
  if (format == OutputFormat::md || format == OutputFormat::text)
    throw InputError(
        Diagnostic{.path = "--format", .message = "a sweep is written as csv or json (one object a line)"});
  LineSink sink(arguments);
  if (format == OutputFormat::csv) sink.write(csv_header(sweep.plan));
  const bool any_feasible = write_points(sweep, format, sink);
  sink.commit();
  return any_feasible ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace tilescope::cli
