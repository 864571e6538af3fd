// Rules of the simulated SM: what it costs a warp's threads to meet again behind code that none of them skipped, and
// how long a warp waits for a value that it reads of itself.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o meetings
//   validate/tools/sm_rules/meetings.cu && ./meetings
// A round is 16 blocks of 12 stores to shared memory. Before each is a branch over it, which depends on the thread and
// which all threads take (`skipped`) or none (`not skipped`), or there is no branch (`no branch`). `warp number`: 16
// reads of the warp's number, each waited for. Prints a line a case: clocks of one of the 16.
#include <vector>

#include "set_up.cuh"

enum Mode { skipped, not_skipped, no_branch, warp_number, modes };
constexpr const char* names[] = {"skipped", "not skipped", "no branch", "warp number"};
constexpr int rounds = 200, of_round = 16;

template <int mode>
__global__ void meetings(int zero, unsigned* out) {
  __shared__ unsigned area[64];
  const int own = zero + (static_cast<int>(threadIdx.x) >> 30);  // 0, but the compiler cannot know it
  unsigned x = threadIdx.x;
  const std::uint32_t at = shared_at(area);
  const unsigned t0 = now();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int i = 0; i < of_round; ++i) {
      if (mode == warp_number) {
        unsigned y;
        asm volatile("mov.u32 %0, %%warpid;" : "=r"(y)::"memory");
        asm volatile("xor.b32 %0, %0, %1;" : "+r"(x) : "r"(y) : "memory");
        continue;
      }
      const bool never = own == i - 100 - r;
      if (mode == no_branch || (mode == not_skipped ? !never : never)) {
#pragma unroll
        for (int j = 0; j < 12; ++j)
          asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at + 4 * j), "r"(x + i * j) : "memory");
      }
      asm volatile("add.u32 %0, %0, 1;" : "+r"(x));
    }
  }
  const unsigned t1 = now();
  if (threadIdx.x == 0) out[0] = t1 - t0;
  if (x == 12345) out[1] = x;
}

unsigned* out;

template <int mode>
void print() {
  for (const int warps : {1, 4, 8}) {
    for (int i = 0; i < 2; ++i) meetings<mode><<<1, warps * 32>>>(0, out);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    unsigned clocks = 0;
    CHECK(cudaMemcpy(&clocks, out, sizeof clocks, cudaMemcpyDeviceToHost));
    std::printf("%s, %d warps: %.2f\n", names[mode], warps, clocks / double(rounds * of_round));
  }
}

int main() {
  out = begin(2);
  print<skipped>(), print<not_skipped>(), print<no_branch>(), print<warp_number>();
}
