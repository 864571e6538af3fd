#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/contains.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "boundaries/theory.h"
#include "cli/commands/commands.h"
#include "cli/output/lowering_table.h"
#include "cli/output/progress.h"
#include "cli/output/sections.h"
#include "derive/present/curves.h"
#include "derive/present/present.h"
#include "derive/saved/saved_schedule.h"
#include "draw/derivation_page.h"
#include "draw/diagram_svg.h"
#include "draw/memory_plot.h"
#include "lower/result.h"
#include "predict/explain/pseudocode.h"
#include "predict/prediction.h"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;

std::vector<OptionSpec> derive_options() {
  static const std::vector<std::string> wanted{"size",     "batch",    "heads-q",    "heads-kv", "q-len",
                                               "kv-len",   "head-dim", "v-head-dim", "mask",     "dtype",
                                               "workload", "hardware", "set"};
  std::vector<OptionSpec> specs{
      {"schedule",
       "list this schedule's exact counts, and draw it (default for drawing: the best-ranked named schedule)",
       Value::schedule},
      {"memory", "on-chip memory: values, or bytes with --dtype; default 116736 values (228 KiB of fp16)",
       Value::count},
      {"top", "how many schedules to rank (default 10)", Value::count},
      {"save", "write the best schedule, with its diagram, as a file for --schedule of predict, search and others",
       Value::file},
      {"pick", "of --save: the schedule at this place of the ranking (default 1)", Value::count},
      {"cluster",
       "sizes of clusters, as in 2,4,8: what blocks of --hardware save that hand data to each other (theorem 3)"},
      {"lowering", "instead of a derivation: the kernel configuration of a file like those in models/lowerings",
       Value::file},
      threads_option()};
  for (const OptionSpec& spec : point_options())
    if (contains(wanted, spec.name)) specs.push_back(spec);
  for (OptionSpec& spec : specs) {
    if (spec.name == "hardware")
      spec.help = "also derive at every memory boundary of this GPU (fp16); A,B,...: compare GPUs by H*M^beta";
    if (spec.name == "dtype") spec.help += "; given again: what the change of format does to the traffic, q^(1+beta)";
  }
  for (OptionSpec spec : output_options()) {
    if (spec.name == "format")
      spec.help = "text, json, csv (the ranked schedules), md or html", spec.choices.emplace_back("html");
    specs.push_back(spec);
  }
  return specs;
}

// A diagram without workload extents needs no lengths. Other diagrams default to 8192 queries and keys, head_dim 128.
Workload workload_of(const Arguments& arguments, const Diagram& diagram) {
  refuse_idle_sizes(arguments, diagram);
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
  return read_point(arguments.without("dtype"), plan).workload;
}

// Bytes per value, including its share of a scale.
Rational width_of(const Dtype& dtype) {
  const Rational width(bits(dtype.format), 8);
  return dtype.scale_group == 0 ? width
                                : width + Rational(8 * dtype.scale_bytes + dtype.zero_bits, 8 * dtype.scale_group);
}

std::map<std::string, Rational> widths_of(const std::string& dtype, const Diagram& diagram) {
  std::map<std::string, Rational> widths;
  Plan plan;
  plan.schedule.diagram = diagram;
  Point point = default_point(plan);
  apply_dtypes(point, plan, dtype);
  for (std::size_t a = 0; a < diagram.arrays.size(); ++a) widths[diagram.arrays[a].name] = width_of(point.dtypes[a]);
  for (std::size_t a = 0; a < diagram.arrays.size(); ++a)  // the diagram has no array for the running state
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
  if (format == "html") refuse("--format", "a lowering is printed as text, json, csv or md, found 'html'");
  const Style style = style_of(arguments);
  if (format == "json") deliver(arguments, lower::to_json(result).dump(2) + "\n");
  else if (format == "csv") deliver(arguments, render(lowering_table(result), style));
  else deliver(arguments, render_sections(lower::sections_of(result), style));
  return ExitStatus::done;
}

