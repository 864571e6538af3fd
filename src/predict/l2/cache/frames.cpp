#include "predict/l2/cache/frames.h"

#include <algorithm>

namespace tilescope {

int LocalFrames::places() const {
  constexpr std::int64_t finest = 32 << 10;  // smaller ones take time and show nothing: a set's lines come from many
  int places = 1;
  while (places < most_places && bytes / (2 * places) >= finest) places *= 2;
  return places;
}

FrameSweep::FrameSweep(const LocalFrames& frames, std::size_t slots, std::size_t units, std::vector<CachePiece>& pieces,
                       std::vector<int>& first)
    : places_(frames.places()),
      first_entry_(static_cast<int>(first.size()) - 1),
      place_bytes_(frames.bytes / places_),
      touches_(slots, 0),
      ages_(static_cast<std::size_t>(places_) + 1) {
  constexpr std::int64_t page = 2 << 20;
  std::int64_t base = 0;
  for (const CachePiece& piece : pieces) base = std::max(base, piece.address + piece.bytes);
  base = (base + page - 1) / page * page;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const auto frame =
        static_cast<std::int64_t>(slot % units) * frames.of_a_unit + static_cast<std::int64_t>(slot / units);
    for (int place = 0; place < places_; ++place) {
      pieces.push_back({base + frame * frames.bytes + place * place_bytes_, place_bytes_});
      first.push_back(static_cast<int>(pieces.size()));
    }
  }
}

int FrameSweep::entry(std::size_t slot, int place) const {
  return first_entry_ + static_cast<int>(slot) * places_ + place;
}

void FrameSweep::touch(L2Cache& cache, std::size_t slot, int place, int side) {
  const auto bytes = static_cast<double>(place_bytes_);
  std::int64_t& touches = touches_[slot];
  // Ages under a whole frame take turns at some of the touches: looking changes nothing, and takes as long as a touch.
  constexpr int touches_a_look = 5;  // prime to the places of a frame: each place is looked at
  if (places_ > 1 && touched_++ % touches_a_look == 0) {
    const int age = 1 + static_cast<int>(touched_ / touches_a_look % (places_ - 1));
    if (touches >= age) {
      const int at = entry(slot, (place - age + places_) % places_);
      cache.later(L2Cache::Use::missing, at, side, first_tally + age);
      cache.later(L2Cache::Use::overwritten, at, side, first_tally + age);
      ages_[static_cast<std::size_t>(age)].touched += bytes;
    }
  }
  const bool again = touches++ >= places_;  // not the block's first sweep
  if (again) ages_.back().touched += bytes;
  if (again) cache.later(L2Cache::Use::missing, entry(slot, place), side, first_tally + places_);
  // Loads are of last use: they leave no copy.
  cache.later(L2Cache::Use::store, entry(slot, place), side, again ? stores : first_stores);
}

void FrameSweep::count(const L2Cache::Tallies& tallies) {
  for (std::size_t age = 1; age < ages_.size(); ++age) {
    const L2Cache::Tally& tally = tallies[first_tally + age];
    ages_[age].missing += static_cast<double>(tally.lacked), ages_[age].written += static_cast<double>(tally.written);
  }
  ages_.back().written += static_cast<double>(tallies[stores].written);
}

}  // namespace tilescope
