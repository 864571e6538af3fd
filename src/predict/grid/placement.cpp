#include "predict/grid/placement.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "predict/point/order/next_unit.h"

namespace tilescope {
namespace {

constexpr double least_pace = 1e-3;  // where one more block adds nothing

// Work is counted in clocks of a full unit; a unit with fewer blocks works it off faster, and older blocks get ahead.
struct PlacingUnit {
  std::vector<double> left;  // work of each block on the unit, the oldest first
  double at = 0;             // the time of `left`
  bool changed = false;      // since its next end was announced
};

// A place of a unit where a block has ended: blocks that the unit still held then, and the unit.
using FreePlace = std::pair<std::size_t, std::int64_t>;

class Device {
 public:
  Device(std::int64_t units, std::int64_t resident, const BlockClocks& clocks)
      : units_(static_cast<std::size_t>(units)), clocks_(clocks), ends_(units_.size()) {
    const double full = clocks.step[static_cast<std::size_t>(resident - 1)];
    for (std::size_t j = 1; j <= static_cast<std::size_t>(resident); ++j)
      done_by_[j] = static_cast<double>(j) * (clocks.step[j - 1] > 0 ? full / clocks.step[j - 1] : 1);
    for (std::size_t count = 1; count <= static_cast<std::size_t>(resident); ++count)
      for (std::size_t i = 0; i < count; ++i) pace_[count][i] = pace(i, count);
  }

  void start(std::int64_t unit, double time, double work) {
    advance(unit, time);
    units_[static_cast<std::size_t>(unit)].left.push_back(work);
    change(unit);
  }

  // The next blocks that end, all at one time: their places, those on the emptiest units first, and the time. Empty:
  // none is left.
  const std::vector<FreePlace>& end(double& time) {
    freed_.clear();
    for (const std::int64_t unit : changed_) announce(unit);
    changed_.clear();
    while (ends_.time() != no_event) {
      const double now = ends_.time();
      if (!freed_.empty() && now > time * (1 + 1e-12)) break;
      const std::int64_t unit = ends_.unit();
      PlacingUnit& u = units_[static_cast<std::size_t>(unit)];
      advance(unit, now);
      u.left.erase(u.left.begin() + static_cast<std::ptrdiff_t>(next_of(u).first));
      ends_.set(unit, no_event);
      if (!u.left.empty() && next_of(u).second <= now * 1e-12) announce(unit);  // another one ends with it
      else change(unit);
      freed_.emplace_back(u.left.size(), unit), time = now;
    }
    std::sort(freed_.begin(), freed_.end());
    return freed_;
  }

  double busy() const { return busy_; }

 private:
  // Work a clock of the i-th oldest block of a unit that holds `count`: an even share of what all get done, or, were
  // the oldest served first everywhere, what it adds to those before it.
  double pace(std::size_t i, std::size_t count) const {
    const double first = std::max(least_pace, done_by_[i + 1] - done_by_[i]);
    const double ahead = clocks_.oldest_first;
    return (1 - ahead) * done_by_[count] / static_cast<double>(count) + ahead * first;
  }
  // The block of a unit that ends next, and the clocks until then.
  std::pair<std::size_t, double> next_of(const PlacingUnit& u) const {
    const auto& paces = pace_[u.left.size()];
    std::size_t best = 0;
    double least = u.left[0] / paces[0];
    for (std::size_t i = 1; i < u.left.size(); ++i)
      if (const double clocks = u.left[i] / paces[i]; clocks < least) best = i, least = clocks;
    return {best, least};
  }
  void advance(std::int64_t unit, double time) {
    PlacingUnit& u = units_[static_cast<std::size_t>(unit)];
    const auto& paces = pace_[u.left.size()];
    for (std::size_t i = 0; i < u.left.size(); ++i) u.left[i] -= (time - u.at) * paces[i];
    if (!u.left.empty()) busy_ += time - u.at;
    u.at = time;
  }
  // A unit's next end is announced once, when all that happens at one time has happened.
  void change(std::int64_t unit) {
    PlacingUnit& u = units_[static_cast<std::size_t>(unit)];
    if (!std::exchange(u.changed, true)) changed_.push_back(unit);
  }
  void announce(std::int64_t unit) {
    PlacingUnit& u = units_[static_cast<std::size_t>(unit)];
    u.changed = false;
    constexpr double last = std::numeric_limits<double>::max();
    if (!u.left.empty()) ends_.set(unit, std::min(last, u.at + std::max(0.0, next_of(u).second)));
  }

  std::vector<PlacingUnit> units_;
  const BlockClocks& clocks_;
  std::array<double, most_resident + 1> done_by_{};                          // work a clock of so many blocks on a unit
  std::array<std::array<double, most_resident>, most_resident + 1> pace_{};  // by blocks on a unit, and block
  std::vector<FreePlace> freed_;
  std::vector<std::int64_t> changed_;
  NextUnit ends_;
  double busy_ = 0;
};

}  // namespace

double BlockClocks::of_block(double steps, std::int64_t resident) const {
  if (steps <= 0 && empty >= 0) return empty;
  return steps * step[static_cast<std::size_t>(resident - 1)] + fixed;
}

Placement place_blocks(std::span<const std::int64_t> steps, std::int64_t units, std::int64_t resident,
                       const BlockClocks& clocks, std::span<const std::int32_t> first) {
  Device device(units, resident, clocks);
  // Each number of steps is worked out once: most blocks of a launch have as many as others.
  std::unordered_map<std::int64_t, double> known;
  const auto work = [&](std::int64_t of_block) {
    const auto [entry, is_new] = known.try_emplace(of_block);
    if (is_new) entry->second = clocks.of_block(static_cast<double>(of_block), resident);
    return entry->second;
  };
  std::size_t next = 0;
  const std::size_t places = static_cast<std::size_t>(units * resident);
  for (; next < std::min(steps.size(), places); ++next)
    device.start(first.empty() ? static_cast<std::int64_t>(next) % units : first[next], 0, work(steps[next]));
  Placement placed;
  for (;;) {
    const std::vector<FreePlace>& free = device.end(placed.clocks);
    if (free.empty()) break;
    for (const auto& [held, unit] : free)
      if (next < steps.size()) device.start(unit, placed.clocks, work(steps[next++]));
  }
  placed.busy = device.busy() / static_cast<double>(units);
  return placed;
}

Placement place_equal_blocks(std::int64_t blocks, double steps, std::int64_t units, std::int64_t resident,
                             const BlockClocks& clocks) {
  const double work = clocks.of_block(steps, resident), full = clocks.step[static_cast<std::size_t>(resident - 1)];
  const std::int64_t waves = blocks / (units * resident), left = blocks % (units * resident);
  const auto time_of = [&](std::int64_t on_a_unit) {
    if (on_a_unit == 0) return 0.0;
    const double now = clocks.step[static_cast<std::size_t>(on_a_unit - 1)];
    return full > 0 ? work * now / full : work;
  };
  const std::int64_t more = left / units, rest = left % units;  // `rest` units hold one block more than the others
  Placement placed;
  placed.clocks = static_cast<double>(waves) * work + time_of(more + (rest > 0 ? 1 : 0));
  placed.busy = static_cast<double>(waves) * work +
                (static_cast<double>(rest) * time_of(more + 1) + static_cast<double>(units - rest) * time_of(more)) /
                    static_cast<double>(units);
  return placed;
}

}  // namespace tilescope
