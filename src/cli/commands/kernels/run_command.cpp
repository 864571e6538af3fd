// run: captures a program, describes its attention kernels, predicts them and sets both beside each other.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "cli/commands/commands.h"
#include "cli/input/file_endings.h"
#include "cli/input/launch_input.h"
#include "cli/output/launches/launch_columns.h"
#include "records/capture/capture_lines.h"
#include "report/table_page.h"
#include "validate/capture/run_capture.h"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;
using launches::LaunchRow;
using launches::ProgramLaunches;

// Runs the command under capture. Returns its exit status.
int captured(const Arguments& arguments, const std::string& directory) {
  const fs::path library = capture::capture_library();
  const capture::CapturePreflight preflight =
      capture::capture_preflight("/", std::getenv("CUDA_INJECTION64_PATH"), !arguments.has("no-counters"));
  for (const std::string& note : preflight.notes) print_note("note: " + note);
  return capture::run_capture({.command = arguments.after_dashes(),
                               .directory = directory,
                               .counters = preflight.counters,
                               .cold = preflight.counters && arguments.has("cold"),
                               .durations = arguments.text("durations").value_or("sampled")},
                              library)
      .status;
}

std::size_t predicted_rows(const std::vector<LaunchRow>& rows) {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const LaunchRow& row) { return row.prediction.has_value(); }));
}

double share_of_rows(const std::vector<LaunchRow>& rows) {
  double share = 0;
  for (const LaunchRow& row : rows) share += row.launches.share.value_or(0);
  return share;
}

std::string lead_text(const ProgramLaunches& program, const std::vector<LaunchRow>& rows) {
  std::string text = fmt::format("{}: {} launches of {} kernels", program.from, program.launches, program.kernels);
  if (program.seconds)
    text +=
        fmt::format(", {:.3f} ms; attention takes {:.1f} % of it", 1e3 * *program.seconds, 100 * share_of_rows(rows));
  if (!program.hardware.empty()) text += fmt::format("; predicted on {}", program.hardware);
  return text;
}

std::vector<std::string> notes_of(const ProgramLaunches& program) {
  std::vector<std::string> notes = program.notes;
  const auto lacks_sizes = [](const launches::AttentionLaunches& row) {
    return std::find(row.missing.begin(), row.missing.end(), launches::unknown_sizes) != row.missing.end();
  };
  if (std::any_of(program.attention.begin(), program.attention.end(), lacks_sizes))
    notes.emplace_back(launches::how_to_state_sizes);
  return notes;
}

// One line a row of the gate that is left, then the count.
std::string gate_text(const std::vector<LaunchRow>& rows, const std::string& gate) {
  std::string text;
  for (const LaunchRow& row : rows) {
    if (!row.prediction) continue;
    for (const ComparisonRow& each : row.prediction->compared)
      if (each.verdict == Verdict::fail)
        text += fmt::format("outside its tolerance: {} {}: {}: predicted {:.6g}, counted {:.6g}, tolerance {:.3g} %\n",
                            row.launches.kernel, row.prediction->sizes, each.label(), each.predicted, each.measured,
                            100 * each.tolerance.value_or(0));
  }
  const RowCounts counts = launches::gate_counts(rows);
  if (counts.judged == 0)
    return text + fmt::format("gate {}: nothing was judged: no launch has a value with a tolerance\n", gate);
  return text + fmt::format("gate {}: {} of {} values within their tolerance\n", gate, counts.judged - counts.failed,
                            counts.judged);
}

Json json_document(const ProgramLaunches& program, const std::vector<LaunchRow>& rows,
                   const std::optional<std::string>& gate) {
  Json document{{"schema", "tilescope/run/1"},
                {"from", program.from},
                {"hardware", program.hardware.empty() ? Json() : Json(program.hardware)},
                {"launches", program.launches},
                {"kernels", program.kernels},
                {"seconds", program.seconds ? Json(*program.seconds) : Json()},
                {"attention", objects_of(launch_columns(), rows)},
                {"notes", notes_of(program)}};
  if (!gate) return document;
  const RowCounts counts = launches::gate_counts(rows);
  Json outside = Json::array();
  for (const LaunchRow& row : rows) {
    if (!row.prediction) continue;
    for (const ComparisonRow& each : row.prediction->compared)
      if (each.verdict == Verdict::fail)
        outside.push_back({{"kernel", row.launches.kernel},
                           {"sizes", row.prediction->sizes},
                           {"quantity", each.label()},
                           {"predicted", each.predicted},
                           {"counted", each.measured},
                           {"tolerance", each.tolerance.value_or(0)}});
  }
  document["gate"] = {{"file", *gate},
                      {"judged", counts.judged},
                      {"outside", std::move(outside)},
                      {"passed", counts.judged > 0 && counts.failed == 0}};
  return document;
}

// CSV has the numbers of JSON, a column each.
Table number_table(const std::vector<LaunchRow>& rows) {
  Table table;
  for (const auto& column : launch_columns())
    if (column.in_json) table.columns.push_back(column.key);
  for (const LaunchRow& row : rows) {
    auto& cells = table.rows.emplace_back();
    for (const auto& column : launch_columns())
      if (column.in_json) cells.push_back(column.value(row));
  }
  return table;
}

