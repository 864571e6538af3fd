#include "search/search.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <tuple>

#include "base/contains.h"
#include "base/parallel.h"
#include "predict/l2/walk/walk.h"
#include "predict/point/support.h"
#include "predict/predict.h"

namespace tilescope {
namespace {

constexpr std::array<std::int64_t, 3> warp_choices{fewest_warps, 8, 12};

using Sizes = std::vector<std::vector<std::int64_t>>;

bool keeps_fixed(const Plan& plan, const Point& base, const Point& point, const SearchOptions& options) {
  if (options.keep_warps && point.warps != base.warps) return false;
  if (options.keep_stages && point.stages != base.stages) return false;
  return std::all_of(options.fixed.begin(), options.fixed.end(), [&](int position) {
    const auto i = static_cast<std::size_t>(position);
    return point.tiles[i] == base.tiles[i] || plan.kernel.is_free(plan.schedule.parameters[i].name);
  });
}

// Every built tile that has what is fixed, with every size of what the host chooses at run time and `fixed` leaves
// open.
std::vector<Point> points_of_variants(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                                      const SearchOptions& options) {
  const std::vector<int>& fixed = options.fixed;
  std::vector<Point> points;
  for (const KernelVariant& variant : plan.kernel.variants) {
    if (!serves(plan, base, variant)) continue;
    Point point = base;
    take_variant(point, plan.schedule, variant);
    if (variant.stages == 0 && options.keep_stages) point.stages = base.stages;  // `unsupported` compares them
    if (keeps_fixed(plan, base, point, options)) points.push_back(point);
  }
  if (plan.kernel.free.empty()) return points;
  if (const int splits = plan.schedule.find_parameter("splits"); plan.kernel.host_splits && !contains(fixed, splits)) {
    const std::int64_t chosen =
        chosen_splits(*plan.kernel.host_splits, hardware.units.value, named_sizes(hardware, base.workload));
    for (Point& point : points) point.tiles[static_cast<std::size_t>(splits)] = chosen;
    return points;
  }
  const Sizes sizes = tile_candidates(plan, hardware, base);
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    if (!plan.kernel.is_free(plan.schedule.parameters[static_cast<std::size_t>(i)].name) || contains(fixed, i))
      continue;
    std::vector<Point> more;
    for (const Point& point : points)
      for (const std::int64_t size : sizes[static_cast<std::size_t>(i)])
        more.push_back(point), more.back().tiles[static_cast<std::size_t>(i)] = size;
    points = std::move(more);
  }
  return points;
}

bool too_many(const Sizes& sizes) {
  std::size_t count = warp_choices.size();
  for (const auto& list : sizes) {
    count *= list.size();
    if (count > most_search_points) return true;
  }
  return false;
}

// Every second size of the longest list goes, until the combinations are few enough.
bool thin(Sizes& sizes) {
  bool thinned = false;
  while (too_many(sizes)) {
    auto& longest =
        *std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < longest.size(); i += 2) kept.push_back(longest[i]);
    longest = std::move(kept), thinned = true;
  }
  return thinned;
}

// The sizes of every parameter that are tried.
Sizes sizes_of_grid(const Plan& plan, const HardwareProfile& hardware, const Point& base, const SearchOptions& options,
                    bool* thinned) {
  Sizes sizes = tile_candidates(plan, hardware, base);
  for (const int position : options.fixed)
    sizes[static_cast<std::size_t>(position)] = {base.tiles[static_cast<std::size_t>(position)]};
  const bool left_out = thin(sizes);
  if (thinned) *thinned = left_out;
  return sizes;
}

// Visits every combination of the sizes, with every number of warps, that whole instructions cover.
template <class Visit>
void for_each_point(const TileRules& rules, const Point& base, const Sizes& sizes, WarpLayout layout, Visit visit) {
  Point point = base;
  std::vector<std::size_t> at(sizes.size(), 0);
  for (bool more = true; more;) {
    for (std::size_t i = 0; i < sizes.size(); ++i) point.tiles[i] = sizes[i][at[i]];
    for (const std::int64_t warps : warp_choices) {
      point.warps = warps;
      if (rules.fit(point, layout)) visit(point);
    }
    std::size_t digit = sizes.size();
    while (digit > 0 && ++at[digit - 1] == sizes[digit - 1].size()) at[--digit] = 0;
    more = digit > 0;
  }
}

