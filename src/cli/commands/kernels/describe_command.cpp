// describe: a kernel descriptor from machine code and a launch.
#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/data_directory.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/kernels/describe_check.h"
#include "cli/output/code/code_text.h"
#include "cli/output/output.h"
#include "hardware/profile.h"
#include "kernel/code/code_file.h"
#include "kernel/code/machine_code.h"
#include "kernel/code/sass/nvdisasm.h"
#include "kernel/describe/description.h"
#include "launches/captured_sizes.h"
#include "launches/kernel_facts.h"
#include "launches/stated_sizes.h"
#include "records/capture/capture_lines.h"
#include "request/read_point.h"

namespace tilescope::cli {
namespace {

constexpr std::int64_t most_extent = std::int64_t{1} << 31;

struct FoundKernel {
  AttentionFacts facts;
  CubinKernel kernel{};
  std::optional<CodeSummary> code{};  // none: the facts were read
  std::optional<LaunchEvidence> evidence{};
};

// Facts as --format json has printed them, with what their launch showed.
FoundKernel read_found(const std::string& file) {
  const std::string text = read_file(file);
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("evidence")) return {.facts = read_facts(text, file)};
  const std::string evidence = json.at("evidence").dump();
  json.erase("evidence");
  return {.facts = read_facts(json.dump(), file), .evidence = read_evidence(evidence, file)};
}

std::string printed_facts(const AttentionFacts& facts, const std::optional<LaunchEvidence>& evidence) {
  if (!evidence) return facts_json(facts) + "\n";
  Json json = Json::parse(facts_json(facts));
  json["evidence"] = Json::parse(evidence_json(*evidence));
  return json.dump() + "\n";
}

// The kernels of a file whose names fit and that compute attention. A file of facts needs no disassembler.
std::vector<FoundKernel> kernels_of_file(const Arguments& arguments, const std::string& file,
                                         const std::string& wanted) {
  if (std::filesystem::path(file).extension() == ".json") return {read_found(file)};
  const auto nvdisasm = find_nvdisasm(arguments.text("nvdisasm"));
  if (!nvdisasm) throw InputError(Diagnostic{.file = file, .message = nvdisasm_advice()});
  std::vector<FoundKernel> attention;
  std::string other;  // why the last kernel is none
  for_each_cubin(file, [&](const Cubin& cubin) {
    std::vector<const CubinKernel*> kernels;
    for (const CubinKernel& kernel : cubin.kernels)
      if (is_named(kernel.name, wanted)) kernels.push_back(&kernel);
    std::vector<CodeSummary> code = machine_code(*nvdisasm, cubin, kernels, file);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      FoundFacts found = attention_facts(*kernels[i], cubin.compute_capability, code[i]);
      if (found.facts) attention.push_back({std::move(*found.facts), *kernels[i], std::move(code[i])});
      else other = fmt::format("{} lacks {}", readable_name(kernels[i]->name), found.missing);
    }
  });
  if (attention.empty())
    throw InputError(Diagnostic{.file = file,
                                .message = other.empty()
                                               ? fmt::format("no kernel has '{}' in its name; tilescope inspect "
                                                             "FILE lists its kernels",
                                                             wanted)
                                               : "no kernel of attention was found: " + other});
  return attention;
}

// "8,16,1"
std::array<std::int64_t, 3> three_of(const Arguments& arguments, const char* option) {
  std::array<std::int64_t, 3> sizes{1, 1, 1};
  const std::vector<std::string> parts = split(*arguments.text(option), ',');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto size = parse_count(parts[i]);
    if (parts.size() > sizes.size() || !size || *size < 1 || *size > most_extent)
      refuse(std::string("--") + option, fmt::format("expected X, X,Y or X,Y,Z, found '{}'", *arguments.text(option)));
    sizes[i] = *size;
  }
  return sizes;
}

KernelLaunch launch_given(const Arguments& arguments) {
  KernelLaunch launch;
  if (arguments.has("grid")) launch.grid = three_of(arguments, "grid");
  if (arguments.has("block")) {
    const auto block = three_of(arguments, "block");
    launch.threads = checked_mul(checked_mul(block[0], block[1]), block[2]);
  }
  launch.dynamic_smem = arguments.integer("dynamic-shared-bytes", 0, most_extent).value_or(0);
  return launch;
}