std::string html_page(const ProgramLaunches& program, const std::vector<LaunchRow>& rows,
                      const std::optional<std::string>& gate) {
  TablePage page{.title = "Attention launches: predicted beside counted",
                 .meta = lead_text(program, rows),
                 .heading = "Launches",
                 .columns = {},
                 .cells = {},
                 .notes = notes_of(program)};
  for (const auto& column : launch_columns())
    if (column.in_text) page.columns.push_back({column.title, column.meaning});
  for (const std::vector<Json>& row : text_cells(launch_columns(), rows)) {
    auto& cells = page.cells.emplace_back();
    for (const Json& cell : row) cells.push_back(cell.is_string() ? cell.get<std::string>() : shown_cell(cell));
  }
  if (gate) page.notes.push_back(gate_text(rows, *gate));
  return render_table_page(page, data_directory() / "reports" / "assets");
}

void print_rows(const Arguments& arguments, const ProgramLaunches& program, const std::vector<LaunchRow>& rows) {
  const Style style = style_of(arguments);
  const auto gate = arguments.text("gate");
  if (const auto file = arguments.text("output"); file && format_of_ending(*file) == "html")
    return deliver(arguments, html_page(program, rows, gate));
  if (style.format == OutputFormat::json)
    return deliver(arguments,
                   json_document(program, rows, gate).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (style.format == OutputFormat::csv) return deliver(arguments, render(number_table(rows), style));
  const char* none =
      program.launches == 0 ? "\nthe program launched no kernel\n" : "\nno launch looks like attention\n";
  std::string text = rows.empty() ? lead_text(program, rows) + none
                                  : render(table_of(lead_text(program, rows), launch_columns(), rows), style);
  for (const std::string& note : notes_of(program)) text += note + "\n";
  if (gate) text += gate_text(rows, *gate);
  deliver(arguments, text);
}

ExitStatus run(const Arguments& arguments) {
  const bool runs = !arguments.after_dashes().empty();
  const auto from = arguments.text("from");
  if (runs == from.has_value())
    refuse("run",
           "expected a command after --, as in tilescope run -- python train.py, or --from with a capture, "
           "records, or a file that import reads");
  validate::Experiment gate;
  if (const auto file = arguments.text("gate")) gate = validate::load_experiment(*file);
  const TemporaryDirectory scratch("tilescope-run");
  const fs::path descriptors = arguments.text("descriptors").value_or(scratch.path().string());
  std::error_code error;
  if (fs::create_directories(descriptors, error); error)
    refuse("--descriptors",
           fmt::format("{}: cannot be made: {}; choose a writable place", descriptors.string(), error.message()));
  const std::string place = runs ? arguments.text("capture").value_or("capture") : *from;
  const int status = runs ? captured(arguments, place) : 0;
  const ProgramLaunches program = read_launches(arguments, place, descriptors);
  const std::vector<LaunchRow> rows = launches::launch_rows(program, data_directory(), gate);
  print_rows(arguments, program, rows);
  if (status != 0) {
    print_note(fmt::format("note: the command ended with exit status {}", status));
    return static_cast<ExitStatus>(status);
  }
  const RowCounts counts = launches::gate_counts(rows);
  if (arguments.has("gate") && (counts.judged == 0 || counts.failed > 0)) return ExitStatus::answer_no;
  return predicted_rows(rows) > 0 ? ExitStatus::done : ExitStatus::answer_no;
}

std::vector<OptionSpec> run_options() {
  return std::vector<OptionSpec>{
             {"from", "instead of a command: a capture, records, or a file that import reads", Value::file},
             {"gate", "experiment file with tolerances: exit status 1 when one is exceeded or nothing is judged",
              Value::file},
             {"capture", "directory that receives the capture (default: capture)", Value::output_directory},
             {"no-counters", "time the launches and count nothing", Value::flag},
             {"cold", "read through the L2 before each counted launch", Value::flag},
             durations_option(),
             {"point",
              "sizes of launches that nothing states: point options as in \"name=fwd batch=2 heads_q=16 q_len=4k "
              "mask=causal\"; name=TEXT chooses kernels; may be repeated"},
             {"hardware", "GPU profile id or YAML file (default: the GPU that was captured)", Value::hardware},
             set_option(),
             {"descriptors", "directory that keeps the descriptors of the kernels", Value::output_directory},
             nvdisasm_option(),
             {"kernel", "of a file that import reads: descriptor, or software with a backend as in pytorch:flash",
              Value::kernel},
             {"caches", "of a file that import reads: contents of the GPU's caches before a launch", Value::choice,
              kind_names<validate::Caches>()},
             {"ignore", "metric of ncu to leave out, or the beginning of names with a *; may be repeated"}} +
         output_options();
}

}  // namespace

Command run_command() {
  return {.name = "run",
          .summary = "predicted beside counted for the attention launches of a program",
          .usage = "[--gate FILE] [-o FILE] -- COMMAND... | --from CAPTURE|RECORDS|FILE",
          .examples = {"tilescope run -- python train.py", "tilescope run --from capture --format md -o attention.md",
                       "tilescope run --from trace.json.gz --gate tolerances.yaml"},
          .notes =
              "One row a kernel and set of sizes. Machine code says tile, warps, stages and instructions; the sizes "
              "come from --point, from an NVTX range with the same words, or from the call in a PyTorch trace. A "
              "launch without sizes is listed with what is missing. Counters are read where they are permitted. Exit "
              "status 1 when the gate fails or no launch is predicted; else that of the command. -o FILE.html writes a "
              "page.",
          .options = run_options,
          .run = run,
          .most_positional = 0,
          .runs_program = true};
}

}  // namespace tilescope::cli