std::int64_t smem_bytes(const Prediction& prediction) {
  std::int64_t most = 0;
  for (const FootprintRow& row : prediction.footprint)
    if (row.level == Boundary::smem) most = std::max(most, row.bytes);
  return most;
}

Candidate candidate_of(const HardwareProfile& hardware, const Point& point, const Prediction& prediction) {
  Candidate candidate;
  candidate.point = point, candidate.seconds = prediction.time.total;
  candidate.busy_seconds = busy_seconds(hardware, prediction);
  candidate.l2_bytes = prediction.traffic.both(LevelId::l2);
  candidate.hbm_bytes = prediction.traffic.both(LevelId::hbm);
  candidate.bound_by = prediction.time.bound_by;
  candidate.model = model_name(prediction), candidate.basis = overall_basis(hardware, prediction);
  candidate.smem_bytes = smem_bytes(prediction);
  return candidate;
}

// What a thread works out at once.
struct Batch {
  static constexpr std::size_t points = 32;
  Prediction prediction;
  SearchResult found;
};

// False: the tile does not fit, and only its footprint was worked out. `rates_known` is set when the GPU states the
// tensor rates that the plan's products need; which these are does not depend on the tile, unless an island has other
// implementations for other numbers of steps. Until then every point is predicted whole.
bool predict_candidate(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                       std::atomic<bool>& rates_known, Prediction& out) {
  if (rates_known) return predict_if_it_fits(plan, hardware, point, out);
  predict(plan, hardware, point, out);
  if (out.runnable && out.work.tensor_flop > 0 && plan.kernel.others.empty()) rates_known = true;
  return true;
}

void judge(const HardwareProfile& hardware, const Point& point, const Prediction& prediction, SearchResult& result) {
  if (!prediction.runnable) {
    result.infeasible.push_back({.point = point, .runnable = false, .row = {}});
    return;
  }
  const auto too_big = std::find_if(prediction.footprint.begin(), prediction.footprint.end(),
                                    [](const FootprintRow& row) { return !row.fits(); });
  if (too_big != prediction.footprint.end()) {
    result.infeasible.push_back({.point = point, .row = *too_big});
    return;
  }
  for (const double seconds : prediction.time.seconds) result.unmeasured_rates = result.unmeasured_rates || seconds < 0;
  result.feasible.push_back(candidate_of(hardware, point, prediction));
}

// What ranks.
using Rank = std::tuple<double, std::int64_t, std::int64_t>;
Rank rank_of(const Candidate& candidate) { return {candidate.busy_seconds, candidate.l2_bytes, candidate.smem_bytes}; }
Rank rank_of(const HardwareProfile& hardware, const Prediction& prediction) {
  return {busy_seconds(hardware, prediction), prediction.traffic.both(LevelId::l2), smem_bytes(prediction)};
}
bool before(const Candidate& a, const Candidate& b) { return rank_of(a) < rank_of(b); }

void append(SearchResult& result, SearchResult&& found) {
  std::move(found.feasible.begin(), found.feasible.end(), std::back_inserter(result.feasible));
  std::move(found.infeasible.begin(), found.infeasible.end(), std::back_inserter(result.infeasible));
  result.unmeasured_rates = result.unmeasured_rates || found.unmeasured_rates;
  found = {};
}

