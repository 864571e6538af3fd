// Sweeps over data that fills the L2, of which one part is only read and the other one stored to: which lines the L2
// gives up, and which it writes back. Nsight Compute counts the bytes that DRAM delivers and takes:
//   nvcc -O3 -std=c++20 -arch=sm_90a -o mixed_sweeps validate/tools/mixed_sweeps/mixed_sweeps.cu
//   ncu --cache-control none --clock-control none --metrics dram__bytes_read.sum,dram__bytes_write.sum
//   -k regex:sweeps --csv --print-units base ./mixed_sweeps 2> points.txt > counters.csv
// A line of points.txt for each launch: who takes part (0: SMs of both sides of the L2, each with its own data; 1: the
// same, but two SMs, one of each side, read the same data; 2: SMs of one side), what happens to the second part (0:
// it is read and stored, 1: stored, 2: added to), bytes that are only read, bytes of the second part, sweeps.
#include "../l2_sides.cuh"

namespace {

using namespace tilescope::l2;

constexpr int threads = 256, chunk = threads * 16, sweeps_of_a_launch = 9;
enum Who { each_its_own, read_by_pairs, one_side };
enum Change { update, store, add };

struct Sweep {
  char *read, *changed;
  int steps, reads, changes;  // chunks of a block's step
  Who who;
  Change change;
  int active;
};

// role: of each SM, its number among the active ones, -1: it takes no part. Neighbours alternate between the sides.
__global__ void __launch_bounds__(threads) sweeps(const Sweep of, const int* role, unsigned* count, float* out) {
  const int own = role[own_sm()];
  if (own < 0) return;
  unsigned arrived = 0;
  float sum = 0;
  const int readers = of.who == read_by_pairs ? of.active / 2 : of.active;
  const int reader = of.who == read_by_pairs ? own / 2 : own;
  for (int sweep = 0; sweep < sweeps_of_a_launch; ++sweep)
    for (int step = 0; step < of.steps; ++step) {
      for (int i = 0; i < of.reads; ++i) {
        const std::size_t number = (std::size_t(step) * of.reads + i) * readers + reader;
        const float4 v = __ldcg(reinterpret_cast<const float4*>(of.read + number * chunk) + threadIdx.x);
        sum += v.x + v.y + v.z + v.w;
      }
      for (int i = 0; i < of.changes; ++i) {
        const std::size_t number = (std::size_t(step) * of.changes + i) * of.active + own;
        float4* const at = reinterpret_cast<float4*>(of.changed + number * chunk) + threadIdx.x;
        if (of.change == add) {
          asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(at), "f"(1.0f) : "memory");
          continue;
        }
        float4 v = of.change == update ? __ldcg(at) : make_float4(1, 2, 3, 4);
        v.x += 1, v.y += 1, v.z += 1, v.w += 1;
        __stcg(at, v);
      }
      if (step % 4 == 3) all_arrive(count, arrived += of.active);
    }
  if (sum == 12345.f) out[0] = sum;
}

std::vector<int> roles(const std::array<std::vector<int>, 2>& side, int units, int active, Who who) {
  std::vector<int> role(units, -1);
  for (int i = 0; i < active; ++i) {
    const auto& sms = side[who == one_side ? 0 : i % 2];
    const int place = who == one_side ? i : i / 2;
    if (place >= int(sms.size())) std::fprintf(stderr, "a side has too few SMs\n"), std::exit(1);
    role[sms[place]] = i;
  }
  return role;
}

}  // namespace

int main() {
  int units = 0, l2 = 0;
  check(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0));
  check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
  constexpr std::size_t most = 128 << 20, flushed = 512 << 20;
  char *const read = allocated(most), *const changed = allocated(most), *const flush = allocated(flushed);
  unsigned* const count = reinterpret_cast<unsigned*>(allocated(4));
  int* const role = reinterpret_cast<int*>(allocated(4096));
  float* const out = reinterpret_cast<float*>(allocated(4));
  const auto side = sms_by_side(read, units);
  for (const Who who : {each_its_own, read_by_pairs, one_side}) {
    const int active = who == one_side ? 56 : 112;
    const std::vector<int> own = roles(side, units, active, who);
    check(cudaMemcpy(role, own.data(), 4 * own.size(), cudaMemcpyHostToDevice));
    for (const Change change : {update, store, add})
      for (const auto& [reads, changes] : {std::pair{1, 0}, {3, 1}, {1, 1}, {1, 3}, {0, 1}}) {
        if (changes == 0 && change != update) continue;
        if (reads == 0 && who == read_by_pairs) continue;
        // Parts of one side of the L2 that a byte takes there, if a load and a store leave a copy.
        const double of_read = who == each_its_own ? .75 : who == read_by_pairs ? .5 : 1;
        const double of_changed = change == add ? .5 : who == one_side ? 1 : .75;
        const double chunks_read = who == read_by_pairs ? reads / 2. : reads;
        const double step = active * double(chunk),
                     takes = step * (chunks_read * (who == read_by_pairs ? 1 : of_read) + changes * of_changed);
        for (int percent = 60; percent <= 150; percent += 5) {
          const int steps = int(l2 / 2. * percent / 100 / takes);
          const std::size_t all_read = std::size_t(steps * chunks_read * step),
                            all_changed = std::size_t(steps * changes * step);
          if (all_read > most || all_changed > most) continue;
          check(cudaMemset(flush, 0, flushed)), check(cudaMemset(count, 0, 4));
          std::fprintf(stderr, "P %d %d %zu %zu %d\n", who, change, all_read, all_changed, sweeps_of_a_launch);
          sweeps<<<units, threads>>>({read, changed, steps, reads, changes, who, change, active}, role, count, out);
          check(cudaDeviceSynchronize());
        }
      }
  }
}
