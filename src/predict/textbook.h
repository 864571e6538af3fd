// What tests of the time model share: a GPU with round rates, and steps of kernels on it.
#pragma once

#include "predict/predict.h"
#include "predict/sm/step_time.h"
#include "predict/staged.h"

namespace tilescope {

inline const std::filesystem::path data = TILESCOPE_SOURCE_DIR;

template <class Map>
void set(Map& map, Format format, std::int64_t count, double value) {
  map[format][count] = {value, "M"};
}

// An H200 whose measured rates are the textbook's.
inline HardwareProfile textbook() {
  HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  MeasuredRates m;
  m.pipes.ex2 = {16, "M"}, m.pipes.ffma = {128, "M"}, m.pipes.max = {64, "M"}, m.pipes.cvt_f16x2 = {64, "M"},
  m.pipes.shuffle = {32, "M"};
  set(m.tensor.wgmma_smem, Format::fp16, 128, 64);
  m.tensor.wgmma_latency[128] = {137, "M"};
  m.power.busy = {100, "M"}, m.power.tensor[Format::fp16] = {0.5e-12, "M"};
  m.power.hbm = {60e-12, "M"}, m.power.l2 = {20e-12, "M"}, m.power.smem = {2e-12, "M"}, m.power.ffma = {5e-12, "M"},
  m.power.ex2 = {20e-12, "M"}, m.power.issue = {5e-12, "M"};
  hardware.measured = m;
  return hardware;
}

inline Point attention(const Plan& plan, std::int64_t heads, std::int64_t length, std::int64_t tile_q,
                       std::int64_t tile_kv, std::int64_t warps) {
  Point point = default_point(plan);
  point.workload = {
      .batch = 1, .heads_q = heads, .heads_kv = heads, .q_len = length, .kv_len = length, .d_qk = 128, .d_v = 128};
  point.tiles[0] = tile_q, point.tiles[1] = tile_kv, point.warps = warps;
  return point;
}

inline Prediction predicted(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  Prediction out;
  predict(plan, hardware, point, out);
  return out;
}

inline SmStep step_of(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  const Staged stages = staged(plan, hardware, point);
  const BoundIsland& bound = stages.bound.front();
  return sm_step(stages.launches.front(), static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
}

}  // namespace tilescope
