// Bytes of DRAM over length: records of one kernel that differ in their length and in nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/pictures/pictures.h"

namespace tilescope::analysis {
namespace {

constexpr std::size_t fewest_lengths = 3;
constexpr std::int64_t least_span = 4;  // longest over shortest

// Everything but the length, as text: what a series has in common. Queries as many as keys stand for "N x N".
std::string series_of(const PictureRecord& record) {
  const validate::MeasurePoint& p = record.compared->record.point;
  const validate::PointWorkload& w = p.workload;
  std::string dtypes = to_string(p.dtype);
  for (const auto& [key, dtype] : p.dtypes) dtypes += fmt::format(",{}={}", key, to_string(dtype));
  std::string text = fmt::format("{} {}x{}", dtypes, p.tile_q, p.tile_kv);
  if (w.batch > 1) text += fmt::format(" B{}", w.batch);
  text +=
      w.heads_q == w.heads_kv ? fmt::format(" {} heads", w.heads_q) : fmt::format(" GQA {}/{}", w.heads_q, w.heads_kv);
  text += w.d_qk == w.d_v ? fmt::format(" d{}", w.d_qk) : fmt::format(" d{}/{}", w.d_qk, w.d_v);
  if (p.mask != "none") text += " " + p.mask;
  if (w.q_len != w.kv_len) text += fmt::format(" {} queries", w.q_len);
  return text + (p.warps ? fmt::format(" {}w", p.warps) : "") + (p.stages ? fmt::format(" s{}", p.stages) : "") +
         (p.splits ? fmt::format(" splits {}", p.splits) : "");
}

double both(const Prediction& prediction, Boundary boundary) {
  const auto& bytes = prediction.traffic[boundary];
  return static_cast<double>(bytes[0]) + static_cast<double>(bytes[1]);
}

}  // namespace

std::vector<LengthSeries> length_series(const std::vector<PictureRecord>& records) {
  std::map<std::pair<std::string, std::string>, std::map<std::int64_t, const PictureRecord*>> series;
  for (const PictureRecord& record : records)
    if (record.hbm_read && record.hbm_write) {
      // 16-bit formats move the same bytes: one series may hold both.
      std::string name = series_of(record);
      if (name.starts_with("bf16 ") || name.starts_with("fp16 ")) name.replace(0, 4, "16-bit");
      series[{record.kernel, name}].emplace(record.compared->record.point.workload.kv_len, &record);
    }
  std::vector<LengthSeries> list;
  for (const auto& [name, points] : series) {
    if (points.size() < fewest_lengths || points.rbegin()->first < least_span * points.begin()->first) continue;
    LengthSeries& one = list.emplace_back(
        LengthSeries{.kernel = name.first, .label = name.second, .third_party = points.begin()->second->third_party});
    for (const auto& [length, record] : points)
      one.points.push_back({.kv_len = static_cast<double>(length),
                            .predicted = both(record->prediction(), Boundary::hbm),
                            .measured = *record->hbm_read + *record->hbm_write,
                            .compulsory = static_cast<double>(record->prediction().compulsory_bytes),
                            .no_cache = both(record->prediction(), Boundary::l2)});
  }
  return list;
}

}  // namespace tilescope::analysis
