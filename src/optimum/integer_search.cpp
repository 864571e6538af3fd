#include "optimum/integer_search.h"

#include <stdexcept>

namespace tilescope {
namespace {

class Search {
 public:
  Search(std::span<const TileSteps> steps, const TileCount& memory, std::int64_t capacity, const TileCount& traffic,
         std::int64_t most_points)
      : steps_(steps), memory_(memory), traffic_(traffic), capacity_(capacity), most_points_(most_points) {
    for (const TileSteps& tile : steps) {
      if (tile.step < 1 || tile.least < 1) throw std::invalid_argument("tiles and their steps must be at least 1");
      tiles_.push_back(tile.least);
    }
  }

  IntegerSearch run() {
    for (const TileSteps& tile : steps_)
      if (tile.least > tile.most) return result_;
    if (steps_.empty()) {
      if (fits()) consider();
    } else {
      vary(0);
    }
    return result_;
  }

 private:
  bool spend() {
    if (result_.points >= most_points_) result_.complete = false;
    else ++result_.points;
    return result_.complete;
  }
  bool fits() { return spend() && memory_(tiles_) <= capacity_; }

  void consider() {
    if (!spend()) return;
    const std::int64_t moved = traffic_(tiles_);
    if (!result_.best || moved < result_.best->traffic) result_.best = IntegerOptimum{tiles_, moved};
  }

  // Tiles after `position` have their smallest value on entry and on return.
  void vary(std::size_t position) {
    const TileSteps& tile = steps_[position];
    for (std::int64_t value = tile.least; result_.complete; value += tile.step) {
      tiles_[position] = value;
      if (!fits()) break;
      if (position + 1 < steps_.size()) vary(position + 1);
      else consider();
      if (value > tile.most - tile.step) break;
    }
    tiles_[position] = tile.least;
  }

  std::span<const TileSteps> steps_;
  const TileCount& memory_;
  const TileCount& traffic_;
  std::int64_t capacity_, most_points_;
  std::vector<std::int64_t> tiles_;
  IntegerSearch result_;
};

}  // namespace

TileCount tile_count(const Program& program, std::vector<std::int64_t> inputs, std::vector<std::size_t> tile_positions,
                     std::vector<std::int64_t> externals, std::size_t output) {
  std::vector<std::int64_t> outputs(program.output_count());
  if (output >= outputs.size()) throw std::invalid_argument("a program has no such output");
  return [program, inputs = std::move(inputs), positions = std::move(tile_positions), externals = std::move(externals),
          outputs = std::move(outputs), output](std::span<const std::int64_t> tiles) mutable {
    for (std::size_t i = 0; i < positions.size(); ++i) inputs.at(positions[i]) = tiles[i];
    program.run(inputs, externals, outputs);
    return outputs[output];
  };
}

IntegerSearch search_tiles(std::span<const TileSteps> steps, const TileCount& memory, std::int64_t capacity,
                           const TileCount& traffic, std::int64_t most_points) {
  return Search(steps, memory, capacity, traffic, most_points).run();
}

}  // namespace tilescope