// Traffic over memory: named schedules thick, unnamed ranked ones thin, bounds dashed.
PagePicture curves_picture(const Derivation& derivation, const Diagram& diagram) {
  const MemoryCurves curves = memory_curves(derivation, diagram);
  const char* unit = curves.bytes ? "bytes" : "values";
  LogPlot plot{.title = "Traffic of every schedule over the on-chip memory, and lower bounds",
               .x_title = fmt::format("on-chip memory M ({})", unit),
               .y_title = fmt::format("traffic H*(M) ({})", unit),
               .x = curves.memory,
               .marked_x = curves.at,
               .marked = "M of this page",
               .curves = {}};
  for (const MemoryCurve& curve : curves.curves)
    plot.curves.push_back({curve.name,
                           curve.bound   ? PlotCurve::Kind::bound
                           : curve.named ? PlotCurve::Kind::main
                                         : PlotCurve::Kind::other,
                           curve.values});
  return {log_plot_svg(plot),
          "Traffic with the best tiles at each size of the on-chip memory, both logarithmic. Thick: named schedules; "
          "thin: schedules without a name, by their rank in the table below; dashed: lower bounds that hold for every "
          "schedule. A curve begins where tiles of 1 fit."};
}

std::string page_of(const Derivation& derivation, const Diagram& diagram, const Schedule* schedule,
                    std::vector<PageSection> sections) {
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
  if (PagePicture curves = curves_picture(derivation, diagram); !curves.svg.empty())
    page.pictures.push_back(std::move(curves));
  return derivation_page(page);
}

std::vector<HardwareProfile> gpus_of(const Arguments& arguments) {
  std::vector<HardwareProfile> gpus;
  for (const std::string& given : arguments.all("hardware"))
    for (const std::string& id : split(given, ',')) {
      if (id.empty()) refuse("--hardware", fmt::format("holds an empty value: '{}'", given));
      gpus.push_back(find_profile(id, data_directory() / "hardware"));
    }
  return gpus;
}

// Adds the pseudocode of a named schedule that has a described implementation, with its default tiles.
void add_pseudocode(const Arguments& arguments, const DeriveRequest& request, const std::string& name,
                    std::vector<PageSection>& sections) {
  const std::vector<std::string> known = shipped_names(data_directory() / "models" / "implementations");
  if (!contains(known, name)) return;
  Plan plan = load_plan_for_schedule(name, data_directory(), request.source);
  for (std::size_t a = 0; a < request.diagram.axes.size(); ++a)
    plan.schedule.diagram.axes[a].length = request.diagram.axes[a].length;
  Point point = default_point(plan);
  point.workload = request.workload, point.mask = request.mask;
  const std::vector<std::string> formats = arguments.all("dtype");
  if (!formats.empty()) apply_dtypes(point, plan, formats.front());
  const std::vector<HardwareProfile> gpus = gpus_of(arguments);
  const HardwareProfile hardware = gpus.empty() ? HardwareProfile{} : gpus.front();
  sections.push_back({.heading = "Pseudocode of " + name,
                      .paragraphs = {fmt::format("With the schedule's default tiles, in {}.",
                                                 formats.empty() ? "fp16" : formats.front())},
                      .listings = {pseudocode(plan, hardware, point)},
                      .tables = {}});
}

// Reads the diagram with its sizes, the workload, the mask and the memory from the options.
DeriveRequest read_request(const Arguments& arguments, const fs::path& models) {
  if (arguments.positional().empty())
    refuse("DIAGRAM", "is missing: give a diagram or a file" + did_you_mean("", shipped_names(models / "diagrams")));
  DeriveRequest request;
  request.source = arguments.positional().front();
  request.diagram = find_diagram(request.source, models);
  apply_sizes(request.diagram, arguments.all("size"));
  request.workload = workload_of(arguments, request.diagram);
  if (arguments.has("mask")) request.mask = mask_of(arguments, request.workload, request.diagram);
  const std::vector<std::string> formats = arguments.all("dtype");
  if (!formats.empty()) request.widths = widths_of(formats.front(), request.diagram);
  request.memory = memory_of(arguments, !request.widths.empty());
  request.ranked = static_cast<std::size_t>(arguments.integer("top", 1, 1000).value_or(10));
  request.threads = threads_of(arguments);
  return request;
}

