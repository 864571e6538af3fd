// capture: runs a program and records its kernel launches; lists what a capture holds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/output/launches/capture_columns.h"
#include "kernel/code/code_file.h"
#include "kernel/code/sass/listing.h"
#include "kernel/code/sass/nvdisasm.h"
#include "kernel/code/summary/product_loop.h"
#include "records/capture/capture_lines.h"
#include "validate/capture/run_capture.h"

namespace tilescope::cli {
namespace {

constexpr double least_share = 0.005;  // kernels with less of the time are not disassembled

// Signs of attention in the machine code of a capture's modules, each of which is disassembled once.
class CodeSigns {
 public:
  CodeSigns(std::filesystem::path cubins, std::filesystem::path nvdisasm)
      : cubins_(std::move(cubins)), nvdisasm_(std::move(nvdisasm)) {}

  std::string of(const capture::KernelShare& share) {
    if (share.module.empty() || share.share < least_share) return "";
    const std::vector<CodeSection>& sections = sections_of(share.module);
    const auto section = std::find_if(sections.begin(), sections.end(),
                                      [&](const CodeSection& each) { return each.name == share.symbol; });
    if (section == sections.end()) return "";
    const auto threads = share.block[0] * share.block[1] * share.block[2];
    return product_loop(summarise(*section, threads)) ? "loop" : "";
  }

 private:
  const std::vector<CodeSection>& sections_of(const std::string& module) {
    const auto [known, added] = sections_.emplace(module, std::vector<CodeSection>{});
    const std::filesystem::path file = cubins_ / (module + ".cubin");
    if (!added || !std::filesystem::exists(file)) return known->second;
    for (const Cubin& cubin : read_code_file(file))
      for (CodeSection& section :
           read_listing(disassemble(nvdisasm_, cubin.image, file.string()), "listing of " + file.string()))
        known->second.push_back(std::move(section));
    return known->second;
  }

  std::filesystem::path cubins_, nvdisasm_;
  std::map<std::string, std::vector<CodeSection>> sections_;
};

std::vector<ListedKernel> listed_kernels(const Arguments& arguments, const std::filesystem::path& place) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(place, ignored);
  const bool interrupted = folder && !std::filesystem::exists(place / capture::capture_file_name, ignored) &&
                           std::filesystem::is_directory(place / "traces", ignored);
  std::vector<capture::KernelShare> shares =
      capture::kernel_shares(interrupted ? capture::join_traces(place) : capture::read_capture(place));
  std::optional<CodeSigns> signs;
  if (arguments.has("code")) {
    const auto nvdisasm = find_nvdisasm(std::nullopt);
    if (!nvdisasm) refuse("--code", nvdisasm_advice());
    signs.emplace((folder ? place : place.parent_path()) / "cubins", *nvdisasm);
  }
  std::vector<ListedKernel> kernels;
  for (capture::KernelShare& share : shares) {
    std::string sign = signs ? signs->of(share) : "";
    if (sign.empty() && share.named_like_attention) sign = "name";
    kernels.push_back({std::move(share), std::move(sign)});
  }
  return kernels;
}

ExitStatus list_capture(const Arguments& arguments) {
  if (arguments.positional().size() != 2) refuse("capture list", "expected one capture: a file or a directory");
  for (const char* name : {"counters", "cold"})
    if (arguments.has(name)) refuse(fmt::format("--{}", name), "is an option of capture -- COMMAND; leave it out");
  const std::vector<ListedKernel> kernels = listed_kernels(arguments, arguments.positional()[1]);
  const Style style = style_of(arguments);
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

ExitStatus run_command(const Arguments& arguments) {
  const std::filesystem::path library = capture::capture_library();
  capture::CaptureRun run;
  run.command = arguments.after_dashes();
  run.directory = arguments.text("output").value_or("capture");
  run.cold = arguments.has("cold");
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
    for (const char* name : {"format", "code"})
      if (arguments.has(name)) refuse(fmt::format("--{}", name), "is an option of capture list; leave it out");
    return run_command(arguments);
  }
  if (words.empty() || words[0] != "list")
    refuse("capture", "is incomplete: name the command to run after --, as in tilescope capture -- python train.py");
  return list_capture(arguments);
}

std::vector<OptionSpec> capture_options() {
  std::vector<OptionSpec> options{
      {"counters", "count each kind of launch, one group of metrics a launch", Value::flag},
      {"cold", "read through the L2 before each counted launch; implies --counters", Value::flag},
      {"code", "of list: look for attention in the machine code, with nvdisasm", Value::flag}};
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
  return {.name = "capture",
          .summary = "run a program and record its kernel launches, machine code and counters",
          .usage = "[-o DIRECTORY] [--counters] [--cold] -- COMMAND... | list FILE|DIRECTORY",
          .examples = {"tilescope capture -o my_run -- python train.py", "tilescope capture list my_run",
                       "tilescope capture list my_run --code --format json"},
          .notes =
              "The program runs unchanged; its processes load a library of tilescope through CUDA. Its exit status is "
              "passed on. DIRECTORY receives capture.jsonl and cubins/. Recording needs a GPU and a tilescope built "
              "with CUDA, list needs neither.",
          .options = capture_options,
          .run = capture_or_list,
          .most_positional = 2,
          .first_words = {"list"},
          .runs_program = true};
}

}  // namespace tilescope::cli
