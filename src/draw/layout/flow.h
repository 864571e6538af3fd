// The content of a picture without positions: the steps of a diagram under a schedule from left to right, and the lanes
// between them. A lane is one array at one level; a copy, a load and a store each begin a new lane.
#pragma once

#include <string>
#include <vector>

#include "diagram/diagram.h"
#include "schedule/schedule.h"

namespace tilescope::draw {

inline constexpr int outer_memory = -1;

struct Lane {
  ArrayId array;  // as it is named
  ArrayId
      result;  // as operators of its island read it; differs where a result is stored as partial result or accumulator
  int island = outer_memory;  // the island whose on-chip memory holds it
  bool state = false;         // accumulated at every step of a stream
  bool ends = false;          // neither read nor stored afterwards
  bool view = false;          // begins as a view of another array
  bool places = false;        // a table of positions, not values
  std::string note{};         // text shown on hover
};

struct Link {
  int from, to;  // the same: the lane goes on
  int via = -1;  // from one island to the next: the lane at the outer level in between
};

struct Step {
  int op, island;
  std::vector<int> inputs{}, outputs{};  // lanes
};

struct Flow {
  const Diagram* diagram = nullptr;
  const Schedule* schedule = nullptr;  // null: everything stays at the outer level
  std::vector<Lane> lanes{};
  std::vector<int> first{};               // lanes of the inputs
  std::vector<std::vector<Link>> gaps{};  // before each step, and behind the last: which lane becomes which
  std::vector<Step> steps{};              // islands in order, operators in order; shared operators run in each

  const Array& array(int lane) const { return diagram->array(lanes[static_cast<std::size_t>(lane)].array); }
  const Operator& op(const Step& step) const { return diagram->operators[static_cast<std::size_t>(step.op)]; }
  bool on_chip(int lane) const { return schedule != nullptr && lanes[static_cast<std::size_t>(lane)].island >= 0; }
};

// The loop of the lane's island that cuts the axis last; null: none does, or the lane is at the outer level.
const Loop* loop_over(const Flow& flow, int lane, AxisId axis);

// `diagram` must outlive the result; with a schedule it is the schedule's own, with its accumulators and partial
// results.
Flow flow_of(const Diagram& diagram, const Schedule* schedule);

}  // namespace tilescope::draw