// The launch of a capture that took the most time, of kernels whose names fit.
const capture::CapturedLaunch& longest_launch(const capture::Capture& found, const std::string& wanted,
                                              const std::string& place) {
  const capture::CapturedLaunch* longest = nullptr;
  const auto time = [](const capture::CapturedLaunch& launch) {
    std::int64_t sum = 0;
    for (const std::int64_t duration : launch.durations_ns) sum += duration;
    return sum;
  };
  for (const capture::CapturedLaunch& launch : found.launches) {
    const capture::CapturedKernel& kernel = found.kernels[static_cast<std::size_t>(launch.kernel)];
    if (!kernel.module.empty() && is_named(kernel.symbol, wanted) && (!longest || time(launch) > time(*longest)))
      longest = &launch;
  }
  if (longest) return *longest;
  if (found.launches.empty())
    throw InputError(Diagnostic{.file = place, .message = "holds no launch: the program launched no kernel"});
  throw InputError(
      Diagnostic{.file = place,
                 .message = fmt::format("holds no launch of a kernel{} whose code was captured; tilescope "
                                        "capture list shows the names",
                                        wanted.empty() ? "" : fmt::format(" with '{}' in its name", wanted))});
}

std::string only_letters(const std::string& name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}

struct Source {
  std::string file, wanted;
  KernelLaunch launch;
  std::optional<capture::Capture> capture{};
  const capture::CapturedLaunch* captured = nullptr;  // of the capture
  std::optional<AttentionFacts> stored{};             // beside the capture, whose code is not there
  std::optional<launches::ShownLaunch> shown{};       // by the launch, as it is stored there
  std::size_t place() const { return static_cast<std::size_t>(captured - capture->launches.data()); }
};

// A file with code and a launch as given, or a capture.
Source source_of(const Arguments& arguments) {
  const std::string place = arguments.positional().front(), wanted = arguments.text("name").value_or("");
  const std::filesystem::path path = place;
  std::error_code ignored;
  const bool captured = std::filesystem::is_directory(path, ignored) || path.extension() == ".jsonl";
  if (!captured) return {.file = place, .wanted = wanted, .launch = launch_given(arguments)};
  for (const char* option : {"grid", "block", "dynamic-shared-bytes"})
    if (arguments.has(option)) refuse(std::string("--") + option, "is in the capture; leave it out");
  Source source;
  source.capture = capture::read_capture(path);
  source.captured = &longest_launch(*source.capture, wanted, place);
  const capture::CapturedKernel& kernel = source.capture->kernels[static_cast<std::size_t>(source.captured->kernel)];
  const std::filesystem::path folder = std::filesystem::is_directory(path, ignored) ? path : path.parent_path();
  source.file = (folder / "cubins" / (kernel.module + ".cubin")).string(), source.wanted = kernel.symbol;
  if (!std::filesystem::exists(source.file, ignored)) {
    const launches::KernelFacts facts(path, std::nullopt);
    source.stored = facts.of(kernel).facts;
    if (const launches::ShownLaunch* shown = facts.shown(source.place())) source.shown = *shown;
  }
  if (!std::filesystem::exists(source.file, ignored) && !source.stored)
    throw InputError(Diagnostic{.file = source.file, .message = capture::module_missing});
  source.launch = launches::launch_of(*source.captured);
  return source;
}

// The sizes and the mask of the launch. The head dimensions are those of the code, if it states them, unless they are
// given.
DescribeInput with_sizes(DescribeInput input, const Arguments& arguments) {
  Options options = arguments.without("schedule");
  const auto add = [&](const char* name, std::int64_t size) {
    if (!options.has(name)) options = options.with(name, fmt::format("{}", size));
  };
  const bool code_states = input.facts.depth_of_pass == 0;
  input.head_dims_stated = code_states || options.has("head-dim");
  add("head-dim", input.facts.head_dim);
  if (code_states) add("v-head-dim", input.facts.v_head_dim);
  const Point point = read_point(options, read_plan(options, std::nullopt, std::string("flash2")));
  input.workload = point.workload;
  input.mask = point.mask.row().name;
  return input;
}

