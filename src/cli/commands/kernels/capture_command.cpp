// capture: runs a program and records its kernel launches; lists what a capture holds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/output/launches/capture_columns.h"
#include "kernel/code/sass/nvdisasm.h"
#include "launches/program.h"
#include "records/capture/capture_lines.h"
#include "validate/capture/run_capture.h"

namespace tilescope::cli {
namespace {

// The facts of the kernels that take a part of the time or are named like attention: from their code, or as an earlier
// call left them beside the capture.
launches::KernelFacts facts_of_capture(const Arguments& arguments, const std::filesystem::path& place,
                                       const capture::Capture& found, const std::vector<capture::KernelShare>& shares) {
  launches::KernelFacts stored(place, std::nullopt);
  if (!arguments.has("code")) return stored;
  const auto nvdisasm = find_nvdisasm(arguments.text("nvdisasm"));
  if (!nvdisasm && stored.empty()) refuse("--code", nvdisasm_advice());
  launches::KernelFacts facts(place, nvdisasm);
  std::vector<const capture::CapturedKernel*> kernels;
  for (const capture::CapturedKernel& kernel : found.kernels)
    if (std::any_of(shares.begin(), shares.end(), [&](const capture::KernelShare& share) {
          return share.symbol == kernel.symbol && share.module == kernel.module && launches::worth_reading(share);
        }))
      kernels.push_back(&kernel);
  facts.read(kernels);
  return facts;
}

std::vector<ListedKernel> listed_kernels(const Arguments& arguments, const std::filesystem::path& place) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(place, ignored);
  const bool interrupted = folder && !std::filesystem::exists(place / capture::capture_file_name, ignored) &&
                           std::filesystem::is_directory(place / "traces", ignored);
  const capture::Capture found = interrupted ? capture::join_traces(place) : capture::read_capture(place);
  std::vector<capture::KernelShare> shares = capture::kernel_shares(found);
  const launches::KernelFacts facts = facts_of_capture(arguments, place, found, shares);
  std::vector<ListedKernel> kernels;
  for (capture::KernelShare& share : shares) {
    std::string sign = facts.of(share.module, share.symbol).facts ? "loop" : "";
    if (sign.empty() && share.named_like_attention) sign = "name";
    kernels.push_back({std::move(share), std::move(sign)});
  }
  return kernels;
}

ExitStatus list_capture(const Arguments& arguments) {
  if (arguments.positional().size() != 2) refuse("capture list", "expected one capture: a file or a directory");
  for (const char* name : {"counters", "cold", "durations", "hooks"})
    if (arguments.has(name)) refuse(fmt::format("--{}", name), "is an option of capture -- COMMAND; leave it out");
  const std::vector<ListedKernel> kernels = listed_kernels(arguments, arguments.positional()[1]);
  const Style style = style_of(arguments);
  if (kernels.empty() && !arguments.quiet()) print_note("note: the program launched no kernel");
  deliver(arguments, style.format == OutputFormat::json ? objects_of(capture_columns(), kernels).dump(1) + "\n"
                                                        : render(table_of("", capture_columns(), kernels), style));
  return ExitStatus::done;
}

void report(const Arguments& arguments, const capture::Capture& found, const std::string& directory) {
  for (const capture::CapturedProcess& process : found.processes)
    for (const std::string& note : process.notes) print_note(fmt::format("note: process {}: {}", process.pid, note));
  if (arguments.quiet()) return;
  if (found.processes.empty()) {
    print_note("note: no process of the command used CUDA, so nothing was captured");
    return;
  }
  std::int64_t launches = 0, timed = 0, counted = 0;
  for (const capture::CapturedLaunch& launch : found.launches) {
    launches += launch.count;
    timed += static_cast<std::int64_t>(launch.durations_ns.size());
    counted += static_cast<std::int64_t>(launch.counted.size());
  }
  print_note(
      fmt::format("captured {} launches of {} kernels in {} processes: {} have a time, {} have counters; see "
                  "tilescope capture list {}",
                  launches, found.kernels.size(), found.processes.size(), timed, counted, directory));
}

ExitStatus capture_program(const Arguments& arguments) {
  const std::filesystem::path library = capture::capture_library();
  capture::CaptureRun run;
  run.command = arguments.after_dashes();
  run.directory = arguments.text("output").value_or("capture");
  run.cold = arguments.has("cold");
  run.hooks = arguments.has("hooks");
  run.durations = arguments.text("durations").value_or(run.durations);
  const capture::CapturePreflight preflight =
      capture::capture_preflight("/", std::getenv("CUDA_INJECTION64_PATH"), arguments.has("counters") || run.cold);
  run.counters = preflight.counters;
  for (const std::string& note : preflight.notes) print_note("note: " + note);
  const capture::CaptureOutcome outcome = capture::run_capture(run, library);
  report(arguments, outcome.capture, run.directory.string());
  return static_cast<ExitStatus>(outcome.status);
}

ExitStatus capture_or_list(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.positional();
  if (!arguments.after_dashes().empty()) {
    if (!words.empty()) refuse(words[0], "unexpected word before --; the command stands after it");
    for (const char* name : {"format", "code", "nvdisasm"})
      if (arguments.has(name)) refuse(fmt::format("--{}", name), "is an option of capture list; leave it out");
    return capture_program(arguments);
  }
  if (words.empty() || words[0] != "list")
    refuse("capture", "is incomplete: name the command to run after --, as in tilescope capture -- python train.py");
  return list_capture(arguments);
}

std::vector<OptionSpec> capture_options() {
  std::vector<OptionSpec> options{
      {"counters", "count each kind of launch, one group of metrics a launch", Value::flag},
      {"cold", "read through the L2 before each counted launch; implies --counters", Value::flag},
      durations_option(),
      {"hooks", "record launches by a preloaded library, and by CUPTI only those that have a time", Value::flag},
      {"code", "of list: look for attention in the machine code, with nvdisasm", Value::flag},
      nvdisasm_option()};
  for (OptionSpec option : output_options()) {
    if (option.name == "output") {
      option.help = "directory of the capture (default: capture); of list: write to this file (alias -o)";
      option.value = Value::text;
    }
    options.push_back(std::move(option));
  }
  return options;
}

}  // namespace

Command capture_command() {
  return {
      .name = "capture",
      .summary = "run a program and record its kernel launches, machine code and counters",
      .usage =
          "[-o DIRECTORY] [--counters] [--cold] [--durations all|sampled|none] [--hooks] -- COMMAND... | list "
          "FILE|DIRECTORY",
      .examples = {"tilescope capture -o my_run -- python train.py", "tilescope capture list my_run",
                   "tilescope capture list my_run --code --format json"},
      .notes =
          "The program runs unchanged; its processes load a library of tilescope through CUDA. Its exit status is "
          "passed on. DIRECTORY receives capture.jsonl and cubins/. All launches are recorded; by default the first "
          "20 of each kind have a time, and those of 20 ms in each 500 ms (--durations sampled). Recording needs a GPU "
          "and a tilescope built "
          "with CUDA, list needs neither.",
      .options = capture_options,
      .run = capture_or_list,
      .most_positional = 2,
      .first_words = {"list"},
      .runs_program = true};
}

}  // namespace tilescope::cli
