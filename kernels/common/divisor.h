// Exact unsigned division by a number the host knows: a multiplication on the device. A plain `/` would go through the
// reciprocal unit (MUFU and conversions), whose counter is compared with the exponentials that a kernel executes.
#pragma once

#include <cstdint>

namespace tilescope::kernels {

// n / value == high 64 bits of n * magic for all 32-bit n, with magic = ceil(2^64 / value) (Lemire, Kaser, Kurz,
// "Faster remainder by direct computation", 2019). value 1 has no 64-bit magic and is told apart.
struct Divisor {
  std::uint64_t magic = 0;
  std::uint32_t value = 1;
};

inline Divisor make_divisor(std::int64_t value) {
  const auto divisor = static_cast<std::uint64_t>(value);
  return {divisor == 1 ? 0 : ~std::uint64_t{0} / divisor + 1, static_cast<std::uint32_t>(value)};
}

#ifdef __CUDACC__
__device__ __forceinline__ std::uint32_t divide(std::uint32_t n, const Divisor& by) {
  return by.value == 1 ? n : static_cast<std::uint32_t>(__umul64hi(n, by.magic));
}
#endif

}  // namespace tilescope::kernels
