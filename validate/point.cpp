#include "validate/point.h"

#include <fmt/format.h>

namespace tilescope::validate {

std::string point_id(const MeasurePoint& point) {
  const PointWorkload& w = point.workload;
  const std::string depth = w.d_qk == w.d_v ? fmt::format("{}", w.d_qk) : fmt::format("{}x{}", w.d_qk, w.d_v);
  std::string id = fmt::format("{}-{}-b{}-hq{}-hkv{}-q{}-kv{}-d{}-{}", point.kernel, to_string(point.dtype), w.batch,
                               w.heads_q, w.heads_kv, w.q_len, w.kv_len, depth, point.mask);
  if (point.tile_q != 0) id += fmt::format("-tq{}-tkv{}-w{}", point.tile_q, point.tile_kv, point.warps);
  return id;
}

}  // namespace tilescope::validate
