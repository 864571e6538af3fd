#include "draw/layout/order.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>

#include "base/contains.h"

namespace tilescope::draw {
namespace {

constexpr std::size_t permuted_inputs = 6;  // 720 first orders; more inputs: the listed order and its exchanges of two
constexpr std::size_t lane_budget = 640;    // lanes times states kept

struct State {
  std::int64_t cost = 0;
  Order order{};
  std::vector<int> lanes{};  // after the last step, from top to bottom
};

std::vector<int> joined(const std::vector<int>& a, const std::vector<int>& b, const std::vector<int>& c) {
  std::vector<int> all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

std::vector<int> positions(const std::vector<int>& lanes, std::size_t count) {
  std::vector<int> at(count, -1);
  for (std::size_t i = 0; i < lanes.size(); ++i) at[static_cast<std::size_t>(lanes[i])] = static_cast<int>(i);
  return at;
}

class Search {
 public:
  explicit Search(const Flow& flow) : flow_(flow) {}

  Order run() {
    std::vector<State> states = starts();
    for (std::size_t s = 0; s < flow_.steps.size(); ++s) {
      std::vector<State> next;
      for (const State& state : states) extend(state, s, next);
      keep_best(next);
      states = std::move(next);
    }
    State& best = states.front();
    best.order.last = passing(best.lanes, flow_.gaps.back(), {});
    return std::move(best.order);
  }

 private:
  std::int64_t weight(int lane) const { return static_cast<std::int64_t>(flow_.array(lane).axes.size()); }

  std::vector<State> starts() const {
    std::vector<int> lanes = flow_.first;
    std::vector<State> states;
    const auto add = [&] {
      std::int64_t moved = 0;  // a tie-breaker only: one crossing costs more
      for (std::size_t i = 0; i < lanes.size(); ++i)
        for (std::size_t j = i + 1; j < lanes.size(); ++j) moved += lanes[i] > lanes[j] ? 1 : 0;
      states.push_back({.cost = moved, .order = {.first = lanes}, .lanes = lanes});
    };
    if (lanes.size() <= permuted_inputs) {
      do add();
      while (std::next_permutation(lanes.begin(), lanes.end()));
      return states;
    }
    add();
    for (std::size_t i = 0; i < flow_.first.size(); ++i)
      for (std::size_t j = i + 1; j < flow_.first.size(); ++j) {
        std::swap(lanes[i], lanes[j]);
        add();
        std::swap(lanes[i], lanes[j]);
      }
    return states;
  }

  // Lanes that go on past the next box, each below the one it comes from.
  std::vector<int> passing(const std::vector<int>& lanes, const std::vector<Link>& links,
                           const std::vector<int>& inputs) const {
    std::vector<int> found;
    for (const int lane : lanes)
      for (const Link& link : links)
        if (link.from == lane && !contains(inputs, link.to)) found.push_back(link.to);
    return found;
  }

  std::int64_t crossings(const std::vector<int>& before, const std::vector<int>& after,
                         const std::vector<Link>& links) const {
    const std::vector<int> from = positions(before, flow_.lanes.size()), to = positions(after, flow_.lanes.size());
    std::int64_t cost = 0;
    for (std::size_t i = 0; i < links.size(); ++i)
      for (std::size_t j = i + 1; j < links.size(); ++j) {
        const int a = from[static_cast<std::size_t>(links[i].from)] - from[static_cast<std::size_t>(links[j].from)];
        const int b = to[static_cast<std::size_t>(links[i].to)] - to[static_cast<std::size_t>(links[j].to)];
        if (a * b < 0) cost += 100 * weight(links[i].to) * weight(links[j].to);
      }
    for (const Link& link : links)  // long wires matter less than crossings
      cost += 4 * weight(link.to) *
              std::abs(from[static_cast<std::size_t>(link.from)] - to[static_cast<std::size_t>(link.to)]);
    return cost;
  }

  // Lanes in outer memory should pass outside of lanes that are on chip.
  std::int64_t enclosed(const Stage& stage) const {
    std::int64_t cost = 0;
    const auto count = [&](auto begin, auto end) {
      bool chip = false;
      for (auto lane = begin; lane != end; ++lane) {
        if (flow_.on_chip(*lane)) chip = true;
        else if (chip) cost += 60 * weight(*lane);
      }
    };
    count(stage.above.begin(), stage.above.end());
    count(stage.below.rbegin(), stage.below.rend());
    return cost;
  }

  // In a box wires run straight on from the uppermost input; it should be the one that shares most axes with the
  // output.
  std::int64_t inside(const Step& step, const std::vector<int>& inputs) const {
    const Array& out = flow_.diagram->array(flow_.op(step).outputs.front());
    std::int64_t most = 0, first = 0;
    for (const int lane : inputs) {
      const auto& axes = flow_.array(lane).axes;
      const auto shared = std::count_if(axes.begin(), axes.end(), [&](AxisId axis) { return out.has(axis); });
      most = std::max<std::int64_t>(most, shared);
      if (lane == inputs.front()) first = shared;
    }
    return 300 * (most - first);
  }

  void extend(const State& state, std::size_t s, std::vector<State>& next) const {
    const Step& step = flow_.steps[s];
    const std::vector<int> others = passing(state.lanes, flow_.gaps[s], step.inputs);
    std::vector<std::vector<int>> inputs{step.inputs}, outputs{step.outputs};
    if (step.inputs.size() > 1) inputs.emplace_back(step.inputs.rbegin(), step.inputs.rend());
    if (step.outputs.size() > 1) outputs.emplace_back(step.outputs.rbegin(), step.outputs.rend());
    for (std::size_t place = 0; place <= others.size(); ++place) {
      const auto cut = others.begin() + static_cast<std::ptrdiff_t>(place);
      for (const auto& in : inputs)
        for (const auto& out : outputs) {
          Stage stage{.above = {others.begin(), cut}, .below = {cut, others.end()}, .inputs = in, .outputs = out};
          State found = state;
          found.cost += crossings(state.lanes, stage.before(), flow_.gaps[s]) + enclosed(stage) + inside(step, in);
          found.lanes = stage.after();
          found.order.stages.push_back(std::move(stage));
          next.push_back(std::move(found));
        }
    }
  }

  // Keeps the best state for each resulting order; the first one found on ties.
  void keep_best(std::vector<State>& states) const {
    std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) { return a.cost < b.cost; });
    std::map<std::vector<int>, bool> seen;
    std::vector<State> kept;
    const std::size_t most = std::max<std::size_t>(4, lane_budget / std::max<std::size_t>(1, flow_.lanes.size()));
    for (State& state : states)
      if (kept.size() < most && seen.emplace(state.lanes, true).second) kept.push_back(std::move(state));
    states = std::move(kept);
  }

  const Flow& flow_;
};

}  // namespace

std::vector<int> Stage::before() const { return joined(above, inputs, below); }
std::vector<int> Stage::after() const { return joined(above, outputs, below); }

Order order_of(const Flow& flow) { return Search(flow).run(); }

}  // namespace tilescope::draw