// Predicts the points by the closed form, in their order.
void try_points(const Plan& plan, const HardwareProfile& hardware, const std::vector<Point>& points,
                const SearchOptions& options, SearchResult& result) {
  const std::size_t batches = (points.size() + Batch::points - 1) / Batch::points;
  std::vector<Batch> slots(slots_of(options.threads));
  std::atomic<bool> rates_known = false;
  if (options.threads <= 1 && !plan.assumed) {  // steps that nobody has asked for take milliseconds
    std::vector<Batch> each(points.size());
    at_once(points.size(), [&](std::size_t i) {
      predict_candidate(plan, hardware, points[i], rates_known, each[i].prediction);
      judge(hardware, points[i], each[i].prediction, each[i].found);
    });
    for (Batch& own : each) append(result, std::move(own.found));
    return;
  }
  const auto end_of = [&](std::size_t batch) { return std::min(points.size(), (batch + 1) * Batch::points); };
  in_order(
      batches, options.threads,
      [&](std::size_t batch, std::size_t slot) {
        Batch& own = slots[slot];
        for (std::size_t i = batch * Batch::points; i < end_of(batch); ++i) {
          predict_candidate(plan, hardware, points[i], rates_known, own.prediction);
          judge(hardware, points[i], own.prediction, own.found);
        }
      },
      [&](std::size_t batch, std::size_t slot) {
        append(result, std::move(slots[slot].found));
        if (options.progress) options.progress(end_of(batch), points.size());
      });
}

}  // namespace

double busy_seconds(const HardwareProfile& hardware, const Prediction& prediction) {
  if (prediction.time.modelled) return prediction.time.total;
  double total = 0;
  for (const IslandPrediction& island : prediction.islands) {
    const double idle = std::max(
        1.0, static_cast<double>(hardware.units.value) / static_cast<double>(std::max<std::int64_t>(1, island.blocks)));
    double slowest = 0;
    for (std::size_t i = 0; i < resource_count; ++i) {
      const auto resource = static_cast<Resource>(static_cast<int>(i));
      slowest = std::max(slowest, island.resource_seconds[i] * (of_whole_device(resource) ? 1.0 : idle));
    }
    total += slowest;
  }
  return total;
}

std::vector<Point> search_points(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                                 const SearchOptions& options, bool* thinned, WarpLayout layout) {
  if (!plan.kernel.variants.empty()) return points_of_variants(plan, hardware, base, options);
  std::vector<Point> points;
  for_each_point(TileRules(plan, base.workload), base, sizes_of_grid(plan, hardware, base, options, thinned), layout,
                 [&](const Point& point) { points.push_back(point); });
  return points;
}

std::optional<Point> best_by_closed_form(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                                         const SearchOptions& options) {
  Point closed = base;
  closed.l2 = L2Model::closed;
  const TileRules rules(plan, base.workload);
  const Sizes sizes = sizes_of_grid(plan, hardware, base, options, nullptr);
  std::atomic<bool> rates_known = false;
  Prediction prediction;
  std::optional<Point> best;
  Rank least;
  bool tried = false;
  const auto consider = [&](const Point& point) {
    tried = true;
    if (!predict_candidate(plan, hardware, point, rates_known, prediction) || !prediction.feasible) return;
    if (const Rank rank = rank_of(hardware, prediction); !best || rank < least) best = point, least = rank;
  };
  for (const WarpLayout layout : {WarpLayout::own_rows, WarpLayout::shared_rows}) {
    for_each_point(rules, closed, sizes, layout, consider);
    if (best) break;
  }
  if (!tried) consider(closed);
  return best;
}

SearchResult rank_by_closed_form(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                                 const SearchOptions& options) {
  SearchResult result;
  Point closed = base;
  closed.l2 = L2Model::closed;
  const auto try_all = [&](WarpLayout layout) {
    try_points(plan, hardware, search_points(plan, hardware, closed, options, &result.thinned, layout), options,
               result);
  };
  try_all(WarpLayout::own_rows);
  if (result.feasible.empty() && plan.kernel.variants.empty())
    result.infeasible.clear(), try_all(WarpLayout::shared_rows);
  if (result.feasible.empty() && result.infeasible.empty() && plan.kernel.variants.empty())
    try_points(plan, hardware, {closed}, options, result);  // no size suits every product: the schedule's own tile
  std::stable_sort(result.feasible.begin(), result.feasible.end(), before);
  return result;
}

