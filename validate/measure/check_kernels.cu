// Kernels whose memory traffic and instruction counts are known exactly (see counter_check.cpp). No fmt here: nvcc
// cannot compile fmt 9 as a header.
#include <cuda_runtime.h>

#include "validate/measure/check_kernels.h"
#include "validate/measure/cuda_check.h"

namespace tilescope::validate {
namespace {

constexpr unsigned blocks = check_blocks, threads = check_threads;

__global__ void copy_kernel(const uint4* from, uint4* to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}

__global__ void write_kernel(uint4* to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    to[i] = make_uint4(static_cast<unsigned>(i), 2, 3, 4);
  }
}

// Per warp and round: one ldmatrix.x4 (512 B), one ldmatrix.x4.trans, one ldmatrix.x2 (256 B), two mma m16n8k16,
// 16-byte and 4-byte shared loads and stores without bank conflicts.
__global__ void instruction_kernel(const void* from, float* out, int rounds_left) {
  __shared__ __align__(128) unsigned tile[2048];
  for (unsigned i = threadIdx.x; i < 2048; i += blockDim.x) tile[i] = i;
  __syncthreads();
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  const unsigned lane = threadIdx.x % 32;
  unsigned a[4], b[4], c[2];
  float d[4] = {0, 0, 0, 0};
  for (int round = 0; round < rounds_left; ++round) {
    const unsigned row = base + (lane * 16 + static_cast<unsigned>(round) * 512) % 4096;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(c[0]), "=r"(c[1]) : "r"(row));
    for (int half = 0; half < 2; ++half) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * half] ^ c[half]), "r"(b[2 * half + 1]));
    }
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(base + lane * 16),
                 "l"(static_cast<const char*>(from) + lane * 16));
    asm volatile("cp.async.wait_all;");
    unsigned wide[4], narrow;
    const unsigned wide_at = base + lane * 16;
    // A different address each round; otherwise the assembler forwards the last store to this load.
    const unsigned narrow_at = base + 4096 + (lane * 4 + static_cast<unsigned>(round) * 128) % 4096;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(wide[0]), "=r"(wide[1]), "=r"(wide[2]), "=r"(wide[3])
                 : "r"(wide_at));
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(narrow) : "r"(narrow_at));
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(wide_at), "r"(wide[0]), "r"(wide[1]), "r"(wide[2]),
                 "r"(wide[3]));
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(narrow_at), "r"(narrow));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

// Per thread and round: one exp2 (no conversion, no denormal handling), one FFMA, one FADD, one FMUL.
__global__ void math_kernel(float* out, int rounds_left) {
  float x = static_cast<float>(threadIdx.x) * 0x1p-10f, y = x, z = x;
  for (int round = 0; round < rounds_left; ++round) {
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(y) : "f"(z));
    asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(z) : "f"(x));
    asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(y));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x + y + z;
}

}  // namespace

void run_copy(const void* from, void* to, std::size_t bytes) {
  copy_kernel<<<blocks, threads>>>(static_cast<const uint4*>(from), static_cast<uint4*>(to), bytes / sizeof(uint4));
  check_cuda(cudaGetLastError(), "copy_kernel");
}

void run_write(void* to, std::size_t bytes) {
  write_kernel<<<blocks, threads>>>(static_cast<uint4*>(to), bytes / sizeof(uint4));
  check_cuda(cudaGetLastError(), "write_kernel");
}

void run_instructions(const void* from, float* out, int rounds) {
  instruction_kernel<<<blocks, threads>>>(from, out, rounds);
  check_cuda(cudaGetLastError(), "instruction_kernel");
}

void run_math(float* out, int rounds) {
  math_kernel<<<blocks, threads>>>(out, rounds);
  check_cuda(cudaGetLastError(), "math_kernel");
}

}  // namespace tilescope::validate
