// Conversions to 8-bit floating point and their products, which only newer GPUs have.
#include "validate/microbench/memory/stream.cuh"
#include "validate/microbench/sm/mma.cuh"

namespace tilescope::validate {
namespace {

// Converts four values into one register, as kernels do, with two instructions.
struct CvtE4m3 {
  static __device__ __forceinline__ void step(unsigned& x, unsigned y) {
    asm volatile(
        "{.reg .b16 low, high; cvt.rn.satfinite.e4m3x2.f32 low, %1, %2; cvt.rn.satfinite.e4m3x2.f32 high, %2, %1;"
        " mov.b32 %0, {low, high};}"
        : "=r"(x)
        : "f"(operation::as_float(x)), "f"(operation::as_float(y)));
  }
};

struct MmaE4m3 {
  static constexpr bool emulated = true;  // on Hopper: unpacked to fp16, with separate additions
  static __device__ __forceinline__ void step(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " TILESCOPE_MMA_OPERANDS
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

}  // namespace

void measure_hopper_pipes(Microbench& bench) {
  add_rate<CvtE4m3>(bench, "pipes.cvt_e4m3x2", "32 warps per SM, 8 chains per thread, two conversions per register", 2);
  add_mma<MmaE4m3>(bench, "tensor.mma.fp8_e4m3", "tensor.mma_latency.fp8_e4m3", "m16n8k32");
}

}  // namespace tilescope::validate
