// The extents of one attention problem.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagram/mask.h"

namespace tilescope {

constexpr std::int64_t largest_extent = std::int64_t{1}
                                        << 40;  // of any axis: products of a few still fit 64 bits or overflow visibly

// Extents a diagram's axes may be sized by.
enum class Extent { batch, heads_kv, group, q_len, kv_len, d_qk, d_v };
template <>
struct EnumTable<Extent> {
  static constexpr std::array rows{NamedKind{Extent::batch, "batch"},   NamedKind{Extent::heads_kv, "heads_kv"},
                                   NamedKind{Extent::group, "group"},   NamedKind{Extent::q_len, "q_len"},
                                   NamedKind{Extent::kv_len, "kv_len"}, NamedKind{Extent::d_qk, "d_qk"},
                                   NamedKind{Extent::d_v, "d_v"}};
};

struct Workload {
  std::int64_t batch = 1, heads_q = 1, heads_kv = 1, q_len = 1, kv_len = 1, d_qk = 64, d_v = 64;

  // group = heads_q / heads_kv.
  std::int64_t size(Extent extent) const;
  // Every extent positive and at most 2^40, heads_q a multiple of heads_kv; one message per violation.
  std::vector<std::string> violations() const;
  friend bool operator==(const Workload&, const Workload&) = default;
};

inline std::int64_t Workload::size(Extent extent) const {
  switch (extent) {
    case Extent::batch:
      return batch;
    case Extent::heads_kv:
      return heads_kv;
    case Extent::group:
      return heads_q / heads_kv;
    case Extent::q_len:
      return q_len;
    case Extent::kv_len:
      return kv_len;
    case Extent::d_qk:
      return d_qk;
    case Extent::d_v:
      return d_v;
  }
  return 0;
}

}  // namespace tilescope
