// How blocks and their steps move streams of tiles.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "predict/l2/walk/convoys.h"
#include "predict/l2/walk/nest_steps.h"
#include "predict/l2/walk/tiles.h"

namespace tilescope {

// A stream of tiles that a block's steps move, and the loops that do.
struct Moving {
  std::size_t stream = 0, loops = 0;
  std::array<std::size_t, max_loops> loop{};
  std::array<int, max_loops> stride{};
  int inner = 0;       // tiles from a step of the innermost stream loop to the next one
  bool plain = false;  // of loads that wait for nothing: Slot says all
};

struct MovingStreams {
  MovingStreams(const TileStreams& tiles, const Nest& nest, const NestSteps& steps);

  // How far a trip of a group loop moves a stream.
  struct OfBlock {
    std::size_t stream, loop;
    std::int64_t stride;
  };

  std::vector<OfBlock> of_blocks;
  std::vector<Moving> list;
  std::vector<std::size_t> fixed;  // streams that steps do not move
  bool all_plain = true;
  // Of the first of the list, which WalkSlot holds: Moving::inner, the stream, and a bit each: all of them, and those
  // that do not move from a step to the next one.
  std::array<std::int32_t, WalkSlot::most_moving> inner{};
  std::array<std::size_t, WalkSlot::most_moving> stream{};
  std::uint8_t all = 0, still = 0;
};

}  // namespace tilescope
