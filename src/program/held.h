// What a running program holds on the chip.
#pragma once

#include <cstdint>
#include <vector>

namespace tilescope {

// The values of tiles over the time of a run, one clock a statement. A value is held from the statement that makes it
// to the last one that uses it.
class HeldValues {
 public:
  explicit HeldValues(std::size_t tiles) : now_(tiles, -1) {}

  void next() { ++clock_; }
  void use(std::size_t tile) {
    if (now_[tile] >= 0) values_[static_cast<std::size_t>(now_[tile])].last = clock_;
  }
  // `over`: tiles of the same shape whose place the value may take if this is their last use.
  void make(std::size_t tile, std::int64_t count, const std::vector<int>& over);

  std::int64_t most() const;

 private:
  struct Value {
    std::int64_t count = 0, first = 0, last = 0;
    std::vector<int> over{};  // values
  };
  std::vector<Value> values_;
  std::vector<int> now_;  // by tile: its present value
  std::int64_t clock_ = 0;
};

}  // namespace tilescope
