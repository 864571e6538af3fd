// Tiles that blocks read at different times: does the L2 serve SMs of a group together that read a tile some time one
// after the other, and do such blocks catch up with each other?
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o tile_sharers
//   validate/tools/sm_rules/tile_sharers.cu && ./tile_sharers
// Two blocks an SM copy tiles of 32 KiB, two in flight each, and spend `work` clocks on each tile. Prints a line a
// case: clocks of a tile in each eighth of the run, mean of all blocks, and bytes a clock of the whole device.
#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "common/mbarrier.cuh"
#include "set_up.cuh"

constexpr int tile = 32 << 10, stages = 2, steps = 400, parts = 8, private_tiles = 4;

struct Stream {  // of a block: tile (first + i) % count from `base` on
  unsigned base, first, count, delay;
};

__global__ void __launch_bounds__(32, 2)
    copy(const unsigned char* from, const Stream* streams, int work, unsigned* out, unsigned* sm) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ __align__(8) unsigned long long full[stages];
  const std::uint32_t to = (shared_at(dynamic) + 127) & ~127u, barrier = shared_at(full);
  const Stream stream = streams[blockIdx.x];
  if (threadIdx.x != 0) return;
  for (int i = 0; i < stages; ++i) init_barrier(barrier + 8 * i, 1);
  fence_barrier_init();
  const auto load = [&](int i) {
    arrive_expect(barrier + 8 * (i % stages), tile);
    const unsigned char* at = from + std::size_t(stream.base + (stream.first + i) % stream.count) * tile;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     to + i % stages * tile),
                 "l"(at), "r"(tile), "r"(barrier + 8 * (i % stages))
                 : "memory");
  };
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm[blockIdx.x]));
  const unsigned begin = now();
  while (now() - begin < 20000 + stream.delay) {
  }
  for (int i = 0; i < stages; ++i) load(i);
  unsigned last = now();
  for (int i = 0; i < steps; ++i) {
    wait_barrier(barrier + 8 * (i % stages), i / stages % 2);
    const unsigned start = now();
    while (static_cast<int>(now() - start) < work) {
    }
    if (i + stages < steps) load(i + stages);
    if ((i + 1) % (steps / parts) == 0) {
      const unsigned t = now();
      out[blockIdx.x * parts + i / (steps / parts)] = t - last, last = t;
    }
  }
}

const unsigned char* from;
Stream* streams;
unsigned *out, *sm;
int sms;

std::vector<unsigned> measure(const std::string& name, const std::vector<Stream>& of, int work) {
  const int blocks = static_cast<int>(of.size());
  CHECK(cudaMemcpy(streams, of.data(), of.size() * sizeof(Stream), cudaMemcpyHostToDevice));
  CHECK(cudaFuncSetAttribute(copy, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
  for (int i = 0; i < 2; ++i) copy<<<blocks, 32, 100 << 10>>>(from, streams, work, out, sm);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<unsigned> clocks(blocks * parts), place(blocks);
  CHECK(cudaMemcpy(clocks.data(), out, clocks.size() * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(place.data(), sm, place.size() * 4, cudaMemcpyDeviceToHost));
  std::printf("%-44s work %4d:", name.c_str(), work);
  double all = 0;
  for (int p = 0; p < parts; ++p) {
    double sum = 0;
    for (int b = 0; b < blocks; ++b) sum += clocks[b * parts + p];
    std::printf(" %6.0f", sum / blocks / (steps / parts)), all += p ? sum / blocks : 0;
  }
  std::printf(" clk; %6.0f B/clk", double(tile) * blocks * steps * (parts - 1) / parts / all);
  double least = 1e30, most = 0;
  for (int b = 0; b < blocks; ++b) {
    double sum = 0;
    for (int p = 1; p < parts; ++p) sum += clocks[b * parts + p];
    least = std::min(least, sum), most = std::max(most, sum);
  }
  std::printf("; fastest and slowest block %.0f %.0f\n", least / (steps * (parts - 1) / parts),
              most / (steps * (parts - 1) / parts));
  return place;
}

int main() {
  cudaDeviceProp prop{};
  CHECK(cudaGetDeviceProperties(&prop, 0));
  sms = prop.multiProcessorCount;
  const int blocks = 2 * sms, tiles = blocks * private_tiles;
  unsigned char* memory;
  CHECK(cudaMalloc(&memory, std::size_t(tiles) * tile));
  CHECK(cudaMemset(memory, 1, std::size_t(tiles) * tile));
  from = memory;
  CHECK(cudaMalloc(&streams, blocks * sizeof(Stream)));
  CHECK(cudaMalloc(&out, blocks * parts * 4));
  CHECK(cudaMalloc(&sm, blocks * 4));
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  std::printf("%s, %d SMs\n", prop.name, sms);
  std::mt19937 random(7);
  for (const int work : {0, 600, 1200, 1800}) {
    std::vector<Stream> of(blocks);
    const auto each = [&](auto&& f) {
      for (int b = 0; b < blocks; ++b) of[b] = f(static_cast<unsigned>(b));
    };
    each([&](unsigned b) { return Stream{b * private_tiles, 0, private_tiles, 0}; });
    const std::vector<unsigned> place = measure("own tiles", of, work);
    for (const unsigned count : {64u, 256u}) {
      const std::string text = std::to_string(count) + " tiles, ";
      each([&](unsigned) { return Stream{0, 0, count, 0}; });
      measure(text + "together", of, work);
      for (const unsigned most : {500u, 2000u, 4000u, 16000u}) {
        each([&](unsigned) { return Stream{0, 0, count, static_cast<unsigned>(random() % most)}; });
        measure(text + "begin within " + std::to_string(most) + " clk", of, work);
      }
      each([&](unsigned) { return Stream{0, static_cast<unsigned>(random() % count), count, 0}; });
      measure(text + "begin anywhere", of, work);
      each([&](unsigned) {
        return Stream{0, static_cast<unsigned>(random() % count), count, static_cast<unsigned>(random() % 4000)};
      });
      measure(text + "begin anywhere, at any time", of, work);
      each([&](unsigned b) { return Stream{0, b % count, count, 0}; });
      measure(text + "each a tile behind the next", of, work);
    }
    // pairs of SMs side by side (a TPC) read one stream, `lag` clocks one after the other
    for (const unsigned lag : {0u, 100u, 300u, 1000u, 2000u, 4000u, 8000u}) {
      each([&](unsigned b) { return Stream{place[b] / 2 * 8, 0, 8, place[b] % 2 * lag}; });
      measure("two SMs, 8 tiles, " + std::to_string(lag) + " clk apart", of, work);
    }
    for (const unsigned apart : {1u, 2u, 4u}) {
      each([&](unsigned b) { return Stream{place[b] / 2 * 8, place[b] % 2 * apart, 8, 0}; });
      measure("two SMs, 8 tiles, " + std::to_string(apart) + " tiles apart", of, work);
    }
  }
}
