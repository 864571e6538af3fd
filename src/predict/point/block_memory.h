// What the blocks of each launch were like at the last point: points of a sweep whose blocks are alike share it.
#pragma once

#include <memory>
#include <vector>

#include "predict/point/memory_footprint.h"

namespace tilescope {

// What a block's facts and footprint follow from, beside the plan, the GPU and the formats, which the points share.
struct BlockKey {
  const IslandImplementation* how = nullptr;  // nullptr: of no block
  std::int64_t warps = 0, stages = 0, blocks_per_unit = 0;
  Workload workload;  // head dimensions; all of it where rows have scales or parts of bytes
  std::array<std::int64_t, max_parameters> tiles{};
  std::array<std::int64_t, max_loops> loop_tiles{};
  std::array<std::int64_t, max_axes> sizes{};  // of axes that no loop cuts; of all, as above

  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

struct MemoryForms;  // l2/memory_forms.h

struct KnownBlock {
  BlockKey key;
  const KernelVariant* variant = nullptr;
  TensorMemory tensor_memory;
  IslandFacts facts;
  // Worked out when they are asked for:
  bool has_footprint = false;
  Footprint footprint;
  std::int64_t blocks_per_unit = 0;
  std::shared_ptr<const MemoryForms> memory;
  std::vector<WholeArray> arrays;  // of all launches, in the first one's block

  void forget() {
    key = {};
    facts.known = has_footprint = false, facts.product_count = 0, blocks_per_unit = 0;
    memory = nullptr, arrays.clear();
  }
};

// By launch. Of one plan, one GPU and one choice of formats alone: whoever asks for others starts with an empty one.
using BlockMemory = std::vector<KnownBlock>;

BlockKey block_key(const Point& point, const IslandImplementation& how, const Nest& nest);

}  // namespace tilescope
