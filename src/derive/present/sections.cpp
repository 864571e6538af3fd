#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "derive/present/bounds.h"
#include "derive/present/present.h"
#include "diagram/roles.h"
#include "program/construct/build.h"
#include "program/print.h"

namespace tilescope {
namespace {

std::string count(double values) {
  return values < 9e15 ? with_thousands(std::llround(values)) : fmt::format("{:.6g}", values);
}

std::string array_names(const Derivation& derivation, const std::vector<ArrayId>& ids) {
  std::vector<std::string> names;
  for (const ArrayId id : ids) names.push_back(derivation.primitives.array(id).name);
  return join(names, ", ");
}

std::string tiles_text(const ScheduleProblem& problem, const BestTiles& best) {
  std::vector<std::string> tiles;
  for (std::size_t i = 0; i < best.tiles.size(); ++i)
    tiles.push_back(fmt::format("{} = {:.1f}", problem.symbolic.symbols[problem.tiles[i]].text, best.tiles[i]));
  return join(tiles, ", ");
}

PageSection axes_section(const Derivation& derivation, const Diagram& diagram) {
  PageSection section{.heading = "Axes and their roles"};
  section.paragraphs.push_back(
      "tile: every input that the operator has and its output carry the axis. repeat: an input lacks it and is copied "
      "to every index, the only source of "
      "redundant transfers. reduce: folded. local: taken whole, until the operator is expanded into primitives.");
  PageTable table{.columns = {"axis", "size", "value"}};
  for (const Operator& op : diagram.operators) table.columns.push_back(op.name);
  table.columns.emplace_back("through the fused kernel");
  for (std::size_t a = 0; a < diagram.axes.size(); ++a) {
    const auto axis = static_cast<AxisId>(static_cast<int>(a));
    std::vector<std::string> row{diagram.axes[a].name, diagram.axes[a].size,
                                 with_thousands(diagram.axes[a].size_in(derivation.request.workload))};
    for (const Operator& op : diagram.operators) row.push_back(to_string(role_of(diagram, op, axis)));
    const auto known = derivation.axes.find(axis);
    if (known == derivation.axes.end()) row.emplace_back("absent");
    else switch (known->second.kind) {
        case Streamability::Kind::absent:
          row.emplace_back("absent");
          break;
        case Streamability::Kind::woven:
          row.emplace_back("free: group or stream");
          break;
        case Streamability::Kind::folded:
          row.push_back("folded: stream as " + to_string(known->second.witness->kind));
          break;
        case Streamability::Kind::refused:
          row.emplace_back("whole: refused");
          break;
      }
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
  return section;
}

PageSection streams_section(const Derivation& derivation) {
  PageSection section{.heading = "What may be streamed, and the proof"};
  for (const auto& [axis, stream] : derivation.axes) {
    const std::string name = derivation.primitives.diagram.axes[index(axis)].name;
    if (stream.kind == Streamability::Kind::refused)
      section.paragraphs.push_back(fmt::format("{} cannot be streamed: {}", name, stream.reason));
    if (stream.kind != Streamability::Kind::folded) continue;
    std::string listing = fmt::format("stream over {} ({})\n", name, to_string(stream.witness->kind));
    for (const std::string& line : equations(*stream.witness)) listing += "  " + line + "\n";
    for (const FoldWitness& fold : stream.witness->folds) listing += fmt::format("  why    {}\n", fold.because);
    for (const std::string& assumption : stream.witness->assumptions)
      listing += fmt::format("  given  {}\n", assumption);
    if (const auto proof = derivation.proofs.find(axis); proof != derivation.proofs.end())
      listing += proof->second.runs > 0
                     ? fmt::format("  tested {} random streams against the direct folds: worst relative error {:.1e}\n",
                                   proof->second.runs, proof->second.worst())
                     : "  not tested: the folds have no finite value on random streams\n";
    if (stream.witness->compact) {
      std::vector<std::string> section_of;
      for (const auto& [state, value] : stream.witness->compact->section)
        section_of.push_back(fmt::format("{} := {}", state, to_text(value)));
      listing += fmt::format("  parts  may be kept as {}: {}\n", join(stream.witness->compact->outputs, ", "),
                             join(section_of, ", "));
    }
    section.listings.push_back(std::move(listing));
  }
  if (section.listings.empty() && section.paragraphs.empty()) section.paragraphs.emplace_back("No axis is folded.");
  return section;
}

PageTable terms_table(const Schedule& schedule, const ScheduleProblem& problem, int island) {
  PageTable table{.title = fmt::format(
                      "{}: exact counts in values, each operator as written (what only finishes a state runs once)",
                      schedule.islands[static_cast<std::size_t>(island)].name),
                  .columns = {"array", "direction", "values"}};
  for (const SymbolicTerm& term : problem.symbolic.terms)
    if (term.island == island)
      table.rows.push_back({schedule.diagram.array(term.array).name, term.store ? "store" : "load",
                            to_text(term.values, problem.symbolic.symbols)});
  for (const SymbolicWork& work : problem.symbolic.work)
    if (work.island == island) {
      const Operator& op = schedule.diagram.operators[static_cast<std::size_t>(work.op)];
      table.rows.push_back({op.name, op.kind == OperatorKind::contraction ? "FLOP / 2" : "points",
                            to_text(work.points, problem.symbolic.symbols)});
    }
  return table;
}

PageTable columns_table(const Schedule& schedule, const ScheduleProblem& problem, int island) {
  PageTable table{.title = fmt::format("{}: live on the chip, column by column",
                                       schedule.islands[static_cast<std::size_t>(island)].name),
                  .columns = {"while", "live", "values"}};
  for (const SymbolicColumn& column : problem.symbolic.columns)
    if (column.island == island)
      table.rows.push_back({column.at, join(column.live, ", "), to_text(column.values, problem.symbolic.symbols)});
  return table;
}

std::string law_listing(const std::string& kernel, const ScheduleProblem& problem, const ExactOptimum& optimum,
                        const BestTiles& best) {
  std::string listing = fmt::format("kernel {}\n", kernel);
  listing += optimum.closed ? fmt::format("  H*(M) = {}\n", to_text(optimum, problem.symbolic.symbols))
                            : fmt::format("  H*(M): {}\n", optimum.reason);
  if (!optimum.terms.empty() && !optimum.dropped_memory.is_zero())
    listing += fmt::format("          as M grows; beside it vanish {} of the footprint\n",
                           to_text(optimum.dropped_memory, problem.symbolic.symbols));
  if (best.found)
    listing +=
        fmt::format("  at M    {} with {}, certified to be at least {}\n", count(best.traffic),
                    problem.tiles.empty() ? "no tile to choose" : tiles_text(problem, best), count(best.lower_bound));
  return listing;
}

void add_counts(PageSection& section, const Schedule& schedule, const ScheduleProblem& problem, int island) {
  section.tables.push_back(terms_table(schedule, problem, island));
  section.tables.push_back(columns_table(schedule, problem, island));
}

const char* const gate_note =
    "gate(n; m, ...) is n where any m is above 1, else 1: a loop moves a tile only if a loop inside it does.";

// The program that was executed; empty where there is none yet.
std::string program_text(const Schedule& schedule, int island, const Mask& mask) {
  const auto built = build_program(schedule, expand(schedule.diagram), island);
  const auto* program = std::get_if<TileProgram>(&built);
  return program ? to_text(*program, schedule, {.masked = mask.masks()}) : std::string();
}

PageSection best_section(const Derivation& derivation) {
  PageSection section{.heading = "The best of them in full"};
  section.paragraphs.emplace_back(gate_note);
  for (const RankedKernel& kernel : derivation.ranked.front().kernels) {
    const Valuation sizes =
        sizes_of(kernel.problem.symbolic, kernel.schedule, derivation.request.workload, derivation.request.mask);
    section.listings.push_back(
        law_listing(fmt::format("{} {}", array_names(derivation, kernel.kernel.region.results), kernel.schedule.name),
                    kernel.problem, closed_form(kernel.problem, sizes), kernel.best));
    if (const std::string program = program_text(kernel.schedule, 0, derivation.request.mask); !program.empty())
      section.listings.push_back(program);
    add_counts(section, kernel.schedule, kernel.problem, 0);
  }
  return section;
}

// Where a mask hides everything, nothing is compulsory.
std::string times_compulsory(const Derivation& derivation, double traffic) {
  return derivation.compulsory > 0 ? fmt::format("{:.2f}", traffic / derivation.compulsory) : "-";
}

PageSection names_section(const Derivation& derivation) {
  PageSection section{.heading = "Named schedules"};
  section.paragraphs.emplace_back(
      "Their traffic includes the kernels that merge parts and that zero and convert accumulators.");
  PageTable table{.columns = {"schedule", "found", "traffic", "x compulsory", "what"}};
  for (const NamedDerivation& named : derivation.named) {
    table.rows.push_back({named.name, named.found ? "yes" : named.missing_because,
                          named.feasible ? count(named.traffic) : "does not fit",
                          named.feasible ? times_compulsory(derivation, named.traffic) : "", named.schedule.summary});
    std::string listing = named.name + "\n";
    for (std::size_t i = 0; i < named.problems.size(); ++i)
      listing += law_listing(named.schedule.islands[i].name, named.problems[i], named.optimum[i], named.best[i]);
    section.listings.push_back(std::move(listing));
  }
  section.tables.push_back(std::move(table));
  return section;
}

PageSection schedule_section(const NamedDerivation& named) {
  PageSection section{.heading = "Schedule " + named.name};
  section.paragraphs = {named.schedule.summary + ".", gate_note};
  for (std::size_t i = 0; i < named.problems.size(); ++i)
    add_counts(section, named.schedule, named.problems[i], static_cast<int>(i));
  return section;
}

PageSection bounds_section(const Derivation& derivation, const Diagram& diagram) {
  PageSection section{.heading = "Lower bounds"};
  section.paragraphs.emplace_back(
      "No schedule moves less than the largest bound that holds for the whole diagram. A bound of a single contraction "
      "holds where the contraction is a kernel of its own: fusing can beat it.");
  if (!derivation.request.widths.empty() || derivation.request.mask.masks())
    section.paragraphs.emplace_back(
        "Bounds beyond the compulsory one are stated for values and unmasked scores: leave out --dtype and --mask to "
        "see them.");
  PageTable table{.columns = {"bound", "values", "holds for", "source"}};
  const double best = derivation.ranked.empty() ? 0 : derivation.ranked.front().traffic;
  for (const DiagramBound& bound : bounds_of(derivation, diagram))
    table.rows.push_back({bound.name, bound.asymptotic ? "order of " + count(bound.values) : count(bound.values),
                          bound.holds_for, bound.source});
  section.tables.push_back(std::move(table));
  if (best > 0) {
    double strongest = 0;
    for (const DiagramBound& bound : bounds_of(derivation, diagram))
      if (!bound.asymptotic && bound.whole) strongest = std::max(strongest, bound.values);
    if (strongest > 0)
      section.paragraphs.push_back(
          fmt::format("The best schedule moves {:.2f} times the strongest bound.", best / strongest));
  }
  return section;
}

}  // namespace

PageSection ranking_section(const Derivation& derivation) {
  PageSection section{.heading =
                          fmt::format("Schedules, best first, with {} {} on the chip", count(derivation.request.memory),
                                      derivation.request.widths.empty() ? "values" : "bytes")};
  section.paragraphs.push_back(fmt::format(
      "{} fusions are legal ({} combinations of stored arrays and kernels considered{}). Of the kernels that can lead, "
      "{} were gone through: {} nests, {} of them legal, {} that no other nest "
      "dominates whatever the sizes and tiles{}. Nests that leave partial results buy parallelism, not traffic, and "
      "are not ranked. Tiles are real numbers here; each optimum is certified by its dual bound.",
      with_thousands(static_cast<long long>(derivation.fusions.fusions.size())),
      with_thousands(static_cast<long long>(derivation.fusions.considered)),
      derivation.fusions.complete ? "" : "; there are more, the enumeration stopped at its bound",
      derivation.kernels_ranked, with_thousands(static_cast<long long>(derivation.nests_considered)),
      with_thousands(static_cast<long long>(derivation.nests_legal)),
      with_thousands(static_cast<long long>(derivation.nests_kept)),
      derivation.nests_complete ? "" : "; the search stopped at a bound on nests, so better schedules may exist"));
  section.paragraphs.emplace_back(
      "A kernel is written as its results and its loops, outermost first: [q:G] groups axis q into independent tiles, "
      "one a block; [x:S] streams axis x, one tile after the other into an accumulator. tile.q is the size of a tile.");
  PageTable table{.columns = {"traffic", "x compulsory", "named", "kernels: results, loops, tiles"}};
  for (const RankedFusion& fusion : derivation.ranked) {
    std::vector<std::string> kernels;
    for (const RankedKernel& kernel : fusion.kernels)
      kernels.push_back(fmt::format("{} {}{}", array_names(derivation, kernel.kernel.region.results),
                                    to_text(derivation.primitives.diagram, kernel.loops),
                                    kernel.best.tiles.empty() ? "" : " " + tiles_text(kernel.problem, kernel.best)));
    table.rows.push_back({count(fusion.traffic), times_compulsory(derivation, fusion.traffic), join(fusion.names, ", "),
                          join(kernels, "; then ")});
  }
  if (table.rows.empty())
    section.paragraphs.emplace_back(derivation.nests_complete && derivation.fusions.complete
                                        ? "Nothing fits into this memory, not even with tiles of 1."
                                        : "Nothing that fits was found before the search stopped at its bound.");
  section.tables.push_back(std::move(table));
  return section;
}

std::vector<PageSection> derivation_sections(const Derivation& derivation, const Diagram& diagram,
                                             const std::string& in_full) {
  std::vector<PageSection> sections{axes_section(derivation, diagram), streams_section(derivation),
                                    ranking_section(derivation)};
  if (!derivation.ranked.empty()) sections.push_back(best_section(derivation));
  sections.push_back(bounds_section(derivation, diagram));
  if (!derivation.named.empty()) sections.push_back(names_section(derivation));
  for (const NamedDerivation& named : derivation.named)
    if (named.name == in_full) sections.push_back(schedule_section(named));
  return sections;
}

}  // namespace tilescope
