#include "kernel/describe/work_rates.h"

#include <fmt/format.h>

#include <set>

namespace tilescope {
namespace {

// Four lanes have parts of each row of an accumulator (PTX ISA, fragments of mma and wgmma).
constexpr double row_lanes = 4;

std::int64_t count_of(const ThreadWork& work, const std::string& pipe) {
  const auto found = work.find(pipe);
  return found == work.end() ? 0 : found->second;
}

void add_rate(std::string& text, const char* key, double value) {
  if (value > 0) text += fmt::format("{}{}: {:.9g}", text.empty() ? "" : ", ", key, value);
}

}  // namespace

std::vector<DescribedValue> work_rates(const AttentionFacts& facts, std::int64_t repeats) {
  const std::int64_t scores = facts.rows * facts.keys / facts.unit_threads;
  const double rows = static_cast<double>(facts.rows) * row_lanes / static_cast<double>(facts.unit_threads);
  std::vector<DescribedValue> rates;
  for (const char* pipe : {"xu", "ffma", "fadd", "fmul", "alu", "conversion", "shuffle", "others"}) {
    const std::int64_t step = count_of(facts.step, pipe), once = count_of(facts.once, pipe);
    const std::int64_t masked = facts.masked_step.empty() ? step : count_of(facts.masked_step, pipe);
    const std::int64_t each = step / scores;  // whole operations a score
    std::string text;
    add_rate(text, "per_score", static_cast<double>(each * repeats));
    add_rate(text, "per_masked_score", static_cast<double>((masked - step) * repeats) / static_cast<double>(scores));
    add_rate(text, "per_thread_step", static_cast<double>(step - each * scores));
    add_rate(text, "per_row", static_cast<double>(once) / rows);
    if (text.empty()) continue;
    std::string reason = fmt::format("{} instructions of a thread in a step, {} outside the loop", step, once);
    if (masked != step) reason += fmt::format(", {} in a step that a mask cuts", masked);
    rates.push_back({pipe, "{" + text + "}", ValueSource::code, std::move(reason)});
  }
  return rates;
}

}  // namespace tilescope
