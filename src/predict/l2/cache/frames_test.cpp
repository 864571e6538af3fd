// Compares the sweeps of frames with plain lists of places: what an age meets is found by looking at every place after
// every touch.
#include "predict/l2/cache/frames.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/contains.h"

namespace tilescope {
namespace {

constexpr std::int64_t place_bytes = 40 << 10;

// One partition without sets: places by last touch and by last store, the most recent first.
struct PlainFrames {
  std::size_t room, dirty_room;  // places
  int places;
  std::vector<int> list{}, dirty{};
  std::vector<FrameAge> ages = std::vector<FrameAge>(static_cast<std::size_t>(places) + 1);
  std::vector<int> touches = std::vector<int>(64, 0);

  void look(int age, int entry) {
    FrameAge& found = ages[static_cast<std::size_t>(age)];
    found.touched += 1, found.missing += contains(list, entry) ? 0 : 1, found.written += contains(dirty, entry) ? 0 : 1;
  }
  void touch(int slot, int place) {
    const auto entry = [&](int of) { return slot * places + (of + places) % places; };
    for (int age = 1; age <= places; ++age)
      if (touches[static_cast<std::size_t>(slot)] >= age) look(age, entry(place - age));
    ++touches[static_cast<std::size_t>(slot)];
    for (std::vector<int>* each : {&list, &dirty}) {
      std::erase(*each, entry(place));
      each->insert(each->begin(), entry(place));
    }
    if (list.size() > room) std::erase(dirty, list.back()), list.pop_back();
    if (dirty.size() > dirty_room) dirty.pop_back();
  }
};

}  // namespace

TEST_CASE("an age of a frame misses the L2 as often as in plain lists of places") {
  const LocalFrames frames{.bytes = 8 * place_bytes};
  const int places = frames.places(), slots = 5;
  REQUIRE(places == 8);
  for (const std::int64_t room : {9, 20, 33, 39, 40, 64}) {
    CAPTURE(room);
    std::vector<CachePiece> pieces;
    std::vector<int> first{0};
    FrameSweep sweep(frames, slots, 3, pieces, first);
    REQUIRE(pieces.size() == static_cast<std::size_t>(slots * places));
    L2Cache cache;
    cache.reset({.capacity = room * place_bytes, .partitions = 1, .ways = 0, .dirty = 0.5}, pieces, first);
    PlainFrames plain{static_cast<std::size_t>(room), static_cast<std::size_t>(room / 2), places};
    for (int step = 0; step < 200; ++step)
      for (int place = 0; place < places; ++place)
        for (int slot = 0; slot < slots; ++slot)
          sweep.touch(cache, static_cast<std::size_t>(slot), place, 0), plain.touch(slot, place);
    sweep.count(cache.settle());
    for (int age = 1; age <= places; ++age) {
      CAPTURE(age);
      const FrameAge &found = sweep.ages()[static_cast<std::size_t>(age)],
                     &expected = plain.ages[static_cast<std::size_t>(age)];
      REQUIRE(found.touched > 0);
      CHECK(found.missing_part() == doctest::Approx(expected.missing_part()).epsilon(0.02));
      CHECK(found.written_part() == doctest::Approx(expected.written_part()).epsilon(0.02));
    }
  }
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

}  // namespace tilescope
