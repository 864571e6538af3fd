// How much of data that SMs read again and again stays in the L2 while other data, each byte once, streams through.
// Nsight Compute counts the bytes that DRAM delivers:
//   nvcc -O3 -std=c++20 -arch=sm_90a -o beside_streams validate/tools/beside_streams/beside_streams.cu
//   ncu --cache-control none --clock-control none --metrics dram__bytes_read.sum,dram__bytes_write.sum
//   -k regex:cycles --csv --print-units base ./beside_streams 2> points.txt > counters.csv
// A line of points.txt for each launch: the sharing (0: readers of a chunk lie on one side of the L2; 1: on both), who
// moves the bytes (0: threads; 1: the copy engine, in bulk; 2: each block reads and stores its own chunks), chunks that
// are kept, and bytes that each of the blocks reads, stores and adds to in each step.
#include "../l2_sides.cuh"

namespace {

using namespace tilescope::l2;

constexpr int threads = 1024, sharers = 8, groups = 14, active = sharers * groups;
constexpr int chunk = threads * 16, rounds = 9;

struct Mover {
  unsigned smem, barrier, phase = 0;

  __device__ void load(const char* from, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(smem),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
    asm volatile(
        "{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(barrier),
        "r"(phase)
        : "memory");
    phase ^= 1;
  }
  __device__ void store(char* to, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(smem), "r"(bytes)
                 : "memory");
    finish();
  }
  __device__ void add(char* to, unsigned bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(smem),
                 "r"(bytes)
                 : "memory");
    finish();
  }
  __device__ void finish() { asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory"); }
};

// role: of each SM, its number among the active ones; blocks with the same number / sharers read the same chunks.
__global__ void __launch_bounds__(threads) cycles(const char* kept, int steps, char* stream, int read, int stored,
                                                  int added, int bulk, const int* role, unsigned* count, float* out) {
  const int own = role[own_sm()];
  if (own < 0) return;
  extern __shared__ __align__(128) char smem[];
  __shared__ unsigned long long barrier;
  Mover mover{static_cast<unsigned>(__cvta_generic_to_shared(smem)),
              static_cast<unsigned>(__cvta_generic_to_shared(&barrier))};
  if (bulk && threadIdx.x == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(mover.barrier)
                 : "memory");
  reinterpret_cast<float4*>(smem)[threadIdx.x] = make_float4(0, 0, 0, 0);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float sum = 0;
  unsigned arrived = 0;
  const int all = read + stored + added;
  char* at = stream + std::size_t(own) * all;
  for (int cycle = 0; cycle < rounds; ++cycle)
    for (int step = 0; step < steps; ++step, at += std::size_t(active) * all) {
      const auto load = [&](const char* from) {
        const float4 v = __ldcg(reinterpret_cast<const float4*>(from) + threadIdx.x);
        sum += v.x + v.y + v.z + v.w;
      };
      if (bulk) {
        if (threadIdx.x == 0) {
          mover.load(kept + (std::size_t(step) * groups + own / sharers) * chunk, chunk);
          if (read > 0) mover.load(at, read);
          if (stored > 0) mover.store(at + read, stored);
          if (added > 0) mover.add(at + read + stored, added);
        }
        if (step % 4 == 3) all_arrive(count, arrived += active);
        continue;
      }
      load(kept + (std::size_t(step) * groups + own / sharers) * chunk);
      if (int(threadIdx.x) * 16 < read) load(at);
      if (int(threadIdx.x) * 16 < stored) reinterpret_cast<float4*>(at + read)[threadIdx.x] = make_float4(1, 2, 3, 4);
      if (int(threadIdx.x) * 16 < added)
        asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(at + read + stored + threadIdx.x * 16),
                     "f"(1.0f)
                     : "memory");
      if (step % 4 == 3) all_arrive(count, arrived += active);
    }
  if (sum == 12345.f) out[0] = sum;
}

