#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "boundaries/levels.h"
#include "cli/cli.h"
#include "cli/input/options.h"
#include "cli/output/help.h"
#include "cli/output/sections_text.h"
#include "derive/present/present.h"
#include "draw/derivation_page.h"
#include "draw/diagram_svg.h"
#include "lower/result.h"
#include "predict/explain/pseudocode.h"
#include "predict/prediction.h"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;

std::vector<OptionSpec> derive_options() {
  static const std::vector<std::string> wanted{"size",     "batch",      "heads-q", "heads-kv", "q-len",    "kv-len",
                                               "head-dim", "v-head-dim", "mask",    "dtype",    "workload", "hardware"};
  std::vector<OptionSpec> specs{
      {"schedule",
       "list this schedule's exact counts, and draw it (default for drawing: the first ranked one that has a name)"},
      {"memory", "on-chip memory: values, or bytes with --dtype; default 116736 values (228 KiB of fp16)"},
      {"top", "how many schedules to rank (default 10)"},
      {"lowering", "a file of models/lowerings: its kernel configuration instead of a diagram's derivation"}};
  for (const OptionSpec& spec : point_options())
    if (contains(wanted, spec.name)) specs.push_back(spec);
  for (OptionSpec& spec : specs)
    if (spec.name == "hardware") spec.help = "also derive at every memory boundary of this GPU (fp16)";
  for (OptionSpec spec : output_options()) {
    if (spec.name == "format") spec.help = "text, json or html";
    specs.push_back(spec);
  }
  return specs;
}

void apply_sizes(Diagram& diagram, const Arguments& arguments) {
  for (const std::string& given : arguments.all("size"))
    for (const std::string& part : split(given, ',')) {
      const std::size_t equals = part.find('=');
      const auto value = equals == std::string::npos ? std::nullopt : parse_count(part.substr(equals + 1));
      if (!value || *value < 1)
        throw InputError(
            Diagnostic{.path = "--size", .message = fmt::format("expected NAME=N, as in a=4k, found '{}'", part)});
      set_size(diagram, part.substr(0, equals), *value);
    }
}

// Diagrams without workload extents need no lengths; others default to the example of the theory.
Workload workload_of(const Arguments& arguments, const Diagram& diagram) {
  Plan plan;
  plan.schedule.diagram = diagram;
  const bool sized =
      std::any_of(diagram.axes.begin(), diagram.axes.end(), [](const Axis& axis) { return axis.extent.has_value(); });
  if (!sized) return {};
  static const char* const shape[] = {"batch", "heads-q", "heads-kv", "kv-len", "head-dim", "v-head-dim"};
  const bool given =
      std::any_of(std::begin(shape), std::end(shape), [&](const char* name) { return arguments.has(name); });
  if (!given && !arguments.has("q-len") && !arguments.has("workload"))
    return {.batch = 1, .heads_q = 1, .heads_kv = 1, .q_len = 8192, .kv_len = 8192, .d_qk = 128, .d_v = 128};
  return read_point(arguments, plan).workload;
}

// Bytes a value, its share of a scale included.
Rational width_of(const Dtype& dtype) {
  const Rational width(bits(dtype.format), 8);
  return dtype.scale_group == 0 ? width : width + Rational(dtype.scale_bytes, dtype.scale_group);
}

std::map<std::string, Rational> widths_of(const Arguments& arguments, const Diagram& diagram) {
  std::map<std::string, Rational> widths;
  if (!arguments.has("dtype")) return widths;
  Plan plan;
  plan.schedule.diagram = diagram;
  Point point = default_point(plan);
  apply_dtypes(point, plan, *arguments.text("dtype"));
  for (std::size_t a = 0; a < diagram.arrays.size(); ++a) widths[diagram.arrays[a].name] = width_of(point.dtypes[a]);
  for (std::size_t a = 0; a < diagram.arrays.size(); ++a)  // the running state has no array of its own in the diagram
    if (diagram.arrays[a].dtype_key == "l") widths["l"] = width_of(point.dtypes[a]);
  for (const char* statistics : {"l", "acc"}) widths.try_emplace(statistics, Rational(4));
  return widths;
}

double memory_of(const Arguments& arguments, bool bytes) {
  const auto given = arguments.integer("memory", 1, std::int64_t{1} << 50);
  return given ? static_cast<double>(*given) : bytes ? 233472 : 116736;
}

ExitStatus print_lowering(const Arguments& arguments) {
  const lower::LoweringResult result = lower::run_lowering(*arguments.text("lowering"), data_directory());
  const std::string format = arguments.text("format").value_or("text");
  if (format != "text" && format != "json")
    throw InputError(Diagnostic{.path = "--format",
                                .message = fmt::format("a lowering is printed as text or json, found '{}'", format)});
  deliver(arguments, format == "json" ? lower::to_json(result).dump(2) + "\n" : lower::to_text(result));
  return ExitStatus::done;
}

std::string page_of(const Diagram& diagram, const Schedule* schedule, std::vector<PageSection> sections) {
  DerivationPage page{.title = "tilescope derive: " + diagram.name,
                      .summary = diagram.summary,
                      .pictures = {},
                      .sections = std::move(sections)};
  page.pictures.push_back(
      {diagram_svg(diagram, nullptr),
       "The diagram. Columns alternate arrays and operators; an array is a stack of wires, one an axis."});
  if (schedule)
    page.pictures.push_back({diagram_svg(diagram, schedule),
                             fmt::format("Schedule {}: {}. A relabelled wire is grouped over blocks or streamed.",
                                         schedule->name, schedule->summary)});
  return derivation_page(page);
}

