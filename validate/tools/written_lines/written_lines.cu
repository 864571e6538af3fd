// Where an SM finds lines that an earlier launch has written: in its own partition of the L2 or in the other one, and
// what a block waits for that loads them. Prints JSON; with a head dimension (64 or 128) it launches `combine` of
// split_kv, one row of so many parts, right after its input was written, for Nsight Compute:
//   nvcc -O3 -std=c++20 -arch=sm_90a -I kernels -I src -I . -o written_lines
//   validate/tools/written_lines/written_lines.cu ncu --cache-control none --clock-control none --metrics
//   sm__cycles_active.max -k regex:combine ./written_lines 128
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "split_kv/combine.cuh"

namespace {

constexpr int line = 128, each_lines = 4096, all_lines = 32768, steps = 64;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

char* allocated(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, bytes));
  check(cudaMemset(data, 0, bytes));
  return static_cast<char*>(data);
}

void flush() {
  static char* const large = allocated(std::size_t{512} << 20);
  check(cudaMemset(large, 1, std::size_t{512} << 20));
}

__device__ int own_sm() {
  int id = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// Zeros. `only` < 0: each warp of the launch every so many lines; else all of them by that SM.
__global__ void write_lines(char* data, int lines, int only) {
  if (only >= 0 && own_sm() != only) return;
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first = only < 0 ? blockIdx.x * warps + warp : warp, stride = only < 0 ? gridDim.x * warps : warps;
  for (int i = first; i < lines; i += stride)
    if (lane < 8) reinterpret_cast<float4*>(data + std::size_t(i) * line)[lane] = make_float4(0, 0, 0, 0);
}

// One thread of SM `sm`: clocks of a load of each line.
__global__ void each_line(const char* data, int lines, int sm, unsigned* clocks) {
  if (threadIdx.x != 0 || own_sm() != sm) return;
  unsigned offset = 0;
  for (int i = 0; i < lines; ++i) {
    unsigned value;
    const long long begin = clock64();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(data + std::size_t(i) * line + offset) : "memory");
    offset = value & 1u;  // zero, but the next load depends on it
    clocks[i] = static_cast<unsigned>(clock64() + offset - begin);
  }
}

// A block of SM `sm`: in each step a warp loads `loads` parts of `width` lines and waits for them. Warps take turns.
template <int loads>
__global__ void wait_for_parts(const char* data, int width, int sm, long long* clocks) {
  if (own_sm() != sm) return;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, apart = 4 * width;
  const char* at = data + std::size_t(warp) * width * line + lane % (8 * width) * 16;
  float sum = 0;
  __syncthreads();
  const long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    float4 v[loads];
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const char* const from = at + (std::size_t(i) * loads + l) * apart * line;
      asm volatile("ld.global.cs.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(v[l].x), "=f"(v[l].y), "=f"(v[l].z), "=f"(v[l].w)
                   : "l"(from)
                   : "memory");
    }
#pragma unroll
    for (int l = 0; l < loads; ++l) sum += v[l].x + v[l].y + v[l].z + v[l].w;
    at += __float_as_int(sum) & 1;  // zero, but the next loads depend on it
  }
  const long long end = clock64() + (__float_as_int(sum) & 1);
  if (lane == 0) clocks[warp] = end - begin;
}

void print_latencies(int units, char* data) {
  unsigned* const clocks = reinterpret_cast<unsigned*>(allocated(each_lines * sizeof(unsigned)));
  const struct {
    const char* name;
    int writer, reader;
  } befores[] = {{"written by all", -1, -1},
                 {"written by SM 0", 0, -1},
                 {"written by the last SM", units - 1, -1},
                 {"written by all, then read by SM 0", -1, 0}};
  std::vector<unsigned> host(each_lines);
  std::printf("\"latency\":[");
  const char* comma = "";
  for (const auto& before : befores)
    for (const int sm : {0, 1, 2, 5, units / 2, units - 1}) {
      flush();
      write_lines<<<units, 128>>>(data, each_lines, before.writer);
      if (before.reader >= 0) each_line<<<units, 32>>>(data, each_lines, before.reader, clocks);
      each_line<<<units, 32>>>(data, each_lines, sm, clocks);
      check(cudaDeviceSynchronize());
      check(cudaMemcpy(host.data(), clocks, each_lines * sizeof(unsigned), cudaMemcpyDeviceToHost));
      std::printf("%s{\"before\":\"%s\",\"sm\":%d,\"clocks\":[", comma, before.name, sm), comma = ",";
      for (int i = 0; i < each_lines; ++i) std::printf("%s%u", i > 0 ? "," : "", host[i]);
      std::printf("]}");
    }
  std::printf("]");
}

void print_waits(int units, char* data) {
  long long* const clocks = reinterpret_cast<long long*>(allocated(8 * sizeof(long long)));
  std::vector<long long> host(8);
  std::printf("\"waits\":[");
  const char* comma = "";
  for (const int sm : {0, 1, 2, 5, units / 2, units - 1})
    for (const int warps : {1, 4})
      for (const int loads : {1, 2})
        for (const int width : {1, 2, 4})
          for (const bool again : {false, true}) {  // again: what the same SM has just read
            if (!again) write_lines<<<units, 128>>>(data, all_lines, -1);
            if (loads == 1) wait_for_parts<1><<<units, 32 * warps>>>(data, width, sm, clocks);
            else wait_for_parts<2><<<units, 32 * warps>>>(data, width, sm, clocks);
            check(cudaDeviceSynchronize());
            check(cudaMemcpy(host.data(), clocks, warps * sizeof(long long), cudaMemcpyDeviceToHost));
            const double slowest = static_cast<double>(*std::max_element(host.begin(), host.begin() + warps));
            std::printf("%s{\"sm\":%d,\"warps\":%d,\"loads\":%d,\"width\":%d,\"again\":%s,\"clocks_a_wait\":%.1f}",
                        comma, sm, warps, loads, width, again ? "true" : "false", slowest / steps);
            comma = ",";
          }
  std::printf("]");
}

void launch_combine(int units, int head_dim) {
  using namespace tilescope::kernels::split_kv;
  char *const o_part = allocated(4 << 20), *const l_part = allocated(1 << 20), *const o = allocated(1 << 20);
  for (const int splits : {5, 8, 16, 31, 32, 54, 60, 120, 195, 219, 252, 277, 304, 328, 344})
    for (int i = 0; i < 3; ++i) {
      write_lines<<<units, 128>>>(o_part, splits * head_dim * 4 / line, -1);
      write_lines<<<units, 128>>>(l_part, 32, -1);
      const CombineParams params{.o_part = reinterpret_cast<float*>(o_part),
                                 .l_part = reinterpret_cast<float*>(l_part),
                                 .o = o,
                                 .l = nullptr,
                                 .rows = 1,
                                 .splits = splits};
      if (head_dim == 64) combine<__half, 64><<<1, 128>>>(params);
      else combine<__half, 128><<<1, 128>>>(params);
    }
  check(cudaDeviceSynchronize());
}

}  // namespace

int main(int count, char** words) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  if (count > 1) return launch_combine(device.multiProcessorCount, std::atoi(words[1])), 0;
  char* const data = allocated(std::size_t(all_lines) * line + 4096);
  std::printf("{\"gpu\":\"%s\",", device.name);
  print_latencies(device.multiProcessorCount, data);
  std::printf(",");
  print_waits(device.multiProcessorCount, data);
  std::printf("}\n");
}
