// The constant in front of a term: a quotient of doubles that is divided out only when that is exact.
#pragma once

#include <cmath>
#include <numeric>
#include <optional>

namespace tilescope {

struct Ratio {
  double top = 1;
  double bottom = 1;  // positive

  bool is(double value) const { return bottom == 1 && top == value; }
  friend bool operator==(const Ratio&, const Ratio&) = default;
};

// In lowest terms if both are integers. Empty if a part overflowed, or underflowed to zero although no factor is zero.
inline std::optional<Ratio> reduced(double top, double bottom) {
  constexpr double exact = 9007199254740992.0;  // 2^53: integers up to here are exact
  if (bottom < 0) top = -top, bottom = -bottom;
  if (!std::isfinite(top) || !std::isfinite(bottom) || !std::isnormal(bottom)) return std::nullopt;
  if (top == 0) return Ratio{0, 1};
  const double quotient = top / bottom;
  if (std::isnormal(quotient) && std::fma(quotient, bottom, -top) == 0) return Ratio{quotient, 1};
  if (std::abs(top) <= exact && bottom <= exact && top == std::floor(top) && bottom == std::floor(bottom)) {
    const auto divisor = static_cast<double>(std::gcd(static_cast<long long>(top), static_cast<long long>(bottom)));
    return Ratio{top / divisor, bottom / divisor};
  }
  return Ratio{top, bottom};
}

inline std::optional<Ratio> product(Ratio a, Ratio b) {
  const auto result = reduced(a.top * b.top, a.bottom * b.bottom);
  if (result && result->top == 0 && a.top != 0 && b.top != 0) return std::nullopt;
  return result;
}

inline std::optional<Ratio> sum(Ratio a, Ratio b) {
  if (a.bottom == b.bottom) return reduced(a.top + b.top, a.bottom);
  return reduced(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom);
}

}  // namespace tilescope
