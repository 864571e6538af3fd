#include "diagram/workload.h"

#include <fmt/format.h>

namespace tilescope {
std::vector<std::string> Workload::violations() const {
  std::vector<std::string> found;
  const auto bad = [](std::int64_t value) { return value < 1 || value > largest_extent; };
  if (!(bad(batch) || bad(heads_q) || bad(heads_kv) || bad(q_len) || bad(kv_len) || bad(d_qk) || bad(d_v)) &&
      heads_q % heads_kv == 0)
    return found;  // soon: sweeps ask for every point
  const auto check = [&](std::string_view name, std::int64_t value) {
    if (bad(value)) found.push_back(fmt::format("{} must be an integer from 1 to 2^40, found {}", name, value));
  };
  check("batch", batch), check("heads_q", heads_q), check("heads_kv", heads_kv), check("q_len", q_len);
  check("kv_len", kv_len), check("d_qk", d_qk), check("d_v", d_v);
  if (found.empty() && heads_q % heads_kv != 0)
    found.push_back(
        fmt::format("heads_q must be a multiple of heads_kv so that every KV head serves equally many "
                    "query heads, found heads_q {} and heads_kv {}",
                    heads_q, heads_kv));
  return found;
}

}  // namespace tilescope
