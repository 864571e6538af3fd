// Divisor superscripts: several constraints on one size combine to their least common multiple (theory 3.1, step 4).
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
