// Divisor superscripts: several constraints on one size combine to their least common multiple (Napkin, arXiv
// 2412.03317, figure 32).
#include <map>
#include <numeric>

#include "base/checked.h"
#include "lower/result.h"

namespace tilescope::lower {

std::vector<DivisorResult> check_divisors(const Lowering& lowering, const Sizes& sizes) {
  std::vector<DivisorResult> results;
  std::map<std::string, std::size_t> position;
  for (const SizeDivisor& divisor : lowering.divisors) {
    const auto [entry, is_new] = position.emplace(divisor.size, results.size());
    if (is_new) results.push_back({divisor.size, sizes.at(divisor.size), 1, {}, true});
    DivisorResult& result = results[entry->second];
    result.multiple = checked_mul(result.multiple / std::gcd(result.multiple, divisor.multiple), divisor.multiple);
    result.because.push_back(divisor.because);
    result.ok = result.value % result.multiple == 0;
  }
  return results;
}

}  // namespace tilescope::lower