// Of a named schedule whose implementation is described, with its default tiles.
void add_pseudocode(const Arguments& arguments, const DeriveRequest& request, const std::string& name,
                    std::vector<PageSection>& sections) {
  const std::vector<std::string> known = shipped_names(data_directory() / "models" / "implementations");
  if (!contains(known, name)) return;
  Plan plan = load_plan_for_schedule(name, data_directory(), request.source);
  for (std::size_t a = 0; a < request.diagram.axes.size(); ++a)
    plan.schedule.diagram.axes[a].length = request.diagram.axes[a].length;
  Point point = default_point(plan);
  point.workload = request.workload, point.mask = request.mask;
  if (const auto dtype = arguments.text("dtype")) apply_dtypes(point, plan, *dtype);
  const HardwareProfile hardware = arguments.has("hardware") ? read_hardware(arguments) : HardwareProfile{};
  sections.push_back({.heading = "Pseudocode of " + name,
                      .paragraphs = {fmt::format("With the schedule's default tiles, in {}.",
                                                 arguments.text("dtype").value_or("fp16"))},
                      .listings = {pseudocode(plan, hardware, point)},
                      .tables = {}});
}

}  // namespace

ExitStatus derive_command(const std::vector<std::string>& words) {
  const auto specs = derive_options();
  if (help_wanted(words, "derive DIAGRAM [--memory N] [--size name=N] [--format text|json|html]", specs,
                  "  tilescope derive attention --q-len 8k --head-dim 128\n"
                  "  tilescope derive matmul --size a=8k,b=8k,c=8k --memory 16k\n"
                  "  tilescope derive attention --schedule flash1 --format html -o flash1.html\n"
                  "  tilescope derive --lowering models/lowerings/napkin_hopper.yaml\n"))
    return ExitStatus::done;
  const Arguments arguments("derive", words, specs, 1);
  if (arguments.has("lowering") && !arguments.positional().empty())
    throw InputError(
        Diagnostic{.path = "--lowering", .message = "a lowering has its own sizes: leave the diagram out"});
  if (arguments.has("lowering")) return print_lowering(arguments);
  const fs::path models = data_directory() / "models";
  if (arguments.positional().empty())
    throw InputError(Diagnostic{
        .path = "DIAGRAM",
        .message = "is missing: give a diagram or a file" + did_you_mean("", shipped_names(models / "diagrams"))});
  Diagram diagram = find_diagram(arguments.positional().front(), models);
  apply_sizes(diagram, arguments);
  DeriveRequest request;
  request.diagram = diagram, request.source = arguments.positional().front(),
  request.workload = workload_of(arguments, diagram);
  if (arguments.has("mask")) request.mask = mask_of(arguments, request.workload, diagram);
  request.widths = widths_of(arguments, diagram);
  request.memory = memory_of(arguments, !request.widths.empty());
  request.ranked = static_cast<std::size_t>(arguments.integer("top", 1, 1000).value_or(10));
  const std::string format = arguments.text("format").value_or("text");
  if (format != "text" && format != "json" && format != "html")
    throw InputError(
        Diagnostic{.path = "--format", .message = fmt::format("expected text, json or html, found '{}'", format)});
  if (format == "json" && arguments.has("hardware"))
    throw InputError(Diagnostic{.path = "--hardware",
                                .message = "levels are printed as text or html; leave --hardware out of json"});
  std::optional<Schedule> chosen;
  if (const auto name = arguments.text("schedule")) chosen = find_schedule(*name, models, request.source);
  Derivation derivation = derive(request, models);
  const auto shipped = [&](const NamedDerivation& named) { return chosen && named.name == chosen->name; };
  if (chosen && arguments.text("schedule") != chosen->name) {  // a file: it stands for itself
    std::erase_if(derivation.named, shipped);
    derivation.named.push_back(derive_named(derivation, chosen->name, *chosen));
  }
  if (!chosen)
    for (const RankedFusion& ranked : derivation.ranked)
      if (!chosen && !ranked.names.empty()) chosen = find_schedule(ranked.names.front(), models, request.source);
  if (format == "json") {
    deliver(arguments, derivation_json(derivation, diagram).dump(2) + "\n");
  } else {
    const bool page = format == "html";
    std::vector<PageSection> sections = derivation_sections(derivation, diagram,
                                                            page && chosen              ? chosen->name
                                                            : arguments.has("schedule") ? chosen->name
                                                                                        : "");
    if (chosen && (page || arguments.has("schedule"))) add_pseudocode(arguments, request, chosen->name, sections);
    if (arguments.has("hardware")) {
      const HardwareProfile hardware = read_hardware(arguments);
      constexpr double fp16_bytes = 2;
      sections.insert(sections.begin() + 3,
                      levels_section(boundary_optima(request, models, hardware, fp16_bytes), hardware.id, fp16_bytes));
    }
    deliver(arguments,
            page ? page_of(diagram, chosen ? &*chosen : nullptr, std::move(sections)) : sections_as_text(sections));
  }
  return derivation.ranked.empty() ? ExitStatus::answer_no : ExitStatus::done;
}

}  // namespace tilescope::cli
