// Number formats: width, and the scale bytes that block formats carry along.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"

namespace tilescope {

// int32 holds places (block tables) and is not offered for values.
enum class Format { fp32, tf32, bf16, fp16, fp8_e4m3, fp8_e5m2, int8, int4, int32 };
struct FormatRow {
  Format value;
  std::string_view name;
  int bits;
  bool of_values;  // arrays of values may have it
};
template <>
struct EnumTable<Format> {
  static constexpr std::array rows{
      FormatRow{Format::fp32, "fp32", 32, true},        FormatRow{Format::tf32, "tf32", 32, true},
      FormatRow{Format::bf16, "bf16", 16, true},        FormatRow{Format::fp16, "fp16", 16, true},
      FormatRow{Format::fp8_e4m3, "fp8_e4m3", 8, true}, FormatRow{Format::fp8_e5m2, "fp8_e5m2", 8, true},
      FormatRow{Format::int8, "int8", 8, true},         FormatRow{Format::int4, "int4", 4, true},
      FormatRow{Format::int32, "int32", 32, false}};
};
inline constexpr std::size_t format_count = kind_count<Format>;
constexpr int bits(Format format) { return properties(format).bits; }

// A format plus optional scales: one scale of `scale_bytes` per `scale_group` consecutive values along the array's
// last axis. "int4:g32:b2" reads int4 with a 2-byte scale per 32 values. tf32 is stored in 4 bytes.
struct Dtype {
  Format format = Format::fp16;
  std::int64_t scale_group = 0;  // 0: no scales
  std::int64_t scale_bytes = 0;

  friend bool operator==(const Dtype&, const Dtype&) = default;
};

std::string to_string(const Dtype& dtype);
std::optional<Dtype> parse_dtype(std::string_view text);  // nullopt: not a dtype
std::vector<std::string> dtype_names();

}  // namespace tilescope
