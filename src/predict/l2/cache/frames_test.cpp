// Compares the sweeps of frames with plain lists of places.
#include "predict/l2/cache/frames.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "base/contains.h"

namespace tilescope::frames_test {
namespace {

constexpr std::int64_t place_bytes = 40 << 10;

// One partition without sets: places by last access and by last store, the most recent first.
struct PlainFrames {
  std::size_t room, dirty_room;  // places
  int places;
  const FrameSweep& sweep;  // says when a place is loaded
  std::vector<int> list{}, dirty{};
  FrameAge loads{};
  std::vector<FrameAge> stores = std::vector<FrameAge>(static_cast<std::size_t>(places) + 1);
  std::vector<int> touches = std::vector<int>(64, 0);

  static void count(FrameAge& age, bool moved) { age.bytes += 1, age.moved += moved ? 1 : 0; }
  void access(int entry) {
    std::erase(list, entry);
    list.insert(list.begin(), entry);
    if (list.size() > room) std::erase(dirty, list.back()), list.pop_back();
  }
  // A load is a last use: the place becomes one of the older half.
  void load(int slot, int entry) {
    const auto at = std::find(list.begin(), list.end(), entry);
    if (touches[static_cast<std::size_t>(slot)] >= places) count(loads, at == list.end());
    const std::size_t half = (room + 1) / 2;
    if (at == list.end() || static_cast<std::size_t>(list.end() - at) <= half) return;
    list.erase(at);
    list.insert(list.end() - static_cast<std::ptrdiff_t>(half), entry);
  }
  void touch(int slot, int place) {
    const auto entry = [&](int of) { return slot * places + (of + places) % places; };
    const auto is_loaded = [&](int age) {
      return sweep.loaded_age(static_cast<std::size_t>(slot), (place - age + places) % places) == age &&
             touches[static_cast<std::size_t>(slot)] >= age;
    };
    for (int age = 1; age < places; ++age)
      if (touches[static_cast<std::size_t>(slot)] >= age)
        count(stores[static_cast<std::size_t>(age)], !contains(dirty, entry(place - age)));
    for (int age = 1; age < places; ++age)
      if (is_loaded(age)) load(slot, entry(place - age));
    if (touches[static_cast<std::size_t>(slot)] >= places) count(stores.back(), !contains(dirty, entry(place)));
    std::erase(dirty, entry(place));
    dirty.insert(dirty.begin(), entry(place));
    access(entry(place));
    if (dirty.size() > dirty_room) dirty.pop_back();
    if (is_loaded(0)) load(slot, entry(place));
    ++touches[static_cast<std::size_t>(slot)];
  }
};

}  // namespace

TEST_CASE("sweeps of frames miss the L2 as often as plain lists of places") {
  LocalFrames frames{.bytes = 8 * place_bytes};
  frames.loaded_after = {0.1, 0.1, 0, 0, 0.2, 0.2, 0, 0, 0, 0, 0.3, 0, 0, 0, 0, 0.1};
  const int places = frames.places(), slots = 11;  // looks at an age meet every slot and place
  REQUIRE(places == 8);
  for (const std::int64_t room : {9, 44, 72, 87, 88, 140}) {
    CAPTURE(room);
    std::vector<CachePiece> pieces;
    std::vector<int> first{0};
    FrameSweep sweep(frames, slots, 3, pieces, first);
    REQUIRE(pieces.size() == static_cast<std::size_t>(slots * places));
    L2Cache cache;
    cache.reset({.capacity = room * place_bytes, .partitions = 1, .ways = 0, .dirty = 0.5}, pieces, first);
    PlainFrames plain{static_cast<std::size_t>(room), static_cast<std::size_t>(room / 2), places, sweep};
    for (int step = 0; step < 200; ++step)
      for (int place = 0; place < places; ++place)
        for (int slot = 0; slot < slots; ++slot)
          sweep.touch(cache, static_cast<std::size_t>(slot), place, 0), plain.touch(slot, place);
    sweep.count(cache.settle());
    REQUIRE(plain.loads.bytes > 100 * slots * places);
    CHECK(sweep.traffic().loads.part() == doctest::Approx(plain.loads.part()).epsilon(0.001));
    for (int age = 1; age <= places; ++age) {
      CAPTURE(age);
      const FrameAge &found = sweep.traffic().stores[static_cast<std::size_t>(age)],
                     &expected = plain.stores[static_cast<std::size_t>(age)];
      REQUIRE(found.bytes > 0);
      CHECK(found.part() == doctest::Approx(expected.part()).epsilon(0.02));
    }
  }
}

TEST_CASE("places of frames are loaded at the ages whose shares are asked for") {
  LocalFrames frames{.bytes = 16 * place_bytes};
  frames.loaded_after = {0.25, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.25};
  REQUIRE(frames.places() == 16);
  std::vector<CachePiece> pieces;
  std::vector<int> first{0};
  constexpr std::size_t slots = 264;
  const FrameSweep sweep(frames, slots, 132, pieces, first);
  std::array<double, local_ages> found{};
  for (std::size_t slot = 0; slot < slots; ++slot)
    for (int place = 0; place < 16; ++place) found[static_cast<std::size_t>(sweep.loaded_age(slot, place))] += 1;
  for (std::size_t age = 0; age < local_ages; ++age)
    CHECK(found[age] / (slots * 16) == doctest::Approx(frames.loaded_after[age]).epsilon(0.1));
}

TEST_CASE("frames lie unit by unit and no two of them overlap") {
  std::vector<CachePiece> pieces{{0, 100}};
  std::vector<int> first{0, 1};
  const FrameSweep sweep({.bytes = 4 * place_bytes, .of_a_unit = 16}, 6, 3, pieces, first);
  CHECK(first.size() == 2 + 6 * 4);
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  for (std::size_t i = 1; i < pieces.size(); ++i)
    CHECK(pieces[i - 1].address + pieces[i - 1].bytes <= pieces[i].address);
  CHECK(pieces.back().address - pieces[1].address == (2 * 16 + 2) * 4 * place_bytes - place_bytes);
}

}  // namespace tilescope::frames_test
