#include "records/point.h"

#include <fmt/format.h>

namespace tilescope::validate {

Dtype dtype_of(const MeasurePoint& point, const std::string& key) {
  const auto own = point.dtypes.find(key);
  if (own != point.dtypes.end()) return own->second;
  const auto both = point.dtypes.find("kv");
  return both != point.dtypes.end() && (key == "k" || key == "v") ? both->second : Dtype{point.dtype};
}

namespace {

// ':' and '/' do not belong in a file name: "window1024", "block-sparse_models_masks_half.txt".
std::string for_file_name(const std::string& text) {
  std::string name;
  for (const char c : text)
    if (c != ':') name += c == '/' ? '_' : c;
  return name;
}

}  // namespace

std::string point_id(const MeasurePoint& point) {
  const PointWorkload& w = point.workload;
  const std::string depth = w.d_qk == w.d_v ? fmt::format("{}", w.d_qk) : fmt::format("{}x{}", w.d_qk, w.d_v);
  std::string formats = to_string(point.dtype);
  for (const auto& [key, dtype] : point.dtypes) formats += fmt::format("_{}_{}", key, for_file_name(to_string(dtype)));
  std::string id = fmt::format("{}-{}-b{}-hq{}-hkv{}-q{}-kv{}-d{}-{}", point.kernel, formats, w.batch, w.heads_q,
                               w.heads_kv, w.q_len, w.kv_len, depth, for_file_name(point.mask));
  if (point.tile_q != 0) id += fmt::format("-tq{}-tkv{}-w{}", point.tile_q, point.tile_kv, point.warps);
  if (point.stages != 0) id += fmt::format("-s{}", point.stages);
  if (point.splits != 0) id += fmt::format("-splits{}", point.splits);
  return id;
}

}  // namespace tilescope::validate