// As an NVTX range around the launch states them.
void add_stated_sizes(const Source& source, DescribeInput& input) {
  const launches::StatedSizes sizes =
      launches::stated_sizes(input.facts, input.facts.kernel, source.captured->ranges, {});
  if (sizes.workload) input.workload = sizes.workload, input.mask = sizes.mask.substr(0, sizes.mask.find(':'));
  else if (source.stored)
    input.sizes.unknown.emplace_back(
        "sizes: the launch's code is not there to be carried out, and no NVTX range "
        "states them: give --batch, --heads, --q-len");
  else input.sizes.unknown.emplace_back("sizes: the capture has no parameters of this launch");
}

// The largest shared memory of a block on GPUs of this compute capability; 0: no profile has it.
double most_shared_bytes(const std::string& compute_capability) {
  double most = 0;
  for (const HardwareProfile& gpu : list_profiles(data_directory() / "hardware")) {
    const MemoryLevel* const smem = gpu.level(LevelId::smem);
    if (gpu.compute_capability == compute_capability && smem && smem->capacity_per_block_bytes)
      most = std::max(most, smem->capacity_per_block_bytes->value);
  }
  return most;
}

// Sizes and a launch that this code cannot have.
void refuse_contradictions(const Arguments& arguments, const AttentionFacts& facts, const KernelLaunch& launch) {
  for (const char* size : {"batch", "heads-q", "heads-kv", "kv-len", "head-dim", "v-head-dim"})
    if (arguments.has(size) && !arguments.has("q-len"))
      refuse(std::string("--") + size, "needs --q-len: the sizes of a launch are given together");
  const auto check_depth = [&](const char* option, std::int64_t depth) {
    const std::int64_t given = arguments.integer(option, 1, most_extent).value_or(0);
    if (facts.depth_of_pass == 0 && given > depth)
      refuse(std::string("--") + option,
             fmt::format("is {}, but the code's sums are {} deep: its launches have at most that", given, depth));
  };
  check_depth("head-dim", facts.head_dim), check_depth("v-head-dim", facts.v_head_dim);
  if (launch.dynamic_smem == 0) return;
  const std::int64_t shared = facts.static_smem + launch.dynamic_smem;
  const double most = most_shared_bytes(facts.compute_capability);
  if (most > 0 && static_cast<double>(shared) > most)
    refuse("--dynamic-shared-bytes",
           fmt::format("and {} static bytes are {}; a block has at most {:.0f} bytes of shared memory on compute "
                       "capability {}",
                       facts.static_smem, shared, most, facts.compute_capability));
}

