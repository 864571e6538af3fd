#include "derive/checked.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace tilescope {
namespace {

// What one kernel's symbolic counts say at these sizes and tiles.
struct Expected {
  std::map<ArrayId, Moved> moved;
  std::int64_t held = 0;  // in the fullest column; 0: none is counted
};

Expected expected_of(const Schedule& schedule, int island, const SmallCase& small,
                     const std::vector<std::int64_t>& tiles) {
  const SymbolicSchedule counts = symbolic(schedule, {.masked = small.mask.masks()});
  std::vector<Polynomial> wanted;
  for (const SymbolicTerm& term : counts.terms) wanted.push_back(term.values);
  for (const SymbolicColumn& column : counts.columns) wanted.push_back(column.values);
  std::vector<std::int64_t> inputs, externals, values(wanted.size());
  bind_symbols(counts, schedule, Workload{}, small.mask, tiles, inputs, externals);
  compile(counts.symbols, wanted).run(inputs, externals, values);
  Expected expected;
  for (std::size_t t = 0; t < counts.terms.size(); ++t) {
    if (counts.terms[t].island != island) continue;
    Moved& moved = expected.moved[counts.terms[t].array];
    (counts.terms[t].store ? moved.stored : moved.loaded) += values[t];
  }
  for (std::size_t c = 0; c < counts.columns.size(); ++c)
    if (counts.columns[c].island == island) expected.held = std::max(expected.held, values[counts.terms.size() + c]);
  return expected;
}

std::string different(const KernelProgram& kernel, const SmallCase& small, const std::vector<std::int64_t>& tiles,
                      const Execution& execution) {
  const Schedule& schedule = kernel.schedule;
  Schedule sized = schedule;
  sized.diagram = resized(sized.diagram, small);
  const Expected expected = expected_of(sized, kernel.island, small, tiles);
  for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a) {
    const auto id = static_cast<ArrayId>(static_cast<int>(a));
    const auto found = [&](const std::map<ArrayId, Moved>& all) {
      const auto at = all.find(id);
      return at == all.end() ? Moved{} : at->second;
    };
    const Moved want = found(expected.moved), have = found(execution.moved);
    if (want != have)
      return fmt::format("{} loads {} and stores {} values where the count says {} and {}",
                         schedule.diagram.arrays[a].name, have.loaded, have.stored, want.loaded, want.stored);
  }
  if (expected.held > 0 && execution.held > expected.held)
    return fmt::format("holds {} values where the fullest column has {}", execution.held, expected.held);
  return {};
}

std::string sizes_text(const SmallCase& small, const std::vector<KernelProgram>& kernels,
                       const std::vector<std::vector<std::int64_t>>& tiles) {
  std::vector<std::string> parts;
  for (const auto& [name, size] : small.sizes) parts.push_back(fmt::format("{} {}", name, size));
  for (std::size_t k = 0; k < tiles.size(); ++k)
    for (std::size_t p = 0; p < tiles[k].size() && kernels[k].island == 0; ++p)
      parts.push_back(fmt::format("tile.{} {}", kernels[k].schedule.parameters[p].name, tiles[k][p]));
  return join(parts, ", ");
}

}  // namespace

std::string wrong_in(const Diagram& diagram, const std::vector<Schedule>& schedules, const Mask& mask, int cases,
                     bool alone) {
  const auto built = programs_of(schedules);
  if (const auto* none = std::get_if<NoProgram>(&built)) return none->reason;
  const auto& kernels = std::get<std::vector<KernelProgram>>(built);
  for (int number = 0; number < cases; ++number) {
    const SmallCase small = small_case(diagram, mask, static_cast<std::uint64_t>(17 + number));
    const CaseResult result = run_case(diagram, kernels, small, alone);
    std::string wrong = result.failure;
    for (std::size_t k = 0; k < kernels.size() && wrong.empty(); ++k)
      if (wrong = different(kernels[k], small, result.tiles[k], result.kernels[k]); !wrong.empty())
        wrong = kernels[k].runs().name + ": " + wrong;
    if (!wrong.empty()) return fmt::format("{} (with {})", wrong, sizes_text(small, kernels, result.tiles));
  }
  return {};
}

std::variant<std::string, NoProgram> wrong_result_of(const Schedule& schedule) {
  const auto built = programs_of({schedule});
  if (const auto* none = std::get_if<NoProgram>(&built)) return *none;
  const auto& kernels = std::get<std::vector<KernelProgram>>(built);
  std::vector<Mask> masks{Mask{}};
  if (schedule.source.guard) masks.push_back(*parse_mask("causal"));
  for (const Mask& mask : masks) {
    const SmallCase small = small_case(schedule.source, mask, 18);
    const CaseResult result = run_case(schedule.source, kernels, small);
    if (!result.failure.empty())
      return fmt::format("{} (with {})", result.failure, sizes_text(small, kernels, result.tiles));
  }
  return std::string();
}

}  // namespace tilescope
