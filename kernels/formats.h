// Values in the formats that kernels read and write: what rounding makes of them, as bytes and as numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel_api.h"

namespace tilescope::kernels {

// An array as a kernel sees it, and the numbers that this stands for.
struct Encoded {
  std::vector<unsigned char> raw;
  std::vector<std::uint16_t> scales;  // fp16 bits, one a scale_group; empty: the format has none
  float descale = 1.0f;               // fp8: of the whole array
  std::vector<float> values;
};

// Rounds `values` to the format. With scales, a group's is its largest magnitude over the largest code; fp8's descale
// is the array's largest magnitude over 448. The count must be a multiple of the scale_group.
Encoded encode(Dtype dtype, const std::vector<float>& values);

// The numbers that bytes in a format without scales stand for.
std::vector<float> decode(Dtype dtype, const std::vector<unsigned char>& raw);

// Bytes of that many values, without scales.
std::size_t bytes_of(Dtype dtype, std::int64_t values);
// Bytes of the scales of that many values.
std::size_t scale_bytes_of(Dtype dtype, std::int64_t values);

float half_to_float(std::uint16_t bits);

}  // namespace tilescope::kernels
