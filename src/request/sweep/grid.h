// Many points: the cross product of axes of any kind, of which some are wanted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "request/option_specs.h"
#include "request/sweep/choice_axes.h"
#include "request/sweep/order.h"
#include "request/sweep/sweep.h"
#include "request/sweep/where.h"

namespace tilescope {

// Combinations of the axes whose values are texts: each is kept in memory.
inline constexpr std::size_t most_combinations = 4096;

class SweepGrid {
 public:
  // Throws InputError where `predict` does for every combination of the axes whose values are texts, and for invalid
  // axes. A combination that `predict` refuses keeps its points, with the reason.
  explicit SweepGrid(const Options& options);

  std::size_t points() const { return points_; }       // of the grid
  std::size_t size() const { return order_->size(); }  // of the question: those drawn, or all; --where leaves some out
  std::vector<std::string> tiles() const;              // tile parameters of all plans
  bool walks() const;  // some point is walked through the L2, which takes up to a second

  void predict_first(SweptPoint& point) const;  // that of place 0, wanted or not

  // Predicts the points at these places in order, several at once on each thread. `make(slot, point)` is called for
  // each that is wanted by the thread that predicted it, `take(slot)` in order, after a number of `make` of its slot
  // (slots_of(threads), base/parallel.h). Returns whether any point can run. Throws InputError at an invalid point.
  struct Run {
    Places places;
    std::size_t threads = 1;
    Wanted wanted = Wanted::all;
    std::function<void(std::size_t done, std::size_t all)> progress = {};
  };
  using Make = std::function<void(std::size_t slot, const SweptPoint& point)>;
  using Take = std::function<void(std::size_t slot)>;
  bool each_point(const Run& run, const Make& make, const Take& take) const;

 private:
  struct Axis {
    bool choice = false;
    std::size_t number = 0, size = 0;  // among the axes of its kind; values
  };
  void read_combinations(const Options& options, const std::vector<std::string>& numbers);
  const Sweep& at(std::size_t point, std::vector<std::size_t>& positions) const;

  std::vector<Axis> axes_;  // in the order given: the first one changes fastest
  std::vector<ChoiceAxis> choices_;
  std::vector<Sweep> combinations_;  // the first choice changes fastest
  std::size_t points_ = 1;
  std::optional<PointOrder> order_;
  std::optional<WhereCondition> where_;
};

// All places on one thread.
bool each_point(const SweepGrid& grid, const std::function<void(const SweptPoint&)>& visit);

// --axis, --where, --random, --seed and --yes.
std::vector<OptionSpec> sweep_axis_options();

}  // namespace tilescope
