// One instruction each, named by the profile field that it measures. `step` combines two values into a new one, so that
// results depend on all previous steps. All values are bits in 32-bit registers.
#pragma once

namespace tilescope::validate::operation {

__device__ __forceinline__ float as_float(unsigned bits) { return __uint_as_float(bits); }
__device__ __forceinline__ unsigned as_bits(float value) { return __float_as_uint(value); }

#define TILESCOPE_UNARY(name, text)                                      \
  struct name {                                                          \
    static __device__ __forceinline__ void step(unsigned& x, unsigned) { \
      float f = as_float(x);                                             \
      asm volatile(text : "+f"(f));                                      \
      x = as_bits(f);                                                    \
    }                                                                    \
  };
#define TILESCOPE_BINARY(name, text)                                       \
  struct name {                                                            \
    static __device__ __forceinline__ void step(unsigned& x, unsigned y) { \
      float f = as_float(x);                                               \
      asm volatile(text : "+f"(f) : "f"(as_float(y)));                     \
      x = as_bits(f);                                                      \
    }                                                                      \
  };
#define TILESCOPE_INTEGER(name, text)                                                                               \
  struct name {                                                                                                     \
    static __device__ __forceinline__ void step(unsigned& x, unsigned y) { asm volatile(text : "+r"(x) : "r"(y)); } \
  };

TILESCOPE_UNARY(Ex2, "ex2.approx.ftz.f32 %0, %0;")
TILESCOPE_UNARY(Lg2, "lg2.approx.ftz.f32 %0, %0;")
TILESCOPE_BINARY(Ffma, "fma.rn.ftz.f32 %0, %0, %1, %1;")
TILESCOPE_BINARY(Fadd, "add.rn.ftz.f32 %0, %0, %1;")
TILESCOPE_BINARY(Fmul, "mul.rn.ftz.f32 %0, %0, %1;")
TILESCOPE_BINARY(Max, "max.ftz.f32 %0, %0, %1;")
TILESCOPE_INTEGER(Lop3, "lop3.b32 %0, %0, %1, 0x5a5a5a5a, 0x6a;")
TILESCOPE_INTEGER(Iadd3, "{.reg .b32 t; add.u32 t, %0, %1; add.u32 %0, t, 77;}")
TILESCOPE_INTEGER(Prmt, "prmt.b32 %0, %0, %1, %1;")
TILESCOPE_INTEGER(Shuffle, "shfl.sync.bfly.b32 %0, %0, 1, 31, -1;")

// The assembler simplifies 1 / (1 / x) to x; a bit operation in between prevents that.
struct Rcp {
  static __device__ __forceinline__ void step(unsigned& x, unsigned) {
    asm volatile("{.reg .f32 t; mov.b32 t, %0; rcp.approx.ftz.f32 t, t; mov.b32 %0, t; xor.b32 %0, %0, 1;}" : "+r"(x));
  }
};
struct CvtF16x2 {
  static __device__ __forceinline__ void step(unsigned& x, unsigned y) {
    asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(as_float(x)), "f"(as_float(y)));
  }
};
struct CvtBf16x2 {
  static __device__ __forceinline__ void step(unsigned& x, unsigned y) {
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(as_float(x)), "f"(as_float(y)));
  }
};

#undef TILESCOPE_UNARY
#undef TILESCOPE_BINARY
#undef TILESCOPE_INTEGER

}  // namespace tilescope::validate::operation
