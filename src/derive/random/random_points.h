// Tests only: random small extents, masks and tiles.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/test_seed.h"
#include "diagram/diagram.h"
#include "diagram/random_mask.h"

namespace tilescope {

class RandomPoints {
 public:
  explicit RandomPoints(unsigned value) : engine_(value) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  std::mt19937& engine() { return engine_; }

  // The diagram's own sizes.
  void sizes(Diagram& diagram, std::int64_t most = 9) {
    for (Axis& axis : diagram.axes)
      if (!axis.extent && !axis.chunks_of) axis.length = between(1, most);
  }
  Workload workload(std::int64_t longest = 20) {
    const std::int64_t heads_kv = between(1, 3);
    return {between(1, 2), heads_kv * between(1, 3), heads_kv, between(1, longest), between(1, longest), between(1, 4),
            between(1, 4)};
  }
  std::vector<std::int64_t> tiles(std::size_t count, std::int64_t most = 10) {
    std::vector<std::int64_t> values(count);
    for (std::int64_t& value : values) value = between(1, most);
    return values;
  }

  Mask mask(const Workload& workload) { return random_mask(engine_, workload); }
  Mask window(std::int64_t widest) { return *parse_mask("window:" + std::to_string(between(1, widest))); }
  Mask blocks(const Workload& workload, std::int64_t block_q, std::int64_t block_kv) {
    return random_blocks(engine_, workload, block_q, block_kv);
  }

 private:
  std::mt19937 engine_;
};

}  // namespace tilescope
