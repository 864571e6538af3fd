#include "validate/microbench/sm/mma.cuh"

namespace tilescope::validate {
namespace {

#define TILESCOPE_MMA(name, shape)                                                                                  \
  struct name {                                                                                                     \
    static constexpr bool emulated = false;                                                                         \
    static __device__ __forceinline__ void step(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { \
      asm volatile("mma.sync.aligned." shape " " TILESCOPE_MMA_OPERANDS                                             \
                   : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                                 \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                             \
    }                                                                                                               \
  };

TILESCOPE_MMA(MmaFp16, "m16n8k16.row.col.f32.f16.f16.f32")
TILESCOPE_MMA(MmaBf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
TILESCOPE_MMA(MmaInt8, "m16n8k32.row.col.s32.s8.s8.s32")

#undef TILESCOPE_MMA

struct MmaHalfDepth {
  static constexpr bool emulated = false;
  static __device__ __forceinline__ void step(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  }
};

}  // namespace

void measure_mma(Microbench& bench) {
  add_mma<MmaFp16>(bench, "tensor.mma.fp16", "tensor.mma_latency.fp16", "m16n8k16");
  add_mma<MmaBf16>(bench, "tensor.mma.bf16", "tensor.mma_latency.bf16", "m16n8k16");
  add_mma<MmaInt8>(bench, "tensor.mma.int8", "tensor.mma_latency.int8", "m16n8k32");
  add_mma<MmaHalfDepth>(bench, "tensor.mma_k8", "tensor.mma_k8_latency", "m16n8k8");
}

}  // namespace tilescope::validate
