// L2 capacity: DRAM bytes (by counter) that repeated sweeps over a range still read, against the range's size.
#include "validate/measure/counters/counters.h"
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

constexpr int trip_threads = 1024, passes = 4;
constexpr std::size_t trip_step = static_cast<std::size_t>(trip_threads) * loads_in_flight;
constexpr double hits = 0.95;  // of the bytes read

// Fraction of the bytes of a range that a sweep over it reads from DRAM.
MicrobenchCurve miss_curve(const Microbench& bench, const DeviceBuffer& buffer, bool own) {
  MicrobenchCurve curve{own ? "l2 misses, every SM its own part" : "l2 misses, all SMs the same",
                        "bytes of the range",
                        "bytes from DRAM / bytes of the range, a sweep",
                        {}};
  CounterSession session({"dram__bytes_read.sum"});
  DeviceBuffer memory(sizeof(Span) * static_cast<std::size_t>(bench.units()) * 32 + 16);
  Span* spans = static_cast<Span*>(memory.get());
  unsigned* sink = reinterpret_cast<unsigned*>(spans + bench.units() * 32);
  std::vector<CounterRange> ranges;
  std::vector<double> sizes;
  for (std::size_t mib = 8; mib <= 96; mib += bench.quick() ? 8 : 2) {
    // Private ranges are whole iterations of smaller blocks, so that consecutive sizes can be close together.
    const std::size_t vectors = (mib << 20) / 16;
    const std::size_t trip = own ? 64 * loads_in_flight : trip_step;
    const std::size_t count = (own ? vectors / static_cast<std::size_t>(bench.units()) : vectors) / trip * trip;
    const Shape shape{bench.units(), own ? 64 : trip_threads, 0};
    const ReadLoop body{static_cast<const uint4*>(buffer.get()), count, own};
    const auto sweep = [=](int rounds) { return [=] { launch_timed(body, shape, rounds, spans, sink); }; };
    sizes.push_back(static_cast<double>(count * 16 * (own ? static_cast<std::size_t>(bench.units()) : 1)));
    ranges.push_back({std::to_string(mib), sweep(3), sweep(passes)});
  }
  const CounterResult counted = session.collect(ranges);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const double read = counted.values.at(ranges[i].name).at("dram__bytes_read.sum");
    curve.points.emplace_back(sizes[i], read / passes / sizes[i]);
  }
  return curve;
}

// The largest range with nearly only hits, interpolated between the two sizes where the curve crosses the threshold.
double knee(const MicrobenchCurve& curve) {
  double last = 0;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const auto [size, miss] = curve.points[i];
    if (miss > 1 - hits) {
      if (i == 0) return size;
      const auto [before, lower] = curve.points[i - 1];
      return before + (size - before) * (1 - hits - lower) / (miss - lower);
    }
    last = size;
  }
  return last;
}

// Slices of the L2, by the counter of their sectors.
double slices(const Microbench& bench, const DeviceBuffer& buffer) {
  CounterSession session({"lts__t_sectors.sum", "lts__t_sectors.avg"});
  const DeviceBuffer memory(sizeof(Span) * static_cast<std::size_t>(bench.units()) + 16);
  Span* const spans = static_cast<Span*>(memory.get());
  unsigned* const sink = reinterpret_cast<unsigned*>(spans + bench.units());
  const Shape shape{bench.units(), trip_threads, 0};
  const ReadLoop body{static_cast<const uint4*>(buffer.get()), (std::size_t{32} << 20) / 16 / trip_step * trip_step,
                      false};
  const auto sweep = [=] { launch_timed(body, shape, 1, spans, sink); };
  const CounterResult counted = session.collect({{"sectors", sweep, sweep}});
  const auto& values = counted.values.at("sectors");
  return values.at("lts__t_sectors.sum") / values.at("lts__t_sectors.avg");
}

}  // namespace

void measure_l2_capacity(Microbench& bench) {
  const DeviceBuffer buffer(std::size_t{128} << 20);
  check_cuda(cudaMemset(buffer.get(), 1, buffer.size()), "cudaMemset");
  for (const bool own : {true, false}) {
    const MicrobenchCurve curve = miss_curve(bench, buffer, own);
    bench.add_curve(curve);
    bench.add(own ? "l2.capacity_private" : "l2.capacity_shared", {knee(curve)},
              own ? "each part swept by one SM; largest size with 95 % hits"
                  : "swept by all SMs together; largest size with 95 % hits");
  }
  bench.add_curve({slices_curve, "", "slices", {{0, slices(bench, buffer)}}});
}

}  // namespace tilescope::validate
