// Tests only: an element at random, by the walk's sequence; it becomes the last one.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tilescope {

template <class T>
T drawn(std::vector<T>& from, std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  std::swap(from[(state >> 33) % from.size()], from.back());
  return from.back();
}

}  // namespace tilescope
