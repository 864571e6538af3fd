#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/report.h"
#include "predict/explain/because.h"
#include "predict/explain/formula.h"
#include "predict/explain/pseudocode.h"
#include "records/record_label.h"

namespace tilescope::analysis {
namespace {

ReportTerm term_of(const ComparedPoint& shown, const Term& term) {
  const Schedule& schedule = shown.plan.schedule;
  return {.island = schedule.islands[static_cast<std::size_t>(term.island)].name,
          .boundary = to_string(term.boundary),
          .array = term.array < 0 ? cause_name(term.cause)
                                  : schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name,
          .direction = to_string(term.direction),
          .kind = cause_name(term.cause),
          .formula = formula(shown.plan, shown.point, term),
          .bytes = static_cast<double>(term.bytes),
          .because = because(shown.plan, shown.point, term)};
}

}  // namespace

ReportDerivation derivation_of(const ComparedPoint& shown, const HardwareProfile& hardware) {
  const Prediction& p = shown.prediction;
  ReportDerivation derivation{.point = point_id(shown.record.point),
                              .title = record_label(shown.record.point),
                              .pseudocode = pseudocode(shown.plan, hardware, shown.point)};
  std::vector<std::string>& paragraphs = derivation.paragraphs;
  paragraphs.push_back(fmt::format("Schedule {}: {}. Kernel {}: {}.", shown.plan.schedule.name,
                                   shown.plan.schedule.summary, shown.plan.kernel.name, shown.plan.kernel.summary));
  paragraphs.push_back(
      "Each array's tile moves whenever a loop that indexes it, or that starts another block, steps; the terms below "
      "are those moves times the bytes of a tile. "
      "Their sums are the predictions; nothing else enters.");
  paragraphs.push_back(
      fmt::format("At L2 the tiles move {:.3g} times the compulsory {:.4g} MB: every block of queries reads all keys "
                  "and values again. At HBM it is {:.3g} times, because {}.",
                  static_cast<double>(p.traffic.both(LevelId::l2)) / static_cast<double>(p.compulsory_bytes),
                  static_cast<double>(p.compulsory_bytes) / 1e6,
                  static_cast<double>(p.traffic.both(LevelId::hbm)) / static_cast<double>(p.compulsory_bytes),
                  std::all_of(p.terms.begin(), p.terms.end(),
                              [](const Term& t) { return t.boundary != Boundary::hbm || t.fits_cache; })
                      ? "the keys and values of the heads that run at once fit the L2"
                      : "the keys and values of the heads that run at once do not fit the L2"));
  for (const Term& term : p.terms) derivation.terms.push_back(term_of(shown, term));
  return derivation;
}

}  // namespace tilescope::analysis
