#include "records/record_label.h"

#include <fmt/format.h>

namespace tilescope {

std::string implementation_label(const validate::MeasurePoint& p) {
  std::string text = to_string(p.dtype);
  for (const auto& [key, dtype] : p.dtypes) text += fmt::format(",{}={}", key, to_string(dtype));
  if (p.tile_q) text += fmt::format(" {}x{}", p.tile_q, p.tile_kv);
  if (p.tile_q && p.warps) text += fmt::format(" {}w", p.warps);  // the same tile is built with 4 and with 8 warps
  if (p.stages) text += fmt::format(" s{}", p.stages);
  if (p.splits) text += fmt::format(" splits {}", p.splits);
  return text;
}

std::string workload_label(const validate::MeasurePoint& p) {
  const validate::PointWorkload& w = p.workload;
  std::string text = w.d_qk == w.d_v ? fmt::format("d{}", w.d_qk) : fmt::format("d{}/{}", w.d_qk, w.d_v);
  text += w.q_len == w.kv_len ? fmt::format(" N{}", w.q_len) : fmt::format(" N{}x{}", w.q_len, w.kv_len);
  if (w.batch > 1) text += fmt::format(" B{}", w.batch);
  if (w.heads_q != w.heads_kv) text += fmt::format(" GQA {}/{}", w.heads_q, w.heads_kv);
  return text + (p.mask == "none" ? "" : " " + p.mask);
}

std::string record_label(const validate::MeasurePoint& p) {
  return p.kernel + " " + implementation_label(p) + " " + workload_label(p);
}

}  // namespace tilescope
