#include "request/sweep/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/contains.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "request/option_specs.h"

namespace tilescope {
namespace {

constexpr std::size_t most_points = std::size_t{1} << (std::numeric_limits<std::size_t>::digits - 2);

// A point of a combination that `predict` refuses: what it shows without the options that may be the reason.
Sweep refused_sweep(const Options& options, const InputError& error, SharedPlans& shared) {
  for (const std::vector<std::string>& without :
       {std::vector<std::string>{"dtype"}, {"mask"}, {"tile"}, {"dtype", "mask", "tile"}}) {
    Options less = options;
    for (const std::string& name : without) less = less.without(name);
    try {
      Sweep sweep = read_sweep(less, &shared);
      sweep.refused = {error.diagnostics().front().path + ": " + error.diagnostics().front().message};
      return sweep;
    } catch (const InputError&) {
    }
  }
  throw error;
}

std::optional<Draw> draw_of(const Options& options) {
  const auto draws = options.integer("random", 1, static_cast<std::int64_t>(most_points));
  const auto seed = options.integer("seed", 0, std::int64_t{1} << 62);
  if (seed && !draws) refuse("--seed", "is of --random N; leave it out");
  if (!draws) return std::nullopt;
  return Draw{static_cast<std::size_t>(*draws), static_cast<std::uint64_t>(seed.value_or(1))};
}

}  // namespace

SweepGrid::SweepGrid(const Options& given) {
  Options options = given.without("axis");
  std::vector<std::string> numbers;  // texts of the axes whose values are numbers
  for (const std::string& text : given.all("axis")) {
    if (auto choice = read_choice_axis(text)) {
      for (const ChoiceAxis& other : choices_)
        if (other.name == choice->name) refuse("--axis", fmt::format("'{}' is given twice", choice->name));
      axes_.push_back({.choice = true, .number = choices_.size(), .size = choice->values.size()});
      choices_.push_back(std::move(*choice));
    } else {
      axes_.push_back({.choice = false, .number = numbers.size(), .size = 0});
      numbers.push_back(text);
    }
  }
  if (axes_.empty()) refuse("--axis", "is missing: give at least one axis to sweep, as in --axis seqlen=1k:128k:x2");
  read_combinations(options, numbers);
  for (Axis& axis : axes_) {
    if (!axis.choice) axis.size = combinations_.front().axes[axis.number].values.size();
    if (__builtin_mul_overflow(points_, axis.size, &points_) || points_ > most_points)
      refuse("--axis", "the axes together have more than 2^62 points; draw some of shorter axes with --random N");
  }
  order_.emplace(points_, draw_of(options));
  if (const auto text = options.text("where")) where_.emplace(*text, combinations_.front());
}

void SweepGrid::read_combinations(const Options& options, const std::vector<std::string>& numbers) {
  std::size_t count = 1;
  for (const ChoiceAxis& axis : choices_)
    if (__builtin_mul_overflow(count, axis.values.size(), &count) || count > most_combinations)
      refuse("--axis",
             fmt::format("GPUs, kernels, formats, masks and the like together have more than {} combinations, of which "
                         "each is kept in memory; sweep some of them at a time",
                         most_combinations));
  // An option first, then what adds to it: a GPU before its numbers, formats before those of single arrays.
  std::vector<std::size_t> in_turn;
  for (const bool adds : {false, true})
    for (std::size_t i = 0; i < choices_.size(); ++i)
      if (contains(choices_[i].name, '.') == adds) in_turn.push_back(i);
  SharedPlans shared;
  std::optional<InputError> first_error;
  bool any = false;
  for (std::size_t number = 0; number < count; ++number) {
    std::vector<std::size_t> at;
    for (std::size_t rest = number; const ChoiceAxis& axis : choices_)
      at.push_back(rest % axis.values.size()), rest /= axis.values.size();
    Options own = options;
    for (const std::size_t i : in_turn) own = with_choice(own, choices_[i], at[i]);
    for (const std::string& text : numbers) own = own.with("axis", text);
    try {
      combinations_.push_back(read_sweep(own, &shared));
      any = true;
    } catch (const InputError& error) {
      if (count == 1) throw;
      if (!first_error) first_error = error;
      combinations_.push_back(refused_sweep(own, error, shared));
    }
  }
  if (!any) throw *first_error;
}

std::vector<std::string> SweepGrid::tiles() const {
  std::vector<std::string> names;
  for (const Sweep& each : combinations_)
    for (const std::string& name : each.tiles())
      if (!contains(names, name)) names.push_back(name);
  return names;
}

bool SweepGrid::walks() const {
  return std::any_of(combinations_.begin(), combinations_.end(),
                     [](const Sweep& each) { return each.base.l2 == L2Model::walk; });
}

const Sweep& SweepGrid::at(std::size_t point, std::vector<std::size_t>& positions) const {
  std::size_t combination = 0, stride = 1;
  for (const Axis& axis : axes_) {
    const std::size_t position = point % axis.size;
    point /= axis.size;
    if (axis.choice) combination += stride * position, stride *= axis.size;
    else positions[axis.number] = position;
  }
  return combinations_[combination];
}

void SweepGrid::predict_first(SweptPoint& point) const {
  std::vector<std::size_t> positions(axes_.size());
  const Sweep& sweep = at(order_->point(0), positions);
  predict_at(sweep, positions, point);
}

bool SweepGrid::each_point(const Run& run, const Make& make, const Take& take) const {
  struct Slot {
    std::vector<std::size_t> positions;
    SweptPoint swept;
    std::optional<WhereCondition::Values> where;
    bool any_feasible = false;
    std::exception_ptr failed = {};
  };
  std::vector<Slot> slots(slots_of(run.threads));
  for (Slot& slot : slots) {
    slot.positions.resize(axes_.size());
    if (where_) slot.where.emplace(*where_);
  }
  // So few at once that all threads have work, and that what a batch holds stays small.
  const std::size_t all = run.places.size();
  const std::size_t batch = std::clamp<std::size_t>(all / (8 * run.threads), 1, walks() ? 4 : 256);
  bool any_feasible = false;
  in_order((all + batch - 1) / batch, run.threads,
           [&](std::size_t item, std::size_t number) {
             Slot& slot = slots[number];
             const std::size_t end = std::min(run.places.end, run.places.first + (item + 1) * batch);
             try {
               for (std::size_t place = run.places.first + item * batch; place < end; ++place) {
                 const Sweep& sweep = at(order_->point(place), slot.positions);
                 if (slot.where) {
                   settle_at(sweep, slot.positions, slot.swept);
                   if (!slot.where->wants(sweep, slot.swept.point)) continue;
                 }
                 predict_at(sweep, slot.positions, slot.swept, run.wanted);
                 slot.any_feasible = slot.any_feasible || slot.swept.feasible();
                 make(number, slot.swept);
               }
             } catch (...) {
               slot.failed = std::current_exception();
             }
           },
           [&](std::size_t item, std::size_t number) {
             any_feasible = any_feasible || slots[number].any_feasible;
             take(number);  // the points before one that fails are answered, whatever the size of a batch
             if (slots[number].failed) std::rethrow_exception(slots[number].failed);
             if (run.progress) run.progress(std::min(all, (item + 1) * batch), all);
           });
  return any_feasible;
}

std::vector<OptionSpec> sweep_axis_options() {
  return {{"axis",
           "NAME=FIRST:LAST:xFACTOR, NAME=FIRST:LAST:+STEP or NAME=A,B,C; repeat to cross. Names: sizes, tile_NAME, "
           "splits, warps, stages, " +
               join(choice_axis_names(), ", ") + " (numbers of the GPU's profile)"},
          {"where", "only points for which this holds, as in 'kv_len >= q_len and q_len % 128 == 0'"},
          {"random", "only N points of the axes, drawn at random, each at most once", Value::count},
          {"seed", "of --random (default 1)", Value::count},
          {"yes", "also an axis of more than 10,000 values, and more than 10 million points", Value::flag}};
}

bool each_point(const SweepGrid& grid, const std::function<void(const SweptPoint&)>& visit) {
  return grid.each_point(
      {.places = {0, grid.size()}, .threads = 1, .wanted = Wanted::all, .progress = {}},
      [&](std::size_t, const SweptPoint& point) { visit(point); }, [](std::size_t) {});
}

}  // namespace tilescope
