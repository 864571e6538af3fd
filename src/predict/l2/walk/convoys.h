// Blocks of a walk that ask for the same tiles at the same times: the first of them, in the order in which their units
// take turns, asks; the others' reads change nothing. They sleep until it is their turn to ask, or until they end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tilescope {

// A unit's place for a block, what each step looks at: one line of the processor's cache.
struct alignas(64) WalkSlot {
  static constexpr std::size_t most_moving = 4;
  std::int64_t next_time = 0, phase_time = 0;  // phase_time: of a phase when `phase_shared` blocks share the unit
  std::int32_t phase_shared = 0, unit = 0;
  std::int32_t left = 0;                         // steps of the innermost stream loop, with this one
  std::int32_t phase = 0;                        // of its step: the place of its frame that is next
  std::array<std::int32_t, most_moving> tile{};  // of the first moving streams
  std::int32_t slept = 0;                        // steps that it has passed over, or will have when it wakes
  std::uint8_t same = 0;                         // a bit each: it was at this tile before
  std::int8_t cache = 0, side = 0;               // the L2 of its unit, and its side of it
  bool busy = false, fresh = false;              // fresh: in its first step
  bool joined = false;                           // in these steps of the innermost stream loop
  std::int16_t mark = 0;                         // which mark of a tile is that of its side
};
static_assert(sizeof(WalkSlot) == 64);

class Convoys {
 public:
  // `inner`: tiles from a step to the next one, of each moving stream.
  Convoys(std::vector<WalkSlot>& slots, const std::array<std::int32_t, WalkSlot::most_moving>& inner)
      : slots_(slots), inner_(inner) {}

  // The slot is at a step of the innermost stream loop that is not its first one. It sleeps as long as slots before it
  // go through the same steps.
  void join(WalkSlot& slot) {
    slot.joined = true;
    const auto number = static_cast<std::int32_t>(&slot - slots_.data());
    Convoy& convoy = convoys_[place_of(slot)];
    const bool same = convoy.last < number && convoy.time == slot.next_time && convoy.phase_time == slot.phase_time &&
                      convoy.tile == slot.tile && convoy.cache == slot.cache && convoy.side == slot.side;
    if (!same) {
      convoy = {slot.next_time, slot.phase_time, slot.tile, slot.left, number, slot.cache, slot.side};
      return;
    }
    convoy.last = number;
    slot.slept = slot.left <= convoy.left ? slot.left - 1 : convoy.left;
    convoy.left = std::max(convoy.left, slot.left);
    go(slot, slot.slept);
  }

  // Units are to work at another pace from here on: all slots, which have taken their turns at time `now`, wake where
  // they are. Returns steps that were passed over and are to be made.
  std::int64_t wake_all(std::int64_t now) {
    std::int64_t undone = 0;
    for (WalkSlot& slot : slots_) {
      if (!slot.busy || slot.slept == 0) continue;
      if (slot.next_time > now) {
        const auto steps =
            static_cast<std::int32_t>(std::min<std::int64_t>((slot.next_time - now - 1) / slot.phase_time, slot.slept));
        go(slot, -steps), undone += steps;
      }
      slot.slept = 0;
    }
    return undone;
  }

 private:
  // Slots up to `last`, of which one has `left` steps to go and none has more.
  struct Convoy {
    std::int64_t time = -1, phase_time = 0;
    std::array<std::int32_t, WalkSlot::most_moving> tile{};
    std::int32_t left = 0, last = 0;
    std::int8_t cache = 0, side = 0;
  };

  void go(WalkSlot& slot, std::int32_t steps) const {
    slot.next_time += steps * slot.phase_time, slot.left -= steps;
    for (std::size_t m = 0; m < inner_.size(); ++m) slot.tile[m] += steps * inner_[m];
  }

  // One that is put out of its place by another convoy costs time alone.
  static constexpr std::size_t places = 1024;
  static std::size_t place_of(const WalkSlot& slot) {
    const auto tile = static_cast<std::uint32_t>(slot.tile[0]);
    return (tile * 8 + static_cast<std::uint32_t>(slot.cache * 2 + slot.side)) * 2654435761u >> 22;
  }
  static_assert(places == 1 << 10);

  std::vector<WalkSlot>& slots_;
  std::array<std::int32_t, WalkSlot::most_moving> inner_;
  std::array<Convoy, places> convoys_{};
};

}  // namespace tilescope
