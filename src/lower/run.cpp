#include <fmt/format.h>

#include "base/checked.h"
#include "base/error.h"
#include "lower/result.h"
#include "predict/l2/memory_seconds.h"

namespace tilescope::lower {
namespace {

std::vector<std::string> problems_of(const Lowering& lowering, const PlanResult& result) {
  std::vector<std::string> problems;
  for (const DivisorResult& divisor : result.divisors)
    if (!divisor.ok)
      problems.push_back(fmt::format("{} = {} is not a multiple of {}", divisor.size, divisor.value, divisor.multiple));
  const Configuration& configuration = result.configuration;
  for (const LevelFit& fit : configuration.levels)
    if (fit.block_bytes > fit.capacity_bytes || (fit.copies_max && fit.copies < 1))
      problems.push_back(fmt::format("{} B a block and {} B a {} do not fit the {} B of {}", fit.block_bytes,
                                     fit.copy_bytes, to_string(lowering.copies.scope), fit.capacity_bytes,
                                     to_string(fit.level)));
  if (const auto& use = configuration.registers; use && use->limit > 0 && use->per_thread > use->limit)
    problems.push_back(fmt::format("{} registers a thread, the limit is {}", use->per_thread, use->limit));
  if (configuration.copies < 1 && problems.empty())
    problems.push_back(fmt::format(
        "no {} fits: {}", to_string(lowering.copies.scope),
        configuration.limited_by.empty() ? "no level limits it" : "limited by " + configuration.limited_by));
  return problems;
}

// k g_q / f against bytes / B: every unit loads its own tiles, no tile is shared through the cache (Napkin, section 5).
std::optional<BandwidthTest> test_bandwidth(const Lowering& lowering, const LoweringPlan& plan,
                                            const PlanResult& result) {
  const double clock = clock_of(lowering.hardware);
  BandwidthTest test;
  test.bytes_per_unit = streamed_bytes(lowering, plan);
  if (test.bytes_per_unit == 0 || result.configuration.copies < 1 || !(result.throughput.bound_clocks > 0) ||
      clock <= 0)
    return std::nullopt;
  test.transfer_seconds =
      hbm_seconds(lowering.hardware,
                  static_cast<double>(lowering.hardware.units.value) * static_cast<double>(test.bytes_per_unit), 0);
  if (test.transfer_seconds < 0) return std::nullopt;
  const double seconds_per_row = result.throughput.bound_clocks / static_cast<double>(result.throughput.rows) / clock;
  test.compute_seconds = seconds_per_row * static_cast<double>(result.configuration.group_rows);
  test.least_rows = test.transfer_seconds / seconds_per_row;
  return test;
}

}  // namespace

LoweringResult evaluate(const Lowering& lowering) {
  LoweringResult result{lowering, {}};
  for (const LoweringPlan& plan : lowering.plans) {
    PlanResult row{plan.name,
                   plan.sizes,
                   plan.overlap.style,
                   check_divisors(lowering, plan.sizes),
                   configure(lowering, plan),
                   pipeline(lowering, plan),
                   {},
                   {}};
    row.bandwidth = test_bandwidth(lowering, plan, row);
    row.problems = problems_of(lowering, row);
    result.plans.push_back(std::move(row));
  }
  return result;
}

LoweringResult run_lowering(const std::filesystem::path& file, const std::filesystem::path& data_directory) {
  const Lowering lowering = load_lowering(file, data_directory);
  try {
    return evaluate(lowering);
  } catch (const CountOverflow&) {
    throw InputError(Diagnostic{
        .file = lowering.file, .path = "sizes", .message = "a product of sizes exceeds 2^63 - 1; use smaller sizes"});
  }
}

}  // namespace tilescope::lower
