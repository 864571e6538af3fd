#include "search/search.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/checked.h"

namespace tilescope {
namespace {

constexpr std::array<std::int64_t, 8> tile_choices{16, 32, 48, 64, 96, 128, 192, 256};
constexpr std::array<std::int64_t, 3> warp_choices{4, 8, 12};
constexpr std::int64_t smallest_warp_rows = 16;  // rows of a matrix instruction

void set_tile(Point& point, const Schedule& schedule, const char* name, std::int64_t value) {
  if (const int position = schedule.find_parameter(name); position >= 0)
    point.tiles[static_cast<std::size_t>(position)] = value;
}

std::vector<Point> points_of_variants(const Plan& plan, const Point& base) {
  std::vector<Point> points;
  for (const KernelVariant& variant : plan.kernel.variants) {
    if (variant.head_dim != 0 && variant.head_dim != base.workload.d_qk) continue;
    Point point = base;
    set_tile(point, plan.schedule, "q", variant.tile_q);
    set_tile(point, plan.schedule, "kv", variant.tile_kv);
    point.warps = variant.warps;
    points.push_back(point);
  }
  return points;
}

std::vector<Point> points_of_grid(const Plan& plan, const Point& base) {
  std::vector<Point> points;
  const std::int64_t longest_kv = std::max<std::int64_t>(16, ceil_div(base.workload.kv_len, 16) * 16);
  const std::int64_t longest_q = std::max<std::int64_t>(64, ceil_div(base.workload.q_len, 16) * 16);
  // Query heads of a group may share a tile: all of them or none.
  std::vector<std::int64_t> packs{1};
  if (plan.schedule.find_parameter("pack") >= 0 && base.workload.heads_q > base.workload.heads_kv)
    packs.push_back(base.workload.heads_q / base.workload.heads_kv);
  for (const std::int64_t rows : tile_choices)
    for (const std::int64_t kv : tile_choices)
      for (const std::int64_t warps : warp_choices)
        for (const std::int64_t pack : packs) {
          const std::int64_t q = rows / pack;
          if (rows % pack != 0 || rows % (warps * smallest_warp_rows) != 0 || q > longest_q || kv > longest_kv)
            continue;
          Point point = base;
          set_tile(point, plan.schedule, "pack", pack);
          set_tile(point, plan.schedule, "q", q);
          set_tile(point, plan.schedule, "kv", kv);
          point.warps = warps;
          points.push_back(point);
        }
  return points;
}

}  // namespace

SearchResult search_tiles(const Plan& plan, const HardwareProfile& hardware, const Point& base) {
  const std::vector<Point> points =
      plan.kernel.variants.empty() ? points_of_grid(plan, base) : points_of_variants(plan, base);
  SearchResult result;
  Prediction prediction;
  for (const Point& point : points) {
    predict(plan, hardware, point, prediction);
    if (!prediction.runnable) {
      result.infeasible.push_back({.point = point, .runnable = false, .row = {}});
      continue;
    }
    const auto too_big = std::find_if(prediction.footprint.begin(), prediction.footprint.end(),
                                      [](const FootprintRow& row) { return !row.fits(); });
    if (too_big != prediction.footprint.end()) {
      result.infeasible.push_back({.point = point, .row = *too_big});
      continue;
    }
    Candidate candidate{.point = point, .seconds = prediction.time.total};
    candidate.l2_bytes = prediction.traffic[1][0] + prediction.traffic[1][1];
    candidate.hbm_bytes = prediction.traffic[0][0] + prediction.traffic[0][1];
    candidate.bound_by = prediction.time.bound_by;
    for (const FootprintRow& row : prediction.footprint)
      if (row.level == Boundary::smem) candidate.smem_bytes = std::max(candidate.smem_bytes, row.bytes);
    for (const double seconds : prediction.time.seconds)
      result.unmeasured_rates = result.unmeasured_rates || seconds < 0;
    result.feasible.push_back(candidate);
  }
  std::stable_sort(result.feasible.begin(), result.feasible.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.seconds, a.l2_bytes, a.smem_bytes) < std::tie(b.seconds, b.l2_bytes, b.smem_bytes);
  });
  return result;
}

}  // namespace tilescope
