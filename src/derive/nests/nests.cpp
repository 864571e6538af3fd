#include "derive/nests/nests.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"

namespace tilescope {
namespace {

class NestWalk {
 public:
  NestWalk(const Primitives& primitives, const FusedKernel& kernel, std::size_t most)
      : rules_(primitives, kernel), most_(most) {
    for (const auto& [axis, stream] : rules_.axes())
      if (!contains(rules_.batch(), axis)) free_.push_back(axis);
    for (const AxisId axis : rules_.batch()) groups_.push_back({axis, Partition::group});
  }

  Nests run() {
    choose(0);
    return std::move(out_);
  }

 private:
  // Each free axis is whole, grouped, streamed, or in parts that are whole or streamed. The streams come in every
  // order.
  void choose(std::size_t position) {
    if (!out_.complete) return;
    if (position == free_.size()) return all_orders();
    const AxisId axis = free_[position];
    const auto with = [&](bool group, bool parts, bool stream) {
      if (group) groups_.push_back({axis, Partition::group, parts});
      if (stream) streams_.push_back({axis, Partition::stream});
      choose(position + 1);
      if (group) groups_.pop_back();
      if (stream) streams_.pop_back();
    };
    with(false, false, false);
    with(true, false, false);
    with(false, false, true);
    const bool split_already =
        std::any_of(groups_.begin(), groups_.end(), [](const AxisLoop& loop) { return loop.parts; });
    if (!rules_.splits(axis) || split_already) return;
    with(true, true, false);
    with(true, true, true);
  }

  void all_orders() {
    AxisLoops order = streams_;
    std::sort(order.begin(), order.end());
    do {
      if (out_.considered == most_) {
        out_.complete = false;
        return;
      }
      AxisLoops loops = groups_;
      loops.insert(loops.end(), order.begin(), order.end());
      ++out_.considered;
      if (rules_.why_not(loops).empty()) keep(loops);
    } while (std::next_permutation(order.begin(), order.end()));
  }

  void keep(const AxisLoops& loops) {
    ++out_.legal;
    LegalNest nest{loops, rules_.cost(loops), rules_.unread(loops)};
    const auto better = [&](const LegalNest& other) { return dominates(other.cost, nest.cost); };
    if (std::any_of(out_.survivors.begin(), out_.survivors.end(), better)) return;
    std::erase_if(out_.survivors, [&](const LegalNest& other) { return dominates(nest.cost, other.cost); });
    out_.survivors.push_back(std::move(nest));
  }

  KernelRules rules_;
  std::size_t most_;
  Nests out_;
  std::vector<AxisId> free_;
  AxisLoops groups_, streams_;
};

}  // namespace

namespace {

// Whether b has more loops over blocks, and repeats no more than a but for minor loads, of which it repeats some.
bool only_minor_loads_differ(const NestCost& a, const NestCost& b) {
  if ((b.groups & ~a.groups) == 0) return false;
  bool minor = false;
  for (std::size_t i = 0; i < b.repeated.size(); ++i) {
    const AxisBits more = b.repeated[i].second & ~a.repeated[i].second;
    if ((more & ~b.minor[i]) != 0) return false;
    minor = minor || more != 0;
  }
  return minor;
}

}  // namespace

bool dominates(const NestCost& a, const NestCost& b) {
  if (only_minor_loads_differ(a, b)) return false;
  // What a stream outside the parts keeps for their end is not among `resident`.
  if (a.parts != 0 && (b.groups & ~a.groups) != 0) return false;
  if ((b.tiled & ~a.tiled) != 0 || a.parts != b.parts) return false;
  for (std::size_t i = 0; i < a.repeated.size(); ++i)
    if ((a.repeated[i].second & ~b.repeated[i].second) != 0) return false;
  for (std::size_t i = 0; i < a.unread.size(); ++i)
    if (b.unread[i] && !a.unread[i]) return false;
  if (!std::includes(b.resident.begin(), b.resident.end(), a.resident.begin(), a.resident.end())) return false;
  return std::all_of(a.state.begin(), a.state.end(), [&](const auto& kept) {
    return std::any_of(b.state.begin(), b.state.end(), [&](const auto& other) {
      return other.first == kept.first && (kept.second & ~other.second) == 0;
    });
  });
}

Nests enumerate_nests(const Primitives& primitives, const FusedKernel& kernel, std::size_t most) {
  return NestWalk(primitives, kernel, most).run();
}

std::string to_text(const Diagram& diagram, const AxisLoops& loops) {
  std::string text;
  for (const AxisLoop& loop : loops)
    text += fmt::format("[{}:{}]", diagram.axes[index(loop.axis)].name,
                        loop.parts                           ? "P"
                        : loop.partition == Partition::group ? "G"
                                                             : "S");
  return text;
}

}  // namespace tilescope