ExitStatus describe(const Arguments& arguments) {
  if (arguments.positional().empty())
    refuse("describe", "is incomplete: name a capture, a cubin, an object, a program or a shared library");
  const Source source = source_of(arguments);
  std::vector<FoundKernel> found{{.facts = source.stored.value_or(AttentionFacts{})}};
  if (!source.stored) found = kernels_of_file(arguments, source.file, source.wanted);
  if (found.size() > 1) {
    std::string names;
    for (const FoundKernel& each : found) names += "\n  " + readable_name(each.facts.kernel);
    refuse("--name", fmt::format("expected the name of one kernel, found {} that fit:{}", found.size(), names));
  }
  AttentionFacts facts = found.front().facts;
  std::optional<launches::ShownLaunch> shown = source.shown;
  const bool carried_out = source.captured && found.front().code && !source.captured->parameters.empty();
  if (carried_out)
    shown = launches::shown_launch(*source.capture, source.place(), {found.front().kernel, *found.front().code, facts},
                                   std::nullopt);
  if (shown) facts = launches::launched_facts(facts, *shown);
  if (source.captured == nullptr) refuse_contradictions(arguments, facts, source.launch);
  const bool dims_of_launch = facts.depth_of_pass != found.front().facts.depth_of_pass;
  DescribeInput input{.name = arguments.text("as").value_or(only_letters(capture::short_kernel_name(facts.kernel))),
                      .facts = facts,
                      .launch = source.launch,
                      .head_dims_from = dims_of_launch ? ValueSource::launch : ValueSource::code};
  std::optional<LaunchEvidence>& evidence = found.front().evidence;
  if (carried_out)
    evidence = launches::captured_evidence(*source.capture, *source.captured,
                                           launches::traced_launch(*source.captured, found.front().kernel),
                                           *found.front().code);
  if (arguments.has("q-len")) {
    input = with_sizes(std::move(input), arguments);
    if (evidence) input.sizes = launches::sizes_of(*evidence, facts, source.launch, input.workload);
    else if (shown) input.sizes = shown->sizes;
    input.sizes.unknown.clear();  // they are given
  } else if (evidence) {
    add_launch_sizes(launches::sizes_of(*evidence, facts, source.launch), !evidence->maps.empty(), input);
  } else if (source.captured != nullptr) {
    if (shown) add_launch_sizes(shown->sizes, shown->tensor_maps, input);
    if (!input.workload) add_stated_sizes(source, input);
  }
  if (shown) input.sizes.own_last_tile = shown->sizes.own_last_tile, input.launch.stages = shown->stages;
  input.schedule = arguments.text("schedule").value_or("");
  if (!input.schedule.empty() && input.schedule != "flash2" && input.schedule != "split-kv")
    refuse("--schedule", fmt::format("expected flash2 or split-kv, found '{}'", input.schedule));
  const Description description = describe_kernel(input);
  if (arguments.has("check")) return check_against_capture(arguments, input, description);
  if (arguments.format() == OutputFormat::json) deliver(arguments, printed_facts(found.front().facts, evidence));
  else deliver(arguments, description.yaml());
  for (const MissingValue& missing : description.missing)
    print_note(fmt::format("missing: {}: {}", missing.key, missing.reason));
  return description.missing.empty() ? ExitStatus::done : ExitStatus::answer_no;
}

std::vector<OptionSpec> describe_options() {
  std::vector<OptionSpec> options{
      {"name", "the kernel whose name contains this text, as the linker or as C++ writes it"},
      {"as", "name of the descriptor (default: the kernel's short name)"},
      nvdisasm_option(),
      {"check", "set the description's counts beside the counters of this capture; exit status 1 when one does not fit",
       Value::file},
      {"schedule", "flash2 or split-kv, where a launch with one part of the keys fits both"},
      {"grid", "blocks of the launch: X, X,Y or X,Y,Z"},
      {"block", "threads of a block: X, X,Y or X,Y,Z"},
      {"dynamic-shared-bytes", "dynamic shared memory of a block", Value::count}};
  for (const OptionSpec& option : point_options())
    for (const char* name : {"batch", "heads-q", "heads-kv", "q-len", "kv-len", "head-dim", "v-head-dim", "mask"})
      if (option.name == name) options.push_back(option);
  return options + output_options();
}

}  // namespace

Command describe_command() {
  return {.name = "describe",
          .summary = "write a kernel descriptor from machine code and a launch",
          .usage = "CAPTURE|FILE [--name TEXT] [--grid X,Y --block N --dynamic-shared-bytes N] [--q-len N ...]",
          .examples = {"tilescope describe capture --name attn_fwd --batch 2 --heads 16 --q-len 4k -o mine.yaml",
                       "tilescope describe fwd.cubin --grid 32,16 --block 128 --dynamic-shared-bytes 64k --heads 16 "
                       "--q-len 4k --mask causal -o mine.yaml"},
          .notes =
              "FILE has machine code, or the facts that --format json printed of it (.json). The kernel must compute "
              "forward attention by one loop over keys, or gradients, with matrix instructions. Comments say where "
              "each value comes "
              "from. What does not follow from code and launch is listed as missing (exit status 1), never guessed.",
          .options = describe_options,
          .run = describe,
          .most_positional = 1};
}

}  // namespace tilescope::cli
