#include "error_bound.h"

#include <algorithm>

namespace tilescope::kernels {
namespace {

// Half the smallest step of the format near 0, which is the error of values far below 1. P in e4m3 is held times 2^8.
double smallest(Dtype dtype) { return dtype == Dtype::fp16 ? 0x1p-25 : dtype == Dtype::fp8_e4m3 ? 0x1p-18 : 0.0; }
// The format in which a product computes: that of its operand, once scales have been applied.
Dtype computed(Dtype operand, Dtype out) {
  return scale_group(operand) != 0 || bits(operand) < bits(out) ? out : operand;
}

}  // namespace

double half_unit(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return 0x1p-24;
    case Dtype::bf16:
      return 0x1p-8;
    case Dtype::fp8_e4m3:
      return 0x1p-4;
    default:
      return 0x1p-11;  // fp16, and what int8 and int4 are converted to
  }
}

ErrorBound error_bound(const Variant& variant, const OracleResult& oracle, std::size_t row, std::int64_t kv_len) {
  const bool both_fp8 = variant.dtype_q() == Dtype::fp8_e4m3 && variant.dtype_v() == Dtype::fp8_e4m3;
  const Dtype p_dtype = both_fp8 ? Dtype::fp8_e4m3 : computed(variant.dtype_v(), variant.dtype);
  const double u = half_unit(variant.dtype), u_p = half_unit(p_dtype);
  const double u_k = scale_group(variant.dtype_k()) != 0 ? half_unit(variant.dtype) : 0.0;
  const double u_v = scale_group(variant.dtype_v()) != 0 ? half_unit(variant.dtype) : 0.0;
  double delta = (0x1p-20 + u_k) * (1.0 + oracle.dot[row]);
  if (variant.dtype_q() == Dtype::fp8_e4m3) delta += 0x1p-11 * (variant.head_dim / 32) * oracle.dot[row];
  const Results results = results_of(variant);
  if (results.rounds_scores) delta += u * oracle.score[row] + smallest(variant.dtype);
  const double accumulation = std::max(0x1p-20, 4 * 0x1p-24 * std::sqrt(static_cast<double>(kv_len)));
  const double near_zero = smallest(p_dtype) * static_cast<double>(kv_len) * oracle.value_max;
  const double visits = results.rounds_output_every_tile
                            ? std::ceil(static_cast<double>(kv_len) / static_cast<double>(variant.tile_kv))
                            : 0.0;
  return {u + 0x1p-20, std::expm1(2 * delta) + u_p + u_v + accumulation + visits * (u + 0x1p-20),
          near_zero + 0x1p-25 + visits * smallest(variant.dtype), delta};
}

}  // namespace tilescope::kernels
