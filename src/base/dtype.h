// Number formats: their bits, and the scales that belong to values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"

namespace tilescope {

// The mx formats and nvfp4 are block formats: groups of values share a scale. int32 holds places (block tables) and is
// not offered for values.
enum class Format {
  fp32,
  tf32,
  bf16,
  fp16,
  fp8_e4m3,
  fp8_e5m2,
  fp6_e2m3,
  fp6_e3m2,
  fp4_e2m1,
  mxfp8_e4m3,
  mxfp8_e5m2,
  mxfp6_e2m3,
  mxfp6_e3m2,
  mxfp4,
  mxint8,
  nvfp4,
  int8,
  int4,
  int32
};

// What belongs to the values of an array beside themselves: one scale, and one zero point, for each `group` consecutive
// values along the array's last axis, and one scale for all of it.
struct Scales {
  std::int64_t group = 0;         // 0: none
  std::int64_t bytes = 0;         // of a group's scale
  std::int64_t zero_bits = 0;     // of a group's zero point; 0: none
  std::int64_t tensor_bytes = 0;  // of the array's scale; 0: none

  friend bool operator==(const Scales&, const Scales&) = default;
};

struct FormatRow {
  Format value;
  std::string_view name, short_name;  // short_name: what may be written instead, empty: nothing
  int bits;                           // of a value, as it is stored: tf32 takes 4 bytes
  int exponent, fraction;             // bits of them; an integer's exponent is 0, its fraction all but the sign
  bool of_values;                     // arrays of values may have it
  Format element;                     // of a block format: that of its values; else itself
  Scales scales;                      // of a block format
};
// Bits and block sizes: OCP 8-bit Floating Point Specification (OFP8) 1.0, OCP Microscaling Formats (MX) Specification
// 1.0 (table 1: blocks of 32 with an E8M0 scale), and for nvfp4 (blocks of 16 with an E4M3 scale, one fp32 scale for
// all) NVIDIA's description of the format.
template <>
struct EnumTable<Format> {
  using F = Format;
  static constexpr Scales none{}, mx{.group = 32, .bytes = 1}, nv{.group = 16, .bytes = 1, .tensor_bytes = 4};
  static constexpr std::array rows{FormatRow{F::fp32, "fp32", "", 32, 8, 23, true, F::fp32, none},
                                   FormatRow{F::tf32, "tf32", "", 32, 8, 10, true, F::tf32, none},
                                   FormatRow{F::bf16, "bf16", "", 16, 8, 7, true, F::bf16, none},
                                   FormatRow{F::fp16, "fp16", "", 16, 5, 10, true, F::fp16, none},
                                   FormatRow{F::fp8_e4m3, "fp8_e4m3", "fp8", 8, 4, 3, true, F::fp8_e4m3, none},
                                   FormatRow{F::fp8_e5m2, "fp8_e5m2", "", 8, 5, 2, true, F::fp8_e5m2, none},
                                   FormatRow{F::fp6_e2m3, "fp6_e2m3", "fp6", 6, 2, 3, true, F::fp6_e2m3, none},
                                   FormatRow{F::fp6_e3m2, "fp6_e3m2", "", 6, 3, 2, true, F::fp6_e3m2, none},
                                   FormatRow{F::fp4_e2m1, "fp4_e2m1", "fp4", 4, 2, 1, true, F::fp4_e2m1, none},
                                   FormatRow{F::mxfp8_e4m3, "mxfp8_e4m3", "mxfp8", 8, 8, 3, true, F::fp8_e4m3, mx},
                                   FormatRow{F::mxfp8_e5m2, "mxfp8_e5m2", "", 8, 8, 2, true, F::fp8_e5m2, mx},
                                   FormatRow{F::mxfp6_e2m3, "mxfp6_e2m3", "mxfp6", 6, 8, 3, true, F::fp6_e2m3, mx},
                                   FormatRow{F::mxfp6_e3m2, "mxfp6_e3m2", "", 6, 8, 2, true, F::fp6_e3m2, mx},
                                   FormatRow{F::mxfp4, "mxfp4", "", 4, 8, 1, true, F::fp4_e2m1, mx},
                                   FormatRow{F::mxint8, "mxint8", "", 8, 8, 7, true, F::int8, mx},
                                   FormatRow{F::nvfp4, "nvfp4", "", 4, 5, 5, true, F::fp4_e2m1, nv},
                                   FormatRow{F::int8, "int8", "", 8, 0, 7, true, F::int8, none},
                                   FormatRow{F::int4, "int4", "", 4, 0, 3, true, F::int4, none},
                                   FormatRow{F::int32, "int32", "", 32, 0, 31, false, F::int32, none}};
};
inline constexpr std::size_t format_count = kind_count<Format>;
constexpr int bits(Format format) { return properties(format).bits; }
std::optional<Format> parse_format(std::string_view text);  // by its name or short name; nullopt: no format of values

// A format and its scales. "int4:g32:b2" reads int4 with a 2-byte scale for 32 values; ":z4" adds a zero point of 4
// bits to each of them, ":t4" a scale of 4 bytes for the whole array. A block format has its own scales.
struct Dtype {
  Format format = Format::fp16;
  std::int64_t scale_group = 0;  // 0: no scales
  std::int64_t scale_bytes = 0, zero_bits = 0, tensor_bytes = 0;

  friend bool operator==(const Dtype&, const Dtype&) = default;
};

Dtype dtype_of(Format format);  // with the scales of a block format
std::string to_string(const Dtype& dtype);
std::optional<Dtype> parse_dtype(std::string_view text);  // nullopt: not a dtype
std::vector<std::string> dtype_names();

// Bytes of `rows` rows of `length` values. In every row values are packed without gaps and end at a whole byte; so do
// the zero points. The last group of a row may be shorter. Without the scale of the whole array. Throws CountOverflow.
std::int64_t row_bytes(const Dtype& dtype, std::int64_t rows, std::int64_t length);
std::int64_t row_value_bytes(const Dtype& dtype, std::int64_t rows, std::int64_t length);  // the same without scales

}  // namespace tilescope
