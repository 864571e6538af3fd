// Quantities with their unit in the type, and the one parser of "4800 GB/s".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

// Exponents of the base units: bytes, floating-point (or integer) operations, seconds, clock cycles, watts.
template <int Byte, int Flop, int Second, int Cycle = 0>
struct Quantity {
  double value = 0;

  constexpr Quantity operator+(Quantity o) const { return {value + o.value}; }
  constexpr Quantity operator-(Quantity o) const { return {value - o.value}; }
  constexpr Quantity operator*(double k) const { return {value * k}; }
  constexpr auto operator<=>(const Quantity&) const = default;
};

template <int B1, int F1, int S1, int C1, int B2, int F2, int S2, int C2>
constexpr Quantity<B1 + B2, F1 + F2, S1 + S2, C1 + C2> operator*(Quantity<B1, F1, S1, C1> a,
                                                                 Quantity<B2, F2, S2, C2> b) {
  return {a.value * b.value};
}
template <int B1, int F1, int S1, int C1, int B2, int F2, int S2, int C2>
constexpr Quantity<B1 - B2, F1 - F2, S1 - S2, C1 - C2> operator/(Quantity<B1, F1, S1, C1> a,
                                                                 Quantity<B2, F2, S2, C2> b) {
  return {a.value / b.value};
}

using Bytes = Quantity<1, 0, 0>;
using Flop = Quantity<0, 1, 0>;
using Seconds = Quantity<0, 0, 1>;
using Cycles = Quantity<0, 0, 0, 1>;
using BytesPerSecond = Quantity<1, 0, -1>;
using FlopPerSecond = Quantity<0, 1, -1>;
using Hertz = Quantity<0, 0, -1, 1>;  // cycles per second
using BytesPerCycle = Quantity<1, 0, 0, -1>;
using FlopPerCycle = Quantity<0, 1, 0, -1>;

// What a text quantity may measure; each dimension accepts a fixed list of unit spellings.
enum class Dimension {
  count,
  bytes,
  bytes_per_second,
  bytes_per_cycle,
  flop_per_second,
  flop_per_cycle,
  hertz,
  watts,
  seconds,
  cycles,
  joules
};

struct ParsedQuantity {
  std::optional<double>
      value;  // in base units (B, B/s, B/clk, FLOP/s, FLOP/clk, Hz, W, s, clk, J); empty when the text is wrong
  std::string problem;  // why it is empty, with the accepted units
};

// A plain decimal number, the whole text: an optional '-', digits without a leading zero, optional fraction and
// exponent. Empty for everything else: "+1", "010", ".5", "1.", "0x10", "1_000", "nan", "inf", "1e999", "".
std::optional<double> parse_decimal(std::string_view text);

// "4800 GB/s" -> 4.8e12, "228 KiB" -> 233472, "1980 MHz" -> 1.98e9. KB = 1000 B, KiB = 1024 B, never mixed.
// Integer operations may be written OP/s and OP/clk. Negative, zero, non-finite, implausibly small or large, and
// unit-less values are refused (a count has the unit "1" or none). Unit spellings are exact, case included.
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

// "4096", "4k", "1m": k = 1024, m = 1024^2. nullopt: not an integer or out of range.
std::optional<std::int64_t> parse_count(std::string_view text);

}  // namespace tilescope
