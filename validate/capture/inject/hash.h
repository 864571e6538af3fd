// A fast hash of bytes for tables and for names of modules; not a defence against made-up collisions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tilescope::capture {

__extension__ using DoubleWord = unsigned __int128;

inline std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  const DoubleWord product = static_cast<DoubleWord>(state ^ word ^ 0x9e3779b97f4a7c15U) * 0xd6e8feb86659fd93U;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t state = mixed(seed, bytes.size());
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    state = mixed(state + at, word);
  }
  std::uint64_t last = 0;
  std::memcpy(&last, bytes.data() + at, bytes.size() - at);
  return mixed(state, last);
}

}  // namespace tilescope::capture