// The derivation, and the schedule to draw and to list: --schedule, or else the best-ranked named schedule.
struct Derived {
  Derivation derivation;
  std::optional<Schedule> chosen;
};

Derived derive_with_schedule(const Arguments& arguments, const DeriveRequest& request, const fs::path& models) {
  std::optional<Schedule> chosen;
  if (const auto name = arguments.text("schedule")) chosen = find_schedule(*name, models, request.source);
  Progress progress(arguments, "derive");
  Derived derived{derive(request, models), std::move(chosen)};
  const auto shipped = [&](const NamedDerivation& named) { return named.name == derived.chosen->name; };
  if (derived.chosen &&
      arguments.text("schedule") !=
          derived.chosen->name) {  // --schedule is a file: it replaces the shipped schedule of its name
    std::erase_if(derived.derivation.named, shipped);
    derived.derivation.named.push_back(derive_named(derived.derivation, derived.chosen->name, *derived.chosen));
  }
  for (const RankedFusion& ranked : derived.derivation.ranked)
    if (!derived.chosen && !ranked.names.empty())
      derived.chosen = find_schedule(ranked.names.front(), models, request.source);
  return derived;
}

std::vector<std::int64_t> clusters_of(const Arguments& arguments) {
  std::vector<std::int64_t> sizes;
  const auto given = arguments.text("cluster");
  if (!given) return sizes;
  if (!arguments.has("hardware")) refuse("--cluster", "needs a GPU: give --hardware, as in --hardware h100_sxm");
  for (const std::string& part : split(*given, ',')) {
    const auto size = parse_count(part);
    if (!size || *size < 1 || *size > 64)
      refuse("--cluster", fmt::format("expected sizes from 1 to 64, as in 2,4,8, found {}", shown_text(*given)));
    sizes.push_back(*size);
  }
  return sizes;
}

// What the theory says beyond the diagram: --hardware and further --dtype.
TheoryAnswers theory_of(const Arguments& arguments, const DeriveRequest& request, const Derived& derived,
                        const fs::path& models) {
  TheoryQuestion question{.models = models,
                          .gpus = gpus_of(arguments),
                          .clusters = clusters_of(arguments),
                          .formats = arguments.all("dtype")};
  for (const std::string& dtype : question.formats) {
    question.format_requests.push_back(request);
    question.format_requests.back().widths = widths_of(dtype, request.diagram);
  }
  const NamedDerivation* named = nullptr;
  for (const NamedDerivation& known : derived.derivation.named)
    if (arguments.has("schedule") && known.name == derived.chosen->name && known.feasible) named = &known;
  return theory_answers(question, derived.derivation, named);
}

std::vector<PageSection> sections_of(const Arguments& arguments, const DeriveRequest& request, const Derived& derived,
                                     const TheoryAnswers& answers) {
  const bool listed = derived.chosen && (arguments.has("schedule") || arguments.text("format") == "html");
  std::vector<PageSection> sections =
      derivation_sections(derived.derivation, request.diagram, listed ? derived.chosen->name : "");
  if (listed) add_pseudocode(arguments, request, derived.chosen->name, sections);
  std::vector<PageSection> theory = theory_sections(answers);
  sections.insert(sections.begin() + 3, std::make_move_iterator(theory.begin()), std::make_move_iterator(theory.end()));
  return sections;
}

