// A fixed sequence of numbers that look random, so that a prediction is the same each time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tilescope {

// The next number: 31 bits (a linear congruential generator; the constants are Knuth's, MMIX).
inline std::uint64_t next_random(std::uint64_t& state) {
  return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33;
}

// An element at random, which is taken out.
template <class T>
T take_at_random(std::vector<T>& from, std::uint64_t& state) {
  std::swap(from[next_random(state) % from.size()], from.back());
  const T taken = from.back();
  from.pop_back();
  return taken;
}

}  // namespace tilescope
