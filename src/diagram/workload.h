// The extents of one attention problem and the mask between queries and keys.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

constexpr std::int64_t largest_extent = std::int64_t{1}
                                        << 40;  // of any axis: products of a few still fit 64 bits or overflow visibly

// Extents a diagram's axes may be sized by.
enum class Extent { batch, heads_kv, group, q_len, kv_len, d_qk, d_v };
inline constexpr std::size_t extent_count = 7;

std::string to_string(Extent extent);
std::optional<Extent> parse_extent(std::string_view text);
std::vector<std::string> extent_names();

struct Workload {
  std::int64_t batch = 1, heads_q = 1, heads_kv = 1, q_len = 1, kv_len = 1, d_qk = 64, d_v = 64;

  // group = heads_q / heads_kv.
  std::int64_t size(Extent extent) const;
  // Every extent positive and at most 2^40, heads_q a multiple of heads_kv; one message per violation.
  std::vector<std::string> violations() const;
};

// Which (query, key) pairs are live. causal is bottom-right aligned: query i sees keys j <= i + kv_len - q_len.
// window W is causal and keeps the last W keys of that range. blocks holds one row of 0/1 per query block.
struct Mask {
  enum class Kind { none, causal, window, blocks };
  struct Blocks {
    std::int64_t block_q = 0, block_kv = 0;  // tile sizes the pattern is defined on
    std::vector<std::vector<bool>> live;     // [query block][key block]
  };

  Kind kind = Kind::none;
  std::int64_t window = 0;
  std::shared_ptr<const Blocks> blocks = nullptr;
  std::string text = "none";  // as given on the command line
};

// "none", "causal", "window:W". nullopt: not one of these. (block-sparse:FILE is read by the caller.)
std::optional<Mask> parse_mask(std::string_view text);

}  // namespace tilescope
