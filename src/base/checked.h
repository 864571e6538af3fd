// Integer arithmetic that refuses to wrap: counts are exact or there is no count.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace tilescope {

// A count left the range of a signed 64-bit integer.
class CountOverflow : public std::overflow_error {
 public:
  CountOverflow() : std::overflow_error("a count exceeds 2^63 - 1; use smaller sizes") {}
  explicit CountOverflow(const char* message) : std::overflow_error(message) {}
};

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw CountOverflow();
  return sum;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw CountOverflow();
  return product;
}

// ceil(a / b) for a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

}  // namespace tilescope