namespace {

// How many of the first ones by the closed form are walked.
std::size_t count_to_walk(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                          const SearchResult& result) {
  if (base.l2 != L2Model::walk) return 0;
  constexpr std::size_t most = 6;
  constexpr double far_behind = 1.25;  // times the best one's time by the closed form
  const double best = result.feasible.empty() ? 0 : result.feasible.front().busy_seconds;
  constexpr std::int64_t most_steps = std::int64_t{1} << 26;  // of all of them together: some seconds
  std::size_t count = 0;
  for (std::int64_t steps = 0; count < std::min(most, result.feasible.size()); ++count) {
    const Candidate& candidate = result.feasible[count];
    if (candidate.busy_seconds > far_behind * best) break;
    Point walked = candidate.point;
    walked.l2 = base.l2;
    steps += walk_steps(plan, hardware, walked);
    if (count > 0 && steps > most_steps) break;
  }
  return count;
}

// Of several candidates, those that are walked.
class Walked {
 public:
  Walked(const Plan& plan, const HardwareProfile& hardware, const Point& base, SearchResult& result)
      : plan_(plan), hardware_(hardware), base_(base), result_(result) {}

  Point walking(std::size_t i) const {
    Point point = result_.feasible[i].point;
    point.l2 = base_.l2, point.drift = base_.drift;
    return point;
  }
  void walk(std::size_t i) {
    const Point point = walking(i);
    predictions_[i] = predict_without_gains(plan_, hardware_, point);
    result_.feasible[i] = candidate_of(hardware_, Point(point), predictions_[i].prediction);
    result_.feasible[i].number = i;
  }
  // A time that a walk of the candidate gives at least.
  double least(std::size_t i) const { return busy_seconds(hardware_, predict_at_least(plan_, hardware_, walking(i))); }
  // The first `count` candidates have been walked.
  void take_first(std::size_t count) {
    std::stable_sort(result_.feasible.begin(), result_.feasible.begin() + static_cast<std::ptrdiff_t>(count), before);
    WithoutGains& first = predictions_[result_.feasible.front().number];
    first.add_gains(first.prediction);
    result_.first = std::move(first.prediction);
  }

 private:
  const Plan& plan_;
  const HardwareProfile& hardware_;
  const Point& base_;
  SearchResult& result_;
  std::vector<WithoutGains> predictions_ = std::vector<WithoutGains>(result_.feasible.size());
};

}  // namespace

void rank_by_walk(const Plan& plan, const HardwareProfile& hardware, const Point& base, std::size_t threads,
                  SearchResult& result) {
  const std::size_t count = count_to_walk(plan, hardware, base, result);
  if (count == 0) return;
  Walked walked(plan, hardware, base, result);
  if (threads == 0) at_once(count, [&](std::size_t i) { walked.walk(i); });
  else
    in_order(
        count, threads, [&](std::size_t i, std::size_t) { walked.walk(i); }, [](std::size_t, std::size_t) {});
  walked.take_first(count);
}

void find_first_by_walk(const Plan& plan, const HardwareProfile& hardware, const Point& base, SearchResult& result) {
  const std::size_t count = count_to_walk(plan, hardware, base, result);
  if (count == 0) return;
  Walked walked(plan, hardware, base, result);
  std::vector<double> least(count, 0);
  const std::vector<StepQuestion> ahead = questions_of_gains(plan, hardware, walked.walking(0));
  at_once(count + ahead.size(), [&](std::size_t i) {
    if (i == 0) walked.walk(i);
    else if (i < count) least[i] = walked.least(i);
    else plan.steps->clocks(ahead[i - count], hardware);
  });
  // Bounds hold where a step takes no less time when more of its tiles come from memory; simulated steps may by a few
  // clocks.
  constexpr double sure = 1.01;
  const double best = result.feasible.front().busy_seconds;
  std::vector<std::size_t> others;
  for (std::size_t i = 1; i < count; ++i)
    if (least[i] <= sure * best) others.push_back(i);
  at_once(others.size(), [&](std::size_t i) { walked.walk(others[i]); });
  const auto begin = result.feasible.begin();
  const auto end = std::stable_partition(begin, begin + static_cast<std::ptrdiff_t>(count),
                                         [&](const Candidate& each) { return each.point.l2 == base.l2; });
  walked.take_first(static_cast<std::size_t>(end - begin));
}

SearchResult search_tiles(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                          const SearchOptions& options) {
  SearchResult result = rank_by_closed_form(plan, hardware, base, options);
  rank_by_walk(plan, hardware, base, options.threads, result);
  return result;
}

}  // namespace tilescope
