// L2: bandwidth by access pattern, atomic additions, and latency of lines in the SM's own partition (near) and in the
// other one (far).
#include "validate/microbench/device_loops.cuh"
#include "validate/microbench/memory/line_latency.cuh"

namespace tilescope::validate {
namespace {

constexpr int threads = 1024;
constexpr std::size_t step = static_cast<std::size_t>(threads) * loads_in_flight;  // vectors per block and iteration

// Bytes a clock, and bytes a second: the difference of R and 2 R rounds, by SM clocks and by events.
template <class Body>
void add_bandwidth(Microbench& bench, const std::string& path, const Body& body, int blocks, double bytes, int rounds,
                   const std::string& per_clock, const std::string& note) {
  DeviceBuffer memory(sizeof(Span) * static_cast<std::size_t>(blocks) * 32 + 16);
  Span* spans = static_cast<Span*>(memory.get());
  unsigned* sink = reinterpret_cast<unsigned*>(spans + blocks * 32);
  const auto seconds = [&](int r) {
    return event_seconds([&] { launch_timed(body, {blocks, threads, 0}, r, spans, sink); });
  };
  seconds(rounds);
  std::vector<double> samples;
  for (int i = 0; i < bench.repeats(); ++i) {
    const double once = seconds(rounds), twice = seconds(2 * rounds);
    samples.push_back(bytes * rounds / (twice - once));
  }
  bench.add(path, samples, note);
  if (per_clock.empty()) return;
  bench.add(per_clock, inverse(cycles_per_round(bench, body, {blocks, threads, 0}, rounds), bytes), note);
}

// Every lane a sector of another line, 256 bytes from its neighbour's, within 32 MiB; a warp waits after every
// `in_flight` loads.
template <int in_flight>
struct ScatteredLoop {
  const unsigned* data;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    constexpr unsigned apart = 64, words = 8u << 20;
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    unsigned zero = 0, at = thread;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      unsigned x[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i, at += all)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x[i]) : "l"(data + (at * apart + zero) % words) : "memory");
#pragma unroll
      for (int i = 0; i < in_flight; ++i) zero |= x[i] & 1u;
    }
    watch.stop();
    return zero;
  }
};

// Lane i of every warp a sector of line i of 32 in a row, warps that follow each other other sectors of the line.
struct FewLinesLoop {
  const unsigned* data;  // even numbers
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    constexpr unsigned line = 32, sector = 8;
    const unsigned warp = blockIdx.x + threadIdx.x / 32;
    const unsigned* const own = data + threadIdx.x % 32 * line + warp % 4 * sector;
    unsigned zero = 0, x;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(own + zero) : "memory");
      zero |= x & 1u;
    }
    watch.stop();
    return zero;
  }
};

struct AddLoop {
  float* to;
  std::size_t count;  // floats
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    float* mine = to + blockIdx.x * count;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 4
      for (std::size_t i = threadIdx.x; i < count; i += blockDim.x)
        asm volatile("red.global.add.f32 [%0], %1;" ::"l"(mine + i), "f"(1.0f) : "memory");
    }
    watch.stop();
    return 0;
  }
};

// `data`: 32 MiB of even numbers. A rate is measured with many loads in flight. Rates with one load in flight per warp
// are in the record only.
void add_scattered(Microbench& bench, const unsigned* data) {
  const auto rates = [&](auto body, int in_flight, int warps) {
    const int rounds = 96 / in_flight;
    return inverse(cycles_per_round(bench, body, {bench.units(), 32 * warps, 0}, rounds),
                   32.0 * 32 * warps * in_flight);
  };
  MicrobenchCurve waited{
      "l2 read of lone sectors by all SMs, a warp waits for each of its loads", "warps of an SM", "B/clk a unit", {}};
  for (const int warps : {4, 8, 16, 32})
    waited.points.emplace_back(warps, median_of(rates(ScatteredLoop<1>{data}, 1, warps)));
  MicrobenchCurve ahead{"the same of 32 warps, more at a time", "loads of a warp in flight", "B/clk a unit", {}};
  ahead.points.emplace_back(2, median_of(rates(ScatteredLoop<2>{data}, 2, 32)));
  ahead.points.emplace_back(4, median_of(rates(ScatteredLoop<4>{data}, 4, 32)));
  bench.add_curve(waited), bench.add_curve(ahead);
  bench.add("l2.read_scattered", rates(ScatteredLoop<8>{data}, 8, 32),
            "all SMs, 32 warps with 8 loads in flight; each lane loads a 32-byte sector, 256 B apart");
  constexpr int warps = 16;
  bench.add("l2.read_few_lines",
            inverse(cycles_per_round(bench, FewLinesLoop{data}, {bench.units(), 32 * warps, 0}, 40),
                    32.0 * 32 * warps * bench.units()),
            "all SMs, 16 warps; each lane loads a 32-byte sector of one of 32 consecutive lines");
}

