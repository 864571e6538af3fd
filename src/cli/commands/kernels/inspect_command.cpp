// inspect: what the machine code of a file says of its kernels.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/output/code/code_text.h"
#include "kernel/code/code_file.h"
#include "kernel/code/machine_code.h"
#include "kernel/code/sass/nvdisasm.h"
#include "records/capture/capture_lines.h"
#include "simulate/timeline.h"

namespace tilescope::cli {
namespace {

// Reads the machine code of the kernels from `first` on, which are of one cubin.
void add_code(const std::filesystem::path& nvdisasm, const Cubin& cubin, const std::string& file,
              std::vector<InspectedKernel>& kernels, std::size_t first) {
  std::vector<const CubinKernel*> chosen;
  for (std::size_t i = first; i < kernels.size(); ++i) chosen.push_back(&kernels[i].kernel);
  std::vector<CodeSummary> code = machine_code(nvdisasm, cubin, chosen, file);
  for (std::size_t i = first; i < kernels.size(); ++i) kernels[i].code = std::move(code[i - first]);
}

// "0x1050,0x1590": addresses under branches that a pass executes.
std::vector<std::uint64_t> addresses_given(const Arguments& arguments) {
  std::vector<std::uint64_t> addresses;
  for (const std::string& text : split(arguments.text("through").value_or(""), ',')) {
    if (text.empty()) continue;
    const std::size_t start = text.starts_with("0x") ? 2 : 0;
    std::uint64_t address = 0;
    const auto [end, error] = std::from_chars(text.data() + start, text.data() + text.size(), address, 16);
    if (error != std::errc{} || end != text.data() + text.size())
      refuse("--through", fmt::format("expected addresses as in the table of loops, found '{}'", text));
    addresses.push_back(address);
  }
  return addresses;
}

void write_timeline(const std::string& place, const InspectedKernel& kernel) {
  const auto& loops = kernel.simulation->loops;
  const auto most = std::max_element(loops.begin(), loops.end(), [](const auto& a, const auto& b) {
    return a.steady.busy[static_cast<std::size_t>(SmPart::tensor)] * a.steady.clocks <
           b.steady.busy[static_cast<std::size_t>(SmPart::tensor)] * b.steady.clocks;
  });
  if (most == loops.end()) refuse("--timeline", "no loop was simulated");
  write_file(place, timeline_json(readable_name(kernel.kernel.name), *kernel.code, *kernel.simulation, *most));
}

// Addresses that no pass executes would be ignored.
void refuse_unpassed(const std::vector<InspectedKernel*>& simulated, const SimulationChoices& choices) {
  for (const std::uint64_t address : choices.through)
    if (std::none_of(simulated.begin(), simulated.end(), [&](const InspectedKernel* kernel) {
          return passes_through(*kernel->code, *kernel->simulation, address);
        }))
      refuse("--through", fmt::format("{} is no address of an instruction in a simulated loop, or no way through the "
                                      "loop passes all addresses; --instructions with --format json lists addresses",
                                      shown_address(address)));
}

void add_simulation(const Arguments& arguments, std::vector<InspectedKernel>& kernels) {
  constexpr std::int64_t most_resident = 32, most_threads = 1024, most_smem = 1 << 20;
  constexpr std::int64_t most_steps = 1'000'000, most_blocks = 1'000'000'000;
  constexpr int timeline_passes = 3;
  const bool timeline = arguments.has("timeline");
  if (!arguments.has("simulate")) {
    for (const char* option :
         {"timeline", "resident", "block", "dynamic-shared-bytes", "through", "copies-from", "steps", "blocks"})
      if (arguments.has(option)) refuse(std::string("--") + option, "belongs to --simulate");
    return;
  }
  if (!arguments.has("hardware")) refuse("--simulate", "needs the rates of a GPU: name one with --hardware");
  const HardwareProfile hardware = read_hardware(arguments);
  const SimulationChoices choices{
      .threads = arguments.integer("block", 1, most_threads).value_or(0),
      .dynamic_smem = arguments.integer("dynamic-shared-bytes", 0, most_smem).value_or(0),
      .resident = static_cast<int>(arguments.integer("resident", 1, most_resident).value_or(0)),
      .through = addresses_given(arguments),
      .copies_from = arguments.has("copies-from") ? parse_kind<CopySource>(*arguments.text("copies-from")).value()
                                                  : CopySource::hbm,
      .passes = arguments.integer("steps", 1, most_steps).value_or(0),
      .blocks = arguments.integer("blocks", 1, most_blocks).value_or(0),
      .event_passes = timeline ? timeline_passes : 0};
  if (choices.blocks > 0 && choices.passes == 0) refuse("--blocks", "needs the steps of a block: --steps");
  std::vector<InspectedKernel*> simulated;
  std::optional<ImpossibleChoice> impossible;
  for (InspectedKernel& kernel : kernels) {
    if (!kernel.bounds) continue;  // of another GPU, or not read
    if (const auto choice = impossible_choice(kernel.kernel, hardware, choices)) {
      if (!impossible) impossible = choice;
      kernel.simulation = KernelSimulation{
          .hardware = hardware.id, .loops = {}, .refused = "--" + choice->option + " " + choice->reason, .missing = {}};
      continue;
    }
    kernel.simulation = simulate_kernel(kernel.kernel, *kernel.code, hardware, choices);
    simulated.push_back(&kernel);
  }
  if (simulated.empty() && impossible) refuse("--" + impossible->option, impossible->reason);
  refuse_unpassed(simulated, choices);
  if (!timeline) return;
  if (simulated.size() > 1) refuse("--timeline", "shows one kernel: name it with --name");
  write_timeline(*arguments.text("timeline"), *simulated.front());
}

void add_bounds(const Arguments& arguments, std::vector<InspectedKernel>& kernels) {
  if (!arguments.has("hardware")) return;
  const HardwareProfile hardware = read_hardware(arguments);
  std::size_t fitting = 0;
  for (InspectedKernel& kernel : kernels) {
    if (!kernel.code || kernel.compute_capability != hardware.compute_capability) continue;
    kernel.bounds = kernel_bounds(*kernel.code, hardware);
    ++fitting;
  }
  if (fitting > 0) return;
  if (!kernels.front().code) refuse("--hardware", nvdisasm_advice());
  refuse("--hardware",
         fmt::format("{} has compute capability {}, but '{}' is code for {}", hardware.id, hardware.compute_capability,
                     kernels.front().kernel.name, kernels.front().compute_capability));
}

// A file with kernels. With `threads`, only these kernels: threads of the largest block that a program launched.
struct CodeSource {
  std::filesystem::path file;
  std::optional<std::map<std::string, std::int64_t>> threads{};
};

// FILE itself, or the modules of a capture whose kernels were launched.
std::vector<CodeSource> sources_of(const std::filesystem::path& place) {
  const bool directory = std::filesystem::is_directory(place);
  if (!directory && place.extension() != std::filesystem::path(capture::capture_file_name).extension())
    return {{.file = place}};
  const capture::Capture captured = capture::read_capture(place);
  std::map<std::string, std::map<std::string, std::int64_t>> by_module;
  for (const capture::CapturedLaunch& launch : captured.launches) {
    const capture::CapturedKernel& kernel = captured.kernels.at(static_cast<std::size_t>(launch.kernel));
    if (kernel.module.empty()) continue;
    std::int64_t& threads = by_module[kernel.module][kernel.symbol];
    threads = std::max(threads, launch.block[0] * launch.block[1] * launch.block[2]);
  }
  if (by_module.empty())
    throw InputError(Diagnostic{.file = place.string(),
                                .message = captured.launches.empty()
                                               ? "holds no launch: the program launched no kernel"
                                               : "holds no launch of a kernel whose module is known"});
  const std::filesystem::path cubins = (directory ? place : place.parent_path()) / "cubins";
  std::vector<CodeSource> sources;
  for (auto& [hash, threads] : by_module) sources.push_back({cubins / (hash + ".cubin"), std::move(threads)});
  return sources;
}

// A cubin, or a module of a capture, whose machine code could not be read.
struct RefusedCode {
  std::string compute_capability;  // empty: of a module
  std::vector<Diagnostic> findings;
};

// The cubins of a file. One module of a capture may be missing or damaged; the others are read.
void for_each_cubin_of(const CodeSource& source, std::vector<RefusedCode>& refused,
                       const std::function<void(Cubin&&)>& use) {
  if (!source.threads) return for_each_cubin(source.file, use);
  std::error_code ignored;
  try {
    if (std::filesystem::exists(source.file, ignored)) return for_each_cubin(source.file, use);
    refused.push_back({"", {{.file = source.file.string(), .message = capture::module_missing}}});
  } catch (const InputError& error) {
    refused.push_back({"", error.diagnostics()});
  }
}

void print_notes(bool has_nvdisasm, const std::vector<RefusedCode>& refused) {
  if (!has_nvdisasm) print_note(std::string("note: ") + nvdisasm_advice());
  for (const RefusedCode& each : refused)
    print_note(fmt::format("note: machine code{} was not read: {}",
                           each.compute_capability.empty() ? "" : " for compute capability " + each.compute_capability,
                           to_string(each.findings.front())));
}

std::vector<InspectedKernel> kernels_of(const Arguments& arguments, const std::string& place) {
  const std::string wanted = arguments.text("name").value_or("");
  const auto nvdisasm = find_nvdisasm(arguments.text("nvdisasm"));
  std::vector<InspectedKernel> kernels;
  std::vector<RefusedCode> refused;
  for (const CodeSource& source : sources_of(place))
    for_each_cubin_of(source, refused, [&](const Cubin& cubin) {
      const std::size_t first = kernels.size();
      for (const CubinKernel& kernel : cubin.kernels) {
        if (!is_named(kernel.name, wanted) || (source.threads && source.threads->count(kernel.name) == 0)) continue;
        kernels.push_back({.compute_capability = cubin.compute_capability,
                           .kernel = kernel,
                           .code = {},
                           .bounds = {},
                           .simulation = {},
                           .show_instructions = arguments.has("instructions")});
        if (source.threads) kernels.back().kernel.most_threads = source.threads->at(kernel.name);
      }
      if (!nvdisasm || kernels.size() == first) return;
      try {
        add_code(*nvdisasm, cubin, source.file.string(), kernels, first);
      } catch (const InputError& error) {  // a library may hold code that this nvdisasm does not know
        refused.push_back({cubin.compute_capability, error.diagnostics()});
      }
    });
  if (kernels.empty() && !refused.empty()) throw InputError(refused.front().findings);
  if (kernels.empty())
    refuse("--name", fmt::format("no kernel of {} has '{}' in its name; leave it out to see all", place, wanted));
  const bool none_read =
      std::none_of(kernels.begin(), kernels.end(), [](const auto& each) { return each.code.has_value(); });
  if (!refused.empty() && nvdisasm && none_read) throw InputError(refused.front().findings);
  if (!arguments.quiet()) print_notes(nvdisasm.has_value(), refused);
  return kernels;
}

ExitStatus inspect(const Arguments& arguments) {
  if (arguments.positional().empty())
    refuse("inspect", "is incomplete: name a cubin, object, program, shared library or capture");
  const std::string& file = arguments.positional().front();
  std::vector<InspectedKernel> kernels = kernels_of(arguments, file);
  add_bounds(arguments, kernels);
  add_simulation(arguments, kernels);
  if (arguments.format() == OutputFormat::json) {
    const Json document{
        {"schema", "tilescope/code/1"}, {"file", file}, {"kernels", objects_of(code_columns(), kernels)}};
    deliver(arguments, document.dump(2) + "\n");
    return ExitStatus::done;
  }
  deliver(arguments, code_text(kernels, style_of(arguments)));
  return ExitStatus::done;
}

std::vector<OptionSpec> inspect_options() {
  return std::vector<OptionSpec>{
             {"name", "only kernels whose name contains this text, as the linker or as C++ writes it"},
             nvdisasm_option(),
             {"hardware", "GPU profile id or YAML file: adds lower bounds of the innermost loops on that GPU",
              Value::hardware},
             set_option(),
             {"instructions",
              "in JSON: each instruction with its registers and scoreboards; with --simulate: clocks of each",
              Value::flag},
             {"simulate", "with --hardware: execute the innermost loops on a simulated SM", Value::flag},
             {"resident", "blocks on the simulated SM (default: as many as fit)", Value::count},
             {"block", "threads of a block, where the code does not state them", Value::count},
             {"dynamic-shared-bytes", "dynamic shared memory of a block", Value::count},
             {"copies-from",
              "where copies into shared memory find their data (default: hbm)",
              Value::choice,
              {"l2", "hbm"}},
             {"steps", "passes of the loop in a block: adds clocks of a block from start to end", Value::count},
             {"blocks", "with --steps: blocks of the launch; adds the launch's clocks", Value::count},
             {"through", "addresses under branches that a simulated pass executes: 0x1050,0x1590"},
             {"timeline", "write the simulated SM as a trace for the Perfetto UI", Value::output_file}} +
         output_options();
}

}  // namespace

Command inspect_command() {
  return {
      .name = "inspect",
      .summary = "show what the kernels in a file do: resources, roles of warps, loops, instructions by kind",
      .usage = "FILE [--name TEXT] [--hardware ID [--simulate]] [--nvdisasm PATH] [--instructions]",
      .examples = {"tilescope inspect my_kernel.cubin", "tilescope inspect libmine.so --name attention --format json",
                   "tilescope inspect my_kernel.cubin --hardware h200_sxm",
                   "tilescope inspect my_kernel.cubin --hardware h200_sxm --simulate --timeline sm.json"},
      .notes =
          "FILE is a cubin, a fat binary, an object, program or shared library with CUDA code, or what `capture` "
          "wrote: "
          "then the kernels that were launched. No GPU is needed. "
          "Machine code is read with nvdisasm of the CUDA toolkit or of Triton; without it only the resources are "
          "shown.",
      .options = inspect_options,
      .run = inspect,
      .most_positional = 1};
}

}  // namespace tilescope::cli
