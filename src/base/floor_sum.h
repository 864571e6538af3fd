// Sums of floors of an arithmetic progression, in logarithmic time.
#pragma once

#include <cstdint>

#include "base/checked.h"

namespace tilescope {

// sum over i in [0, count) of floor((step * i + offset) / divisor), for count, step, offset >= 0 and divisor > 0.
// The Euclidean reduction of lattice points under a line (Graham, Knuth and Patashnik, Concrete Mathematics, 3.5).
// Throws CountOverflow when the sum exceeds 2^63 - 1.
inline std::int64_t floor_sum(std::int64_t count, std::int64_t divisor, std::int64_t step, std::int64_t offset) {
  __extension__ typedef __int128 Wide;
  Wide n = count, m = divisor, a = step, b = offset, sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m, b %= m;
    const Wide top = a * n + b;
    if (sum > INT64_MAX) throw CountOverflow();
    if (top < m) break;
    n = top / m, b = top % m;
    const Wide swap = m;
    m = a, a = swap;
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace tilescope
