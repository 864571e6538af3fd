// Shared by the microbenchmarks: storage of results, number of repeats. No CUDA types.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::validate {

// A value of the profile's block `measured`, in base units (B/s, B/clk, OP/clk, clk, s, Hz, W, J), with the samples
// that it is the median of.
struct MicrobenchValue {
  std::string path;  // "hbm.read", "tensor.wgmma_smem.fp16.n128"
  double value = 0;
  std::vector<double> samples;
  std::string note;
};

// The curve from which a value was derived: (x, y) points, kept in the record only.
struct MicrobenchCurve {
  std::string name, x, y;
  std::vector<std::pair<double, double>> points;
};

// One point: the number of slices of the L2.
inline constexpr const char* slices_curve = "slices of the l2, sectors of all over their mean";

class Microbench {
 public:
  Microbench(int units, bool hopper, bool quick) : units_(units), hopper_(hopper), quick_(quick) {}

  int units() const { return units_; }     // SMs
  bool hopper() const { return hopper_; }  // wgmma, TMA and mbarrier are there
  int repeats() const { return quick_ ? 5 : 21; }
  bool quick() const { return quick_; }

  void add(const std::string& path, std::vector<double> samples, const std::string& note = {});
  void add_curve(MicrobenchCurve curve) { curves_.push_back(std::move(curve)); }
  const MicrobenchValue* find(const std::string& path) const;  // nullptr: not measured (yet)

  const std::vector<MicrobenchValue>& values() const { return values_; }
  const std::vector<MicrobenchCurve>& curves() const { return curves_; }

 private:
  int units_;
  bool hopper_, quick_;
  std::vector<MicrobenchValue> values_;
  std::vector<MicrobenchCurve> curves_;
};

double median_of(std::vector<double> samples);

// "1097": the nearest whole number, for notes.
std::string whole(double value);

// Seconds between consecutive launches of empty kernels by the host.
std::vector<double> host_intervals(const Microbench& bench);

// One function per topic. Each adds every value that can be measured on this GPU.
void measure_pipes(Microbench& bench);
void measure_registers(Microbench& bench);
void measure_hopper_pipes(Microbench& bench);
void measure_mma(Microbench& bench);
void measure_beside(Microbench& bench);
void measure_hopper_beside(Microbench& bench);
void measure_hopper_held(Microbench& bench);
void measure_copies(Microbench& bench);
void measure_reductions(Microbench& bench);
void measure_blocks(Microbench& bench);
void measure_latencies(Microbench& bench);
void measure_wgmma(Microbench& bench);
void measure_shared_memory(Microbench& bench);
void measure_hopper_shared_memory(Microbench& bench);
void measure_barriers(Microbench& bench);
void measure_mbarrier(Microbench& bench);
void measure_tma(Microbench& bench);
void measure_dsmem(Microbench& bench);
void measure_l2(Microbench& bench);
void measure_l2_sharers(Microbench& bench);
void measure_l2_sides(Microbench& bench);
void measure_l2_capacity(Microbench& bench);
void measure_l2_reuse(Microbench& bench);
void measure_local(Microbench& bench);
void measure_l1(Microbench& bench);
void measure_hbm(Microbench& bench);
void measure_streams(Microbench& bench);
void measure_off_line(Microbench& bench);
void measure_launch(Microbench& bench);
void measure_launch_gaps(Microbench& bench);
void measure_mma_clock(Microbench& bench);
void measure_power(Microbench& bench);

}  // namespace tilescope::validate
