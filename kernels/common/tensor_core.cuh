// The instructions of the tensor-core kernels: cp.async, ldmatrix, mma.sync, ex2. Each function is one instruction, so
// that a kernel's executed instructions can be counted in its source.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace tilescope::kernels::device {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes global -> shared, asynchronously, past L1. A row that is out of range (valid == false) becomes zeros and
// reads nothing from memory.
__device__ __forceinline__ void copy_async_16(std::uint32_t destination, const void* source, bool valid) {
  asm volatile(
      "{\n .reg .pred ignore;\n setp.eq.s32 ignore, %2, 0;\n"
      " cp.async.cg.shared.global [%0], [%1], 16, ignore;\n}\n" ::"r"(destination),
      "l"(source), "r"(static_cast<int>(valid))
      : "memory");
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }

// Waits until at most `pending` of this thread's newest groups are unfinished.
template <int pending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(pending) : "memory");
}

struct Fragment4 {
  std::uint32_t r[4];
};

__device__ __forceinline__ Fragment4 load_matrices(std::uint32_t address) {
  Fragment4 f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(f.r[0]), "=r"(f.r[1]), "=r"(f.r[2]), "=r"(f.r[3])
               : "r"(address));
  return f;
}

__device__ __forceinline__ Fragment4 load_matrices_transposed(std::uint32_t address) {
  Fragment4 f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(f.r[0]), "=r"(f.r[1]), "=r"(f.r[2]), "=r"(f.r[3])
               : "r"(address));
  return f;
}

// Stores 16 bytes to global memory with one explicit instruction. nvcc 13.0 splits a uint4 assignment into four 4-byte
// stores; those that L1 does not merge reach L2 as partially written sectors (up to 1.25x the bytes measured).
__device__ __forceinline__ void store_16(void* destination, const uint4& value) {
  asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};\n" ::"l"(destination), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

// a * b, executed also where the result is masked afterwards, so that the executed work depends on the tiles only.
__device__ __forceinline__ float multiply_always(float a, float b) {
  float product;
  asm volatile("mul.rn.f32 %0, %1, %2;\n" : "=f"(product) : "f"(a), "f"(b));
  return product;
}

// One MUFU.EX2 each. Without .ftz the compiler would add range handling. ex2(-inf) is 0.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float log2_fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float reciprocal_fast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

// Per dtype: the 16x8x16 product with fp32 accumulation, and two fp32 values to one packed register.
template <class T>
struct Element;

template <>
struct Element<__half> {
  static __device__ __forceinline__ void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  static __device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
  }
  static __device__ __forceinline__ float2 unpack(std::uint32_t packed) {
    return __half22float2(*reinterpret_cast<const __half2*>(&packed));
  }
};

template <>
struct Element<__nv_bfloat16> {
  static __device__ __forceinline__ void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  static __device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
  }
  static __device__ __forceinline__ float2 unpack(std::uint32_t packed) {
    return make_float2(__uint_as_float(packed << 16), __uint_as_float(packed & 0xffff0000u));
  }
};

}  // namespace tilescope::kernels::device
