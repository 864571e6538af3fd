#include "predict/l2/cache/frames.h"

#include <algorithm>
#include <bit>
#include <cmath>

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
      touches_(slots, 0) {
  traffic_.stores.resize(static_cast<std::size_t>(places_) + 1);
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
      // Contents of element i have ages from i to i + 1 sixteenths of the frame, evenly. Multiples of the golden
      // section spread evenly, so that shares of few places are right too.
      constexpr double golden = 0.6180339887498949;
      const double turns = (static_cast<double>(loaded_age_.size()) + 0.5) * golden;
      double part = turns - std::floor(turns);
      std::size_t i = 0;
      while (i + 1 < frames.loaded_after.size() && part >= frames.loaded_after[i]) part -= frames.loaded_after[i++];
      const double inside = std::min(0.999, frames.loaded_after[i] > 0 ? part / frames.loaded_after[i] : 0);
      loaded_age_.push_back(static_cast<std::int8_t>((static_cast<double>(i) + inside) * places_ / local_ages));
    }
  }
  loads_.assign(loaded_age_.size(), 0);
  for (std::size_t slot = 0; slot < slots; ++slot)
    for (int place = 0; place < places_; ++place) {
      const int age = loaded_age(slot, place);
      std::uint32_t& ages = loads_[static_cast<std::size_t>(entry(slot, (place + age) % places_) - first_entry_)];
      ages |= std::uint32_t{1} << age;
    }
}

int FrameSweep::entry(std::size_t slot, int place) const {
  return first_entry_ + static_cast<int>(slot) * places_ + place;
}

int FrameSweep::loaded_age(std::size_t slot, int place) const {
  return loaded_age_[slot * static_cast<std::size_t>(places_) + static_cast<std::size_t>(place)];
}

void FrameSweep::touch(L2Cache& cache, std::size_t slot, int place, int side) {
  const auto bytes = static_cast<double>(place_bytes_);
  const std::int64_t before = touches_[slot]++;
  const bool again = before >= places_;  // not the block's first sweep
  // Of the place whose contents are `age` old.
  const auto entry_of = [&](int age) { return entry(slot, (place - age) & (places_ - 1)); };
  // Ages under a whole frame take turns at some of the touches: looking changes nothing, and takes as long as a touch.
  constexpr int touches_a_look = 5;  // prime to the places of a frame: each place is looked at
  if (places_ > 1 && touched_++ % touches_a_look == 0) {
    const int age = 1 + static_cast<int>(touched_ / touches_a_look % (places_ - 1));
    if (before >= age) {
      traffic_.stores[static_cast<std::size_t>(age)].bytes += bytes;
      cache.later(L2Cache::Use::overwritten, entry_of(age), side, first_tally + age);
    }
  }
  const std::uint32_t all = loads_[static_cast<std::size_t>(entry_of(0) - first_entry_)];
  const auto load = [&](int age) {
    if (again) traffic_.loads.bytes += bytes;
    cache.later(L2Cache::Use::read_last, entry_of(age), side, again ? loads : uncounted);
  };
  for (std::uint32_t ages = all & ~std::uint32_t{1}; ages != 0; ages &= ages - 1)
    if (const int age = std::countr_zero(ages); before >= age) load(age);
  if (again) traffic_.stores.back().bytes += bytes;
  cache.later(L2Cache::Use::store, entry_of(0), side, again ? stores : uncounted);
  if ((all & 1) != 0) load(0);
}

void FrameSweep::count(const L2Cache::Tallies& tallies) {
  for (std::size_t age = 1; age < traffic_.stores.size(); ++age)
    traffic_.stores[age].moved += static_cast<double>(tallies[first_tally + age].written);
  traffic_.stores.back().moved += static_cast<double>(tallies[stores].written);
  traffic_.loads.moved += static_cast<double>(tallies[loads].lacked);
}

}  // namespace tilescope
