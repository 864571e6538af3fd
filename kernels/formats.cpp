#include "formats.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilescope::kernels {
namespace {

std::uint16_t half_bits(float x) {
  const __half_raw bits = __float2half(x);
  return bits.x;
}

float bfloat_to_float(std::uint16_t bits) {
  __nv_bfloat16_raw raw;
  raw.x = bits;
  return __bfloat162float(__nv_bfloat16(raw));
}

float fp8_to_float(unsigned char code) {
  __half_raw raw = __nv_cvt_fp8_to_halfraw(code, __NV_E4M3);
  return __half2float(__half(raw));
}

float largest(const float* values, std::size_t count) {
  float most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, std::abs(values[i]));
  return most;
}

// A positive scale that maps the largest magnitude to the largest code.
float scale_for(float magnitude, float largest_code) { return magnitude > 0 ? magnitude / largest_code : 1.0f; }

void encode_groups(Dtype dtype, const std::vector<float>& values, Encoded& out) {
  const auto group = static_cast<std::size_t>(scale_group(dtype));
  const int most = dtype == Dtype::int8 ? 127 : 7;
  out.raw.assign(bytes_of(dtype, static_cast<std::int64_t>(values.size())), 0);
  out.values.resize(values.size());
  for (std::size_t first = 0; first < values.size(); first += group) {
    const std::uint16_t bits = half_bits(scale_for(largest(values.data() + first, group), static_cast<float>(most)));
    const float scale = half_to_float(bits);
    out.scales.push_back(bits);
    for (std::size_t i = first; i < first + group; ++i) {
      const int code = std::clamp(static_cast<int>(std::lround(scale > 0 ? values[i] / scale : 0.0f)), -most - 1, most);
      out.values[i] = static_cast<float>(code) * scale;
      if (dtype == Dtype::int8) out.raw[i] = static_cast<unsigned char>(code & 0xff);
      else out.raw[i / 2] = static_cast<unsigned char>(out.raw[i / 2] | (code & 0xf) << (i % 2 * 4));
    }
  }
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  __half_raw raw;
  raw.x = bits;
  return __half2float(__half(raw));
}

std::size_t bytes_of(Dtype dtype, std::int64_t values) {
  return static_cast<std::size_t>(values) * static_cast<std::size_t>(bits(dtype)) / 8;
}

std::size_t scale_bytes_of(Dtype dtype, std::int64_t values) {
  return scale_group(dtype) == 0 ? 0 : static_cast<std::size_t>(values / scale_group(dtype)) * 2;
}

Encoded encode(Dtype dtype, const std::vector<float>& values) {
  Encoded out;
  if (scale_group(dtype) != 0) {
    encode_groups(dtype, values, out);
    return out;
  }
  out.raw.resize(bytes_of(dtype, static_cast<std::int64_t>(values.size())));
  if (dtype == Dtype::fp8_e4m3) out.descale = scale_for(largest(values.data(), values.size()), 448.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == Dtype::fp32) {
      std::memcpy(out.raw.data() + i * 4, &values[i], 4);
    } else if (dtype == Dtype::fp8_e4m3) {
      out.raw[i] = __nv_cvt_float_to_fp8(values[i] / out.descale, __NV_SATFINITE, __NV_E4M3);
    } else {
      const __nv_bfloat16_raw bf16 = __float2bfloat16(values[i]);
      const std::uint16_t bits = dtype == Dtype::fp16 ? half_bits(values[i]) : bf16.x;
      std::memcpy(out.raw.data() + i * 2, &bits, 2);
    }
  }
  out.values = decode(dtype, out.raw);
  for (float& value : out.values) value *= out.descale;
  return out;
}

std::vector<float> decode(Dtype dtype, const std::vector<unsigned char>& raw) {
  const auto bytes = static_cast<std::size_t>(bits(dtype) / 8);
  std::vector<float> values(raw.size() / bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == Dtype::fp32) {
      std::memcpy(&values[i], raw.data() + i * 4, 4);
    } else if (dtype == Dtype::fp8_e4m3) {
      values[i] = fp8_to_float(raw[i]);
    } else {
      std::uint16_t bits;
      std::memcpy(&bits, raw.data() + i * 2, 2);
      values[i] = dtype == Dtype::fp16 ? half_to_float(bits) : bfloat_to_float(bits);
    }
  }
  return values;
}

}  // namespace tilescope::kernels