struct Latencies {
  double near = 0, far = 0;
};

// Splits the latencies into two groups by two-means clustering: the threshold is the middle of the groups' means,
// iterated until it is stable.
Latencies two_groups(const std::vector<double>& samples) {
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  Latencies centers{*low, *high};
  for (int round = 0; round < 20; ++round) {
    double near = 0, far = 0;
    int near_count = 0, far_count = 0;
    for (const double sample : samples) {
      if (sample - centers.near <= centers.far - sample) near += sample, ++near_count;
      else far += sample, ++far_count;
    }
    if (near_count == 0 || far_count == 0) break;
    centers = {near / near_count, far / far_count};
  }
  return centers;
}

// Another SM loads lines that SM 0 has loaded. Near lines are those that the SM's own partition owns, or that SM 0 has
// already loaded into the same partition.
void add_latencies(Microbench& bench, const DeviceBuffer& buffer) {
  constexpr int lines = 512;
  check_cuda(cudaMemset(buffer.get(), 0, buffer.size()), "cudaMemset");
  const LineLatency latencies(static_cast<const unsigned*>(buffer.get()), lines, bench.units());
  const auto units = static_cast<unsigned>(bench.units());
  std::vector<double> near, far;
  for (unsigned sm = 0; sm < units; sm += units / 12 + 1) {
    std::vector<double> sorted = latencies.seen_by(sm);
    std::sort(sorted.begin(), sorted.end());
    const Latencies means = two_groups({sorted.begin(), sorted.begin() + lines * 98 / 100});
    MicrobenchCurve curve{
        "l2 latency of a line that SM 0 has loaded, seen by SM " + std::to_string(sm), "line", "clk", {}};
    for (int i = 0; i < lines; i += 32) curve.points.emplace_back(i, sorted[static_cast<std::size_t>(i)]);
    bench.add_curve(curve);
    if (means.far - means.near < 60) {
      near.push_back(median_of(sorted));  // only one group: all lines are near
    } else {
      near.push_back(means.near), far.push_back(means.far);
    }
  }
  bench.add("l2.latency_near", near, "lines in the L2 partition of the loading SM");
  if (!far.empty())
    bench.add("l2.latency_far", far, "lines held only by the other partition, where another SM has loaded them");
}

}  // namespace

void measure_l2(Microbench& bench) {
  const DeviceBuffer buffer(std::size_t{64} << 20);
  check_cuda(cudaMemset(buffer.get(), 1, buffer.size()), "cudaMemset");
  const auto* data = static_cast<const uint4*>(buffer.get());
  const int units = bench.units();
  const double bytes = static_cast<double>(step) * 16;
  add_bandwidth(bench, "l2.read_private", ReadLoop{data, step, true}, units, bytes * units, 200,
                "l2.read_private_per_clock", "every SM accesses its own 128 KiB");
  add_bandwidth(bench, "l2.read_shared", ReadLoop{data, 64 * step, false}, units, 64 * bytes * units, 10,
                "l2.read_shared_per_clock", "all SMs read the same 8 MiB in the same order");
  MicrobenchCurve curve{"l2 read of all SMs, same 8 MiB", "first trip of block b: b x this", "B/clk", {}};
  for (const std::size_t stagger : {std::size_t{0}, step, 7 * step}) {
    const ReadLoop body{data, 64 * step, false, stagger};
    curve.points.emplace_back(static_cast<double>(stagger / step),
                              64 * bytes * units / median_of(cycles_per_round(bench, body, {units, threads, 0}, 2)));
  }
  bench.add_curve(curve);
  bench.add("l2.read_one_unit",
            inverse(cycles_per_round(bench, ReadLoop{data, 4 * step, true}, {1, threads, 0}, 20), 4 * bytes),
            "one SM, 512 KiB");
  add_scattered(bench, static_cast<const unsigned*>(buffer.get()));
  MicrobenchCurve few{"l2 read, every SM accesses its own 128 KiB", "SMs that read", "B/clk a unit", {}};
  for (int blocks = 2; blocks <= units; blocks = blocks < units && blocks * 2 > units ? units : blocks * 2)
    few.points.emplace_back(
        blocks, bytes / median_of(cycles_per_round(bench, ReadLoop{data, step, true}, {blocks, threads, 0}, 20)));
  bench.add_curve(few);
  auto* writable = static_cast<uint4*>(buffer.get());
  add_bandwidth(bench, "l2.write", WriteLoop{writable, step}, units, bytes * units, 200, "",
                "every SM accesses its own 128 KiB");
  check_cuda(cudaMemset(buffer.get(), 0, buffer.size()), "cudaMemset");
  add_bandwidth(bench, "atomics.red_fp32", AddLoop{reinterpret_cast<float*>(writable), 4 * step}, units, bytes * units,
                100, "", "every SM accesses its own 128 KiB, consecutive floats of a warp");
  add_latencies(bench, buffer);
}

}  // namespace tilescope::validate