// Each block reads its own chunks, and stores each again right after.
__global__ void __launch_bounds__(threads) cycles_of_updates(char* kept, int steps, const int* role, unsigned* count) {
  const int own = role[own_sm()];
  if (own < 0) return;
  unsigned arrived = 0;
  for (int cycle = 0; cycle < rounds; ++cycle)
    for (int step = 0; step < steps; ++step) {
      float4* const at = reinterpret_cast<float4*>(kept + (std::size_t(step) * active + own) * chunk) + threadIdx.x;
      float4 v = __ldcg(at);
      v.x += 1, v.y += 1, v.z += 1, v.w += 1;
      __stcg(at, v);
      if (step % 4 == 3) all_arrive(count, arrived += active);
    }
}

// By SM, its number among the active ones. both: neighbours in number alternate between the sides.
std::vector<int> roles(const std::array<std::vector<int>, 2>& side, int units, bool both) {
  std::vector<int> role(units, -1);
  for (int i = 0; i < active; ++i) {
    const int s = both ? i % 2 : i / sharers % 2, place = both ? i / 2 : i / sharers / 2 * sharers + i % sharers;
    if (place >= int(side[s].size())) std::fprintf(stderr, "a side has too few SMs\n"), std::exit(1);
    role[side[s][place]] = i;
  }
  return role;
}

struct Buffers {
  static constexpr std::size_t streamed = std::size_t(3) << 30, flushed = 512 << 20;
  char *kept = allocated(66 << 20), *stream = allocated(streamed), *flush = allocated(flushed);
  unsigned* count = reinterpret_cast<unsigned*>(allocated(4));
  int* role = reinterpret_cast<int*>(allocated(4096));
  float* out = reinterpret_cast<float*>(allocated(4));

  void prepare(int value) const { check(cudaMemset(flush, value, flushed)), check(cudaMemset(count, 0, 4)); }
};

void launch_updates(const Buffers& to, int units, bool both) {
  for (int mib = 8; mib <= 64; mib += 2) {
    const int steps = (mib << 20) / chunk / active;
    to.prepare(mib);
    std::fprintf(stderr, "P %d 2 %d 0 0 0\n", both, steps * active);
    cycles_of_updates<<<units, threads>>>(to.kept, steps, to.role, to.count);
    check(cudaDeviceSynchronize());
  }
}

// Streams of reads, of stores, of both, and of additions.
void launch_streams(const Buffers& to, int units, bool both, bool bulk) {
  for (int mode = 0; mode < 4; ++mode)
    for (int mib = 4; mib <= 28; mib += 4)
      for (const int streamed : {0, 2, 4, 8, 12, 16, 20, 24, 32, 40}) {
        if (streamed == 0 && mode > 0) continue;
        const int steps = (mib << 20) / chunk / groups,
                  each = int((std::size_t(streamed) << 20) / steps / active / 128) * 128;
        if (each > chunk || std::size_t(each) * active * steps * rounds > Buffers::streamed) continue;
        const int read = mode == 0   ? each
                         : mode == 2 ? each / 256 * 128
                                     : 0,
                  added = mode == 3 ? each : 0, stored = each - read - added;
        to.prepare(mode);
        std::fprintf(stderr, "P %d %d %d %d %d %d\n", both, bulk, steps * groups, read, stored, added);
        cycles<<<units, threads, chunk>>>(to.kept, steps, to.stream, read, stored, added, bulk, to.role, to.count,
                                          to.out);
        check(cudaDeviceSynchronize());
      }
}

}  // namespace

int main() {
  int units = 0;
  check(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0));
  const Buffers to;
  const auto side = sms_by_side(to.kept, units);
  for (const bool both : {false, true}) {
    const std::vector<int> role = roles(side, units, both);
    check(cudaMemcpy(to.role, role.data(), 4 * role.size(), cudaMemcpyHostToDevice));
    launch_updates(to, units, both);
    for (const bool bulk : {false, true}) launch_streams(to, units, both, bulk);
  }
}
