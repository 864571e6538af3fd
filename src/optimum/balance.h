// The point at which a matmul changes from memory-bound to compute-bound. With H/K = M^-1/2 + (2b)^-1 values a FLOP (a,
// c grouped, b contracted or grown with the group), a machine of `flop_per_value` (peak FLOP/s over
// values/s) is compute-bound if H/K <= 1 / flop_per_value. (Napkin, arXiv 2412.03317, appendix B.1)
#pragma once

#include <limits>
#include <optional>

namespace tilescope {

// The least b (for attention: the least group of query rows) with a memory of `memory_values` a group;
// nullopt: no b suffices because the memory is too small.
std::optional<double> least_contraction(double flop_per_value,
                                        double memory_values = std::numeric_limits<double>::infinity());

// The least memory in values with unlimited b: flop_per_value^2.
double least_memory(double flop_per_value);

}  // namespace tilescope
