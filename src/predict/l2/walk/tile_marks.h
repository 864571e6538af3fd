// What a walk remembers of each tile.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tilescope {

class TileMarks {
 public:
  TileMarks(std::int64_t tiles, std::int64_t sides)
      : size_(static_cast<std::size_t>(1 + sides)), marks_(static_cast<std::size_t>(tiles) * size_, -1) {}

  // Whether it has been in an L2; and the same, and from now on it has.
  bool seen(int tile) const { return marks_[first(tile)] == 0; }
  bool see(int tile) { return std::exchange(marks_[first(tile)], 0) == 0; }
  // Whether a block of this side reads it in this round.
  bool read_in(std::int32_t round, int tile, std::size_t side) const { return marks_[first(tile) + 1 + side] == round; }
  void note_read(std::int32_t round, int tile, std::size_t side) { marks_[first(tile) + 1 + side] = round; }

 private:
  std::size_t first(int tile) const { return static_cast<std::size_t>(tile) * size_; }

  std::size_t size_;
  std::vector<std::int32_t> marks_;  // of a tile: 0 once it was seen, and the round of each side's last read
};

}  // namespace tilescope