// --save: the file's name is also the schedule's.
void save(const Arguments& arguments, const Derivation& derivation, const fs::path& models) {
  const auto file = arguments.text("save");
  const auto pick = static_cast<std::size_t>(arguments.integer("pick", 1, 1000).value_or(1));
  if (!file && arguments.has("pick")) refuse("--pick", "chooses what --save writes: give --save FILE, too");
  if (!file || derivation.ranked.empty()) return;
  if (pick > derivation.ranked.size())
    refuse("--pick",
           fmt::format("{} schedules are ranked, found {}; --top ranks more", derivation.ranked.size(), pick));
  const std::string name = fs::path(*file).stem().string();
  if (contains(shipped_names(models / "schedules"), name))
    refuse("--save", fmt::format("'{}' is the name of a shipped schedule: choose another file name", name));
  const SavedSchedule saved = saved_schedule(derivation, pick - 1, name, models);
  write_file(*file, saved.yaml);
  if (!arguments.has("quiet"))
    print_note(fmt::format("{}: place {} of the ranking, {}", *file, pick, join(saved.kernels, "; then ")));
}

ExitStatus derive_diagram(const Arguments& arguments) {
  if (arguments.has("lowering") && !arguments.positional().empty())
    refuse("--lowering", "the file states the sizes: leave out the diagram");
  if (arguments.has("lowering")) {
    static const std::vector<std::string> own{"lowering", "format", "output", "quiet"};
    for (const OptionSpec& option : derive_options())
      if (!contains(own, option.name) && arguments.has(option.name))
        refuse("--" + option.name, "the --lowering file states GPU, sizes and formats: leave this option out");
    return print_lowering(arguments);
  }
  const fs::path models = data_directory() / "models";
  const DeriveRequest request = read_request(arguments, models);
  const std::string format = arguments.text("format").value_or("text");
  const Derived derived = derive_with_schedule(arguments, request, models);
  save(arguments, derived.derivation, models);
  const TheoryAnswers answers = theory_of(arguments, request, derived, models);
  const auto sections = [&] { return sections_of(arguments, request, derived, answers); };
  if (format == "json") {
    nlohmann::ordered_json json = derivation_json(derived.derivation, request.diagram);
    json.update(theory_json(answers));
    deliver(arguments, json.dump(2) + "\n");
  } else if (format == "csv")
    deliver(arguments, render(table_of(ranking_section(derived.derivation).tables.front()), style_of(arguments)));
  else if (format == "html")
    deliver(arguments,
            page_of(derived.derivation, request.diagram, derived.chosen ? &*derived.chosen : nullptr, sections()));
  else deliver(arguments, render_sections(sections(), style_of(arguments)));
  for (const std::string& error : derived.derivation.errors)
    fmt::print(stderr, "tilescope: internal error: {}\n", error);
  return derived.derivation.ranked.empty() || !derived.derivation.errors.empty() ? ExitStatus::answer_no
                                                                                 : ExitStatus::done;
}

}  // namespace

Command derive_command() {
  return {.name = "derive",
          .summary = "derive roles, streams, legal schedules, H*(M) and bounds from a diagram",
          .usage = "DIAGRAM [--memory N] [--size name=N] [--format text|json|csv|md|html]",
          .examples = {"tilescope derive attention --q-len 8k --head-dim 128",
                       "tilescope derive matmul --size a=8k,b=8k,c=8k --memory 16k",
                       "tilescope derive attention --schedule flash1 --format html -o flash1.html",
                       "tilescope derive attention --hardware a100_sxm_80,h100_sxm",
                       "tilescope derive attention --hardware h100_sxm --cluster 2,4,8",
                       "tilescope derive attention --dtype fp16 --dtype fp8",
                       "tilescope derive rmsnorm_matmul --save fused.yaml",
                       "tilescope derive --lowering models/lowerings/napkin_hopper.yaml"},
          .notes =
              "--format csv prints the ranked schedules, or the plans of a lowering. Exit status 1 when no schedule is "
              "legal.",
          .options = derive_options,
          .run = derive_diagram,
          .most_positional = 1,
          .first_value = Value::diagram};
}

}  // namespace tilescope::cli
