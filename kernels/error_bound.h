// The error that a correct kernel may make against the double-precision oracle.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernel_api.h"
#include "oracle.h"

namespace tilescope::kernels {

// From the formats alone; inputs are exact, as the oracle reads them.
//   - S: fp32 accumulation of d products; a K with scales is rounded once more when they are applied; kernels
//     that store S round it: |dS| <= delta. The tensor cores add up products of e4m3 in fewer bits than fp32 has: on an
//     H200 a step of 32 products erred by up to 2^-11.9 of all that is added up (fused_fp8/README.md); 2^-11 is let
//     pass.
//   - P: relative error of numerator and denominator, 2 delta, plus rounding to the format in which P V computes, u_p,
//     and an absolute error a key near zero, weighted by sum P |V|. A V with scales is rounded once more.
//   - O: fp32 accumulation of kv_len terms, whose rounding errors add up like a random walk (4 deviations of 2^-24 a
//     step, at least 2^-20), and rounding to the dtype, u |O|. Where O is stored at every tile, what is there then
//     is part of the sum that P |V| bounds, so that a visit adds u (and the smallest step) of that at most.
struct ErrorBound {
  double o_relative = 0, o_weight = 0, o_absolute = 0;
  double delta = 0;  // of the scaled scores, and so of L before its rounding

  // `weight`: sum over keys of P |V| behind the element.
  double of_output(double o, double weight) const { return o_relative * std::abs(o) + o_weight * weight + o_absolute; }
};

// Of row `row` of the oracle's result.
ErrorBound error_bound(const Variant& variant, const OracleResult& oracle, std::size_t row, std::int64_t kv_len);

// Half a unit in the last place of 1; of formats with scales, that of fp16, which they are converted to.
double half_unit(Dtype dtype);

}  // namespace tilescope::kernels
