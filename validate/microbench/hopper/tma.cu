// The copy engine (TMA): the latency of one box, and the bandwidth of many (in the record only).
#include "common/tma.cuh"
#include "common/tma.h"
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

// One thread keeps `slots` boxes of `rows` rows of 128 bytes in flight; box i starts at row (i * rows) % span.
template <int rows, int slots>
struct Boxes {
  const CUtensorMap* map;  // in global memory
  int first_row, span;
  static constexpr int bytes = rows * 128, shared_bytes = slots * bytes + 1024 + 8 * slots;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const std::uint32_t base = device::shared_address(shared), barriers = base + slots * bytes;
    if (threadIdx.x == 0)
      for (int i = 0; i < slots; ++i) device::init_barrier(barriers + 8 * i, 1);
    device::fence_barrier_init();
    const int start = static_cast<int>(blockIdx.x) * first_row;
    watch.start();
    if (threadIdx.x == 0) {
      int slot = 0, parity = 0, row = 0;
#pragma unroll 1
      for (int i = 0; i < rounds + slots; ++i) {
        if (i >= slots) device::wait_barrier(barriers + 8 * slot, parity ^ 1);
        if (i < rounds) {
          device::arrive_expect(barriers + 8 * slot, bytes);
          device::load_tile(base + slot * bytes, map, barriers + 8 * slot, 0, start + row, 0);
          row += rows;
          if (row >= span) row = 0;
        }
        if (++slot == slots) slot = 0, parity ^= 1;
      }
    }
    __syncwarp();
    watch.stop();
    return reinterpret_cast<unsigned*>(shared)[threadIdx.x];
  }
};

// One thread issues `boxes` boxes of one row each on one barrier and waits for all of them.
template <int boxes>
struct Burst {
  const CUtensorMap* map;
  static constexpr int apart = 1024, shared_bytes = boxes * apart + 1024 + 8;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const std::uint32_t base = device::shared_address(shared), barrier = base + boxes * apart;
    if (threadIdx.x == 0) device::init_barrier(barrier, 1);
    device::fence_barrier_init();
    watch.start();
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (int round = 0; round < rounds; ++round) {
        device::arrive_expect(barrier, boxes * 128);
#pragma unroll
        for (int i = 0; i < boxes; ++i) device::load_tile(base + i * apart, map, barrier, 0, i, 0);
        device::wait_barrier(barrier, round & 1);
      }
    }
    __syncwarp();
    watch.stop();
    return reinterpret_cast<unsigned*>(shared)[threadIdx.x];
  }
};

// A tensor map in global memory, of a buffer as rows of 128 bytes.
class Map {
 public:
  Map(const DeviceBuffer& buffer, std::uint32_t box_rows) : memory_(sizeof(CUtensorMap)) {
    const auto rows = static_cast<std::uint64_t>(buffer.size() / 128);
    const CUtensorMap map =
        kernels::make_tensor_map(buffer.get(), 2, {64, rows, 1}, {128, 128 * rows}, {64, box_rows, 1});
    check_cuda(cudaMemcpy(memory_.get(), &map, sizeof map, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  const CUtensorMap* get() const { return static_cast<const CUtensorMap*>(memory_.get()); }

 private:
  DeviceBuffer memory_;
};

template <int rows, int slots>
std::vector<double> per_box(const Microbench& bench, const DeviceBuffer& buffer, int blocks, int span, int rounds) {
  const Map map(buffer, rows);
  const Boxes<rows, slots> body{map.get(), blocks > 1 ? span : 0, span};
  return cycles_per_round(bench, body, {blocks, 32, Boxes<rows, slots>::shared_bytes}, rounds);
}

template <int boxes>
double burst(const Microbench& bench, const Map& map) {
  return median_of(cycles_per_round(bench, Burst<boxes>{map.get()}, {1, 32, Burst<boxes>::shared_bytes}, 200));
}

}  // namespace

void measure_tma(Microbench& bench) {
  const DeviceBuffer near(std::size_t{24} << 20), far(std::size_t{64} << 20);
  check_cuda(cudaMemset(near.get(), 1, near.size()), "cudaMemset");
  check_cuda(cudaMemset(far.get(), 1, far.size()), "cudaMemset");
  const double clock = bench.find("clock.most") != nullptr ? bench.find("clock.most")->value : 1.98e9;
  MicrobenchCurve one{"tma bandwidth of one SM, from L2", "bytes of a box", "B/clk", {}};
  MicrobenchCurve all{"tma bandwidth of all SMs, from L2", "bytes of a box", "B/clk a unit", {}};
  const auto note = [&](MicrobenchCurve& curve, int bytes, const std::vector<double>& samples) {
    curve.points.emplace_back(bytes, bytes / median_of(samples));
  };
  note(one, 1024, per_box<8, 32>(bench, near, 1, 1024, 2000)),
      note(all, 1024, per_box<8, 32>(bench, near, bench.units(), 1024, 2000));
  note(one, 2048, per_box<16, 32>(bench, near, 1, 1024, 2000)),
      note(all, 2048, per_box<16, 32>(bench, near, bench.units(), 1024, 2000));
  note(one, 4096, per_box<32, 16>(bench, near, 1, 1024, 2000)),
      note(all, 4096, per_box<32, 16>(bench, near, bench.units(), 1024, 1000));
  note(one, 8192, per_box<64, 8>(bench, near, 1, 1024, 1000)),
      note(all, 8192, per_box<64, 8>(bench, near, bench.units(), 1024, 1000));
  note(one, 16384, per_box<128, 8>(bench, near, 1, 1024, 1000)),
      note(all, 16384, per_box<128, 8>(bench, near, bench.units(), 1024, 500));
  bench.add_curve(one), bench.add_curve(all);
  const Map row(near, 1);
  MicrobenchCurve handed{"boxes of 128 B handed to the copy engine by one thread, one barrier for all",
                         "boxes",
                         "clk until all are there",
                         {}};
  handed.points = {
      {1, burst<1>(bench, row)}, {8, burst<8>(bench, row)}, {24, burst<24>(bench, row)}, {40, burst<40>(bench, row)}};
  bench.add_curve(handed);
  bench.add("tma.issue", {(handed.points[3].second - handed.points[1].second) / 32},
            "per box of 128 B: 40 boxes issued by one thread, minus 8 boxes");
  bench.add("tma.latency_l2", scaled(per_box<64, 1>(bench, near, 1, 1024, 500), 1 / clock),
            "8 KiB, one at a time, from L2");
  const L2Flush flush;
  const Map map(far, 64);
  const Boxes<64, 1> fresh{map.get(), 0, 1 << 18};
  std::vector<double> samples;
  for (int i = 0; i < bench.repeats(); ++i) {
    flush.enqueue(nullptr);
    samples.push_back(run_timed(fresh, {1, 32, Boxes<64, 1>::shared_bytes}, 2000).cycles / 2000 / clock);
  }
  bench.add("tma.latency_hbm", samples, "8 KiB, one at a time, L2 flushed before");
}

}  // namespace tilescope::validate
