#include "records/point.h"

#include <fmt/format.h>

#include "base/text.h"
#include "diagram/mask.h"
#include "diagram/tile_limits.h"
#include "diagram/workload.h"

namespace tilescope::validate {

Dtype dtype_of(const MeasurePoint& point, const std::string& key) {
  const auto own = point.dtypes.find(key);
  if (own != point.dtypes.end()) return own->second;
  const auto both = point.dtypes.find("kv");
  return both != point.dtypes.end() && (key == "k" || key == "v") ? both->second : Dtype{point.dtype};
}

std::vector<PointProblem> problems_of(const MeasurePoint& point) {
  constexpr std::size_t longest_name = 200;
  std::vector<PointProblem> found;
  const auto name = [&](const char* key, const std::string& text) {
    if (text.size() > longest_name || one_line(text) != text)
      found.push_back({key, fmt::format("expected a name of at most {} printable characters, found {}", longest_name,
                                        shown_text(text))});
  };
  name("kernel", point.kernel), name("mask", point.mask);
  if (!mask_kind(point.mask))
    found.push_back({"mask", fmt::format("expected {}, found {}", mask_spellings(), shown_text(point.mask))});
  const PointWorkload& w = point.workload;
  const Workload sizes{w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v};
  for (const std::string& violation : sizes.violations()) found.push_back({"workload", violation});
  const auto size = [&](const char* key, std::string_view size_name, std::int64_t value) {
    if (const auto problem = tile_problem(size_name, value, 0)) found.push_back({key, *problem});
  };
  size("tile.q", "q", point.tile_q), size("tile.kv", "kv", point.tile_kv);
  size("warps", "warps", point.warps), size("stages", "stages", point.stages), size("splits", "splits", point.splits);
  return found;
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
