// Formats of K and V: how 32-bit words of stored codes, as ldmatrix delivers them, become operands of mma.sync.
//
// A 16-byte chunk of a key holds `chunk_values` elements. ldmatrix gives lane 4 r + t the word t of key r's chunk
// (plain, for K), or 2-byte unit r of the keys 2t and 2t + 1 (transposed, for V). The sum over d may run in any order,
// and output columns may be kept in any order, as long as Q and the epilogue use the same one. `q_column` and
// `o_column` give that order, so that codes are unpacked in place and need no shuffles.
#pragma once

#include "common/tensor_core.cuh"
#include "kernel_api.h"

namespace tilescope::kernels::split_kv {

// lop3 0x6a: (value & mask) ^ magic.
__device__ __forceinline__ std::uint32_t and_xor(std::uint32_t value, std::uint32_t mask, std::uint32_t magic) {
  std::uint32_t out;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;\n" : "=r"(out) : "r"(value), "r"(mask), "r"(magic));
  return out;
}

__device__ __forceinline__ float to_float(std::uint32_t pair, int half) {
  return __half2float(__ushort_as_half(static_cast<std::uint16_t>(half ? pair >> 16 : pair)));
}

__device__ __forceinline__ std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  std::uint32_t out;
  asm("prmt.b32 %0, %1, %2, %3;\n" : "=r"(out) : "r"(a), "r"(b), "r"(selector));
  return out;
}

// Pairs of fp16 values.
__device__ __forceinline__ std::uint32_t add_pair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out;
  asm("add.rn.f16x2 %0, %1, %2;\n" : "=r"(out) : "r"(a), "r"(b));
  return out;
}
__device__ __forceinline__ std::uint32_t multiply_pair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out;
  asm("mul.rn.f16x2 %0, %1, %2;\n" : "=r"(out) : "r"(a), "r"(b));
  return out;
}

// Per format:
//   Compute       element type of Q, P and the unpacked operands
//   chunk_values  elements of 16 bytes; chunk_steps = 16-element steps of Q K^T in a chunk = pairs of output blocks
//   lift          P is kept times 2^lift, so that P times the scales of V stays in the normal range of fp16
//   keys(word, step, b)    operand pair (b[0], b[1]) of step `step` of the chunk that `word` is part of
//   values(word, block)    operand half of output block `block` of the chunk: its keys 2t (low) and 2t + 1 (high)
//   q_column(step, part, i, t)  column within the chunk that element i of operand half `part` multiplies
//   o_column(block, i, t)       column within the chunk of element i (0, 1) that lane t holds of output block `block`
template <class T>
struct Plain {
  using Compute = T;
  static constexpr int chunk_values = 8, lift = 0, scale_group = 0;
  static constexpr __host__ __device__ int o_column(int, int i, int t) { return 2 * t + i; }
  static __device__ __forceinline__ std::uint32_t values(std::uint32_t word, int) { return word; }
};

struct Fp8 {
  using Compute = __half;
  static constexpr int chunk_values = 16, lift = 0, scale_group = 0;
  static constexpr __host__ __device__ int q_column(int, int part, int i, int t) { return 4 * t + 2 * part + i; }
  static constexpr __host__ __device__ int o_column(int block, int i, int t) { return 4 * t + 2 * i + block; }
  static __device__ __forceinline__ std::uint32_t convert(std::uint32_t word, int half) {
    std::uint32_t out;
    const auto codes = static_cast<std::uint16_t>(half ? word >> 16 : word);
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;\n" : "=r"(out) : "h"(codes));
    return out;
  }
  static __device__ __forceinline__ void keys(std::uint32_t word, int, std::uint32_t (&b)[2]) {
    b[0] = convert(word, 0), b[1] = convert(word, 1);
  }
  // Bytes of a transposed word: key 2t's columns 2r and 2r + 1, then key 2t + 1's.
  static __device__ __forceinline__ std::uint32_t values(std::uint32_t word, int block) {
    return convert(permute(word, word, 0x3120), block);
  }
};

// A code v in the low byte of 0x6400 is the fp16 number 1024 + (v + 128).
struct Int8 {
  using Compute = __half;
  static constexpr int chunk_values = 16, lift = 7, scale_group = kernels::scale_group(Dtype::int8);
  static constexpr __host__ __device__ int q_column(int, int part, int i, int t) { return 4 * t + 2 * part + i; }
  static constexpr __host__ __device__ int o_column(int block, int i, int t) { return 4 * t + 2 * i + block; }
  static __device__ __forceinline__ std::uint32_t convert(std::uint32_t word, std::uint32_t selector) {
    return add_pair(permute(word ^ 0x80808080u, 0x64646464u, selector), 0xe480e480u);  // - 1152
  }
  static __device__ __forceinline__ void keys(std::uint32_t word, int, std::uint32_t (&b)[2]) {
    b[0] = convert(word, 0x4140), b[1] = convert(word, 0x4342);
  }
  static __device__ __forceinline__ std::uint32_t values(std::uint32_t word, int block) {
    return convert(word, block ? 0x4341 : 0x4240);
  }
};

// A code v in bits 0-3 of 0x6400 is the fp16 number 1024 + (v + 8), once its sign bit is flipped; in bits 4-7 of
// 0x5400, whose last place is 1/16, it is 64 + (v + 8). V has the 1032 or 72 subtracted. K keeps them: the accumulator
// of the product with Q starts from -(1032, 72) Q instead, and the scales are applied to the sums. The rounding error
// of the 32 columns of a scale is at most 1032 * 2^-24 of their largest partial sum, far below the rounding of the
// codes.
struct Int4 {
  using Compute = __half;
  static constexpr int chunk_values = 32, lift = 3, scale_group = kernels::scale_group(Dtype::int4);
  static constexpr std::uint32_t minus_1032 = 0xe408e408u, minus_72 = 0xd480d480u;  // pairs: even, odd nibbles' bases
  // Nibbles n and n + 4 of a word share one register; steps take the nibbles (0, 4), (1, 5) and (2, 6), (3, 7).
  static constexpr __host__ __device__ int q_column(int step, int part, int i, int t) {
    return 8 * t + 4 * i + 2 * step + part;
  }
  // Nibbles of a transposed word: key 2t's columns 4r ... 4r + 3, then key 2t + 1's.
  static constexpr __host__ __device__ int o_column(int block, int i, int t) { return 8 * t + 4 * i + block; }
  static __device__ __forceinline__ std::uint32_t based(std::uint32_t word, int nibble) {
    const std::uint32_t shifted = nibble < 2 ? word : word >> 8;
    return nibble % 2 == 0 ? and_xor(shifted, 0x000f000fu, 0x64086408u) : and_xor(shifted, 0x00f000f0u, 0x54805480u);
  }
  static __device__ __forceinline__ void keys(std::uint32_t word, int step, std::uint32_t (&b)[2]) {
    b[0] = based(word, 2 * step), b[1] = based(word, 2 * step + 1);
  }
  // `sum` less what the bases of K's codes add to the product with two columns of Q, of operand half `part`.
  static __device__ __forceinline__ void add_offset(float& sum, std::uint32_t q, int part) {
    const float base = part == 0 ? -1032.0f : -72.0f;
    sum = __fmaf_rn(to_float(q, 0), base, sum), sum = __fmaf_rn(to_float(q, 1), base, sum);
  }
  static __device__ __forceinline__ std::uint32_t values(std::uint32_t word, int nibble) {
    return add_pair(based(word, nibble), nibble % 2 == 0 ? minus_1032 : minus_72);
  }
};

}  // namespace tilescope::kernels::split_kv
