#include "predict/predict.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <optional>
#include <type_traits>

#include "base/parallel.h"
#include "predict/gains.h"
#include "predict/l2/compulsory.h"
#include "predict/l2/memory_seconds.h"
#include "predict/point/mechanisms.h"
#include "predict/possible.h"
#include "predict/resources.h"
#include "predict/results.h"
#include "predict/sm/simulated_step.h"
#include "predict/time/launch_gaps.h"

namespace tilescope {
namespace {

template <class Result>
using StageResults = std::pmr::vector<Result>;  // one a launch

enum class Gains { wanted, unwanted };

struct TimedLaunches {
  StageResults<LaunchAtSm> launches;
  StageResults<LaunchTime> by_themselves;
  EnergyByItem repeated{};  // of all launches run after run; with an empty L2: TimePrediction
};

// The schedule's launches one after the other, again and again. Returns the time of each.
StageResults<LaunchTime> time_of_sequence(const HardwareProfile& hardware, const Point& point, TimedLaunches& timed,
                                          double gone, Prediction& out) {
  TimePrediction& time = out.time;
  StageResults<LaunchTime> times(timed.launches.get_allocator());
  times.reserve(timed.launches.size());
  time.modelled = true, time.sm_cycles = 0;
  for (const LaunchAtSm& launch : timed.launches) {
    IslandPrediction& result = out.islands[times.size()];
    // Memory: what stays in the L2 from run to run, and what blocks and memory wait for each other.
    LaunchTime& each = times.emplace_back(time_in_sequence(launch, timed.by_themselves[times.size()], gone));
    if (point.l2 == L2Model::walk && at_work(point, Mechanism::memory_wait)) {
      each.memory_wait = memory_wait(launch, each.ramp_seconds, each.highest_hz, gone);
      add_memory_wait(hardware, each, result);
    }
    // Launches: the gap before each.
    if (at_work(point, Mechanism::launch_gaps)) {
      const double gap = launch_seconds(hardware, launch.bound.how, gone);
      time.launch += gap;
      time.cold_launch += times.size() == 1 ? alone_seconds(hardware, launch.bound.how) : gap;
    }
    time.sm_cycles += each.cold_seconds(each.highest_hz) * each.highest_hz, time.busy_cycles += result.busy_clocks;
    const double added = stored_bytes(launch.bound, StoredBytes::added_in_steps);
    add_energy(hardware, launch.bound.how, launch.counts, added, each.from_memory, timed.repeated);
    add_energy(hardware, launch.bound.how, launch.counts, added, 1, time.energy);
  }
  // Clock: the highest at which all of them stay within the power limit.
  const bool by_power = at_work(point, Mechanism::power);
  const EnergyByItem spent = by_power ? timed.repeated : EnergyByItem{};
  const ClockAndPower sustained = sustained_clock(hardware, times, spent, time.launch);
  time.clock_hz = sustained.hz, time.watts = sustained.watts;
  time.cold_hz = first_clock(hardware, times, by_power ? time.energy : EnergyByItem{});
  time.cold = time.cold_launch;
  for (std::size_t i = 0; i < times.size(); ++i) {
    out.islands[i].seconds = times[i].cold_seconds(time.cold_hz);
    time.cold += out.islands[i].seconds;
  }
  time.total = total_seconds(times, sustained.hz, time.launch);
  time.host = host_seconds(hardware, times.size());
  return times;
}

// Whether the clock that the power limit leaves changes how many clocks a launch takes: the L2, which has a clock of
// its own, decides.
bool l2_outlasts(const TimedLaunches& timed, double clock_hz) {
  constexpr double lower = 0.99, nearly = 0.7;
  for (std::size_t i = 0; i < timed.launches.size(); ++i) {
    const LaunchAtSm& launch = timed.launches[i];
    const double hz = launch.memory_hz, l2 = launch.memory.l2;
    if (clock_hz < lower * hz && l2 > launch.memory.hbm && l2 * hz > nearly * timed.by_themselves[i].clocks)
      return true;
  }
  return false;
}

bool fits(const Prediction& out) {
  return std::all_of(out.footprint.begin(), out.footprint.end(), [](const FootprintRow& row) { return row.fits(); });
}

// All that follows from the counts: resources, SM, grid, memory, launches, clock.
// `clock_hz`: of the launches, where an earlier call has found it; 0: the highest.
void add_times(const Plan& plan, const HardwareProfile& hardware, const StageResults<BoundIsland>& bound,
               std::span<const LaunchCounts> counts, Gains gains, Prediction& out, double clock_hz = 0) {
  const Point& point = bound.front().point;
  out.time = TimePrediction{};
  const auto memory = bound.get_allocator();
  TimedLaunches timed{.launches = StageResults<LaunchAtSm>(memory), .by_themselves = StageResults<LaunchTime>(memory)};
  timed.launches.reserve(bound.size()), timed.by_themselves.reserve(bound.size());
  for (const BoundIsland& launch : bound) {
    const auto number = static_cast<std::size_t>(launch.number);
    const LaunchAtSm& at_sm = timed.launches.emplace_back(launch_at_sm(launch, counts[number], clock_hz));
    // Resources: bytes and operations over their rates, a lower bound of the time.
    add_resources(resource_seconds(at_sm), launch.number, out);
    if (missing_sm_rate(at_sm)) continue;
    // SM: clocks of a step.
    const SmStep step = sm_clocks(at_sm);
    // Grid: blocks on SMs.
    const Placement placed = placed_blocks(at_sm, step);
    const LaunchTime& time = timed.by_themselves.emplace_back(launch_time(at_sm, step, placed));
    add_launch_time(step, time, launch.how.uses_tensor_cores(), out.islands[number]);
  }
  out.smem_modelled = std::none_of(plan.kernel.islands.begin(), plan.kernel.islands.end(),
                                   [](const auto& island) { return island.tensor_path == TensorPath::fma; });
  out.runnable = out.work.tensor_flop == 0 || out.time.seconds[static_cast<std::size_t>(Resource::tensor)] >= 0;
  out.feasible = out.runnable && fits(out);
  out.time = lower_bound_of_time(plan, hardware, point, out);

  // Memory, launches, clock, explain: where the blocks of all launches are modelled.
  const bool modelled = std::all_of(out.islands.begin(), out.islands.end(),
                                    [](const IslandPrediction& island) { return island.sm_clocks > 0; });
  if (!modelled) return;
  const double gone = gone_from_l2(hardware, bytes_between_runs(hardware, counts));
  const StageResults<LaunchTime> times = time_of_sequence(hardware, point, timed, gone, out);
  TimePrediction& time = out.time;
  if (clock_hz == 0 && l2_outlasts(timed, time.clock_hz))
    return add_times(plan, hardware, bound, counts, gains, out, time.clock_hz);
  // Explain: what a faster resource would save.
  if (point.l2 == L2Model::walk && gains == Gains::wanted)
    time.gain = gains_of(timed.launches, times, timed.repeated, gone, time.launch, time.total);
}

// What tells the bytes at memory: the walk or the closed form, as the point says; or the least that any walk gives.
enum class AtMemory { as_asked, least };

// What `make` returns, made where it stays: results of stages are a KiB and more.
template <class Make>
struct InPlace {
  Make make;
  operator std::invoke_result_t<Make>() const { return make(); }
};
template <class Make>
InPlace(Make) -> InPlace<Make>;

// Counts of every launch, and their sums: footprint, work, and the bytes at every level.
StageResults<LaunchCounts> counted(const StageResults<BoundIsland>& bound, std::pmr::memory_resource& memory,
                                   Wanted wanted, Prediction& out, AtMemory at_memory = AtMemory::as_asked) {
  StageResults<LaunchCounts> counts(&memory);
  StageResults<TileCounts> tiles(&memory);
  StageResults<std::optional<L2Walk>> walks(bound.size(), &memory);
  counts.reserve(bound.size()), tiles.reserve(bound.size());
  // Counts: footprint, work, and the bytes that tiles move at L2, shared memory and registers.
  for (const BoundIsland& launch : bound)
    tiles.emplace_back(InPlace{[&] { return tile_counts(launch, &memory, wanted); }});
  // L2: what of them reaches memory.
  const bool least = at_memory == AtMemory::least;
  if (bound.front().point.l2 == L2Model::walk && !least)
    at_once(bound.size(), [&](std::size_t i) { walks[i] = walked_blocks(bound[i], tiles[i]); });
  for (std::size_t i = 0; i < bound.size(); ++i)
    counts.emplace_back(InPlace{[&] {
      return launch_counts(tiles[i], least ? least_memory_traffic(bound[i], &memory)
                                           : memory_traffic(bound[i], tiles[i], walks[i], &memory));
    }});
  add_counts(bound, counts, wanted, out);
  out.compulsory_bytes = compulsory_bytes(bound);
  return counts;
}

// Results of the stages lie on the stack: the points of a sweep take no memory from the heap.
struct StackMemory {
  std::array<std::byte, 64 << 10> buffer;
  std::pmr::monotonic_buffer_resource resource{buffer.data(), buffer.size()};
};

// A point whose launches are bound and counted.
struct Counted {
  Counted(const Plan& plan, const HardwareProfile& hardware, const Point& of)
      : point(of), bound(bind_islands(plan, hardware, point, &memory.resource)), prediction(cleared(plan)) {}

  static Prediction cleared(const Plan& plan) {
    Prediction prediction;
    clear(prediction, plan.schedule.islands.size());
    return prediction;
  }

  Point point;
  StackMemory memory{};
  StageResults<BoundIsland> bound;
  Prediction prediction;  // without times
  StageResults<LaunchCounts> counts = counted(bound, memory.resource, Wanted::all, prediction);
};

// All that follows from the bound launches.
void predict_bound(const Plan& plan, const HardwareProfile& hardware, const StageResults<BoundIsland>& bound,
                   std::pmr::memory_resource& memory, Wanted wanted, Prediction& out) {
  const StageResults<LaunchCounts> counts = counted(bound, memory, wanted, out);
  out.runnable = true, out.feasible = fits(out);
  if (wanted <= Wanted::times)
    add_times(plan, hardware, bound, counts, wanted == Wanted::all ? Gains::wanted : Gains::unwanted, out);
  // Check: no answer that cannot be.
  require_possible(out, wanted);
}

}  // namespace

void predict(const Plan& plan, const HardwareProfile& hardware, const Point& point, Prediction& out, Wanted wanted,
             BlockMemory* blocks) {
  StackMemory memory;
  clear(out, plan.schedule.islands.size());
  // Bind the point: loops, tiles and masks of every launch.
  predict_bound(plan, hardware, bind_islands(plan, hardware, point, &memory.resource, blocks), memory.resource, wanted,
                out);
}

bool predict_if_it_fits(const Plan& plan, const HardwareProfile& hardware, const Point& point, Prediction& out) {
  StackMemory memory;
  clear(out, plan.schedule.islands.size());
  StageResults<BoundIsland> bound(&memory.resource);
  bound.reserve(plan.schedule.islands.size());
  for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i)
    bound.push_back(bind_loops(plan, hardware, point, i));
  add_footprints(bound, out);
  if (!fits(out)) return false;
  out.footprint.clear();
  for (BoundIsland& launch : bound) bind_sums(launch);
  predict_bound(plan, hardware, bound, memory.resource, Wanted::all, out);
  return true;
}

void read_code(const Plan& plan, const Point& point) {
  static const HardwareProfile none;
  for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i)
    step_question(bind_loops(plan, none, point, i));
}

namespace {

// Calls each(launch) for those of the point's launches whose steps can be simulated, until it returns false. A step's
// program does not depend on what reaches memory.
template <class Each>
void for_each_simulated(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Each& each) {
  StackMemory memory;
  Prediction counts_alone;
  clear(counts_alone, plan.schedule.islands.size());
  const StageResults<BoundIsland> launches = bind_islands(plan, hardware, point, &memory.resource);
  const StageResults<LaunchCounts> counts =
      counted(launches, memory.resource, Wanted::times, counts_alone, AtMemory::least);
  for (const BoundIsland& bound : launches)
    if (can_simulate(bound) && !each(launch_at_sm(bound, counts[static_cast<std::size_t>(bound.number)]))) return;
}

}  // namespace

std::optional<AskedStep> shown_step(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::optional<AskedStep> shown;
  for_each_simulated(plan, hardware, point, [&](const LaunchAtSm& launch) {
    shown = asked_step(launch, steps_of_launch(launch.bound));
    shown->question.resident = static_cast<int>(launch.resident()), shown->question.copies_from = CopySource::hbm;
    return false;
  });
  return shown;
}

std::vector<StepQuestion> questions_of_gains(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::vector<StepQuestion> questions;
  if (point.l2 != L2Model::walk) return questions;
  for_each_simulated(plan, hardware, point, [&](const LaunchAtSm& launch) {
    if (missing_sm_rate(launch)) return true;  // no time, and so no gains
    const std::vector<StepQuestion> more = faster_steps(launch, steps_of_launch(launch.bound));
    questions.insert(questions.end(), more.begin(), more.end());
    return true;
  });
  return questions;
}

Prediction predict_at_least(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  Point alone = point;
  alone.time.without |= without(Mechanism::memory_wait).without;
  StackMemory memory;
  Prediction out;
  clear(out, plan.schedule.islands.size());
  const StageResults<BoundIsland> bound = bind_islands(plan, hardware, alone, &memory.resource);
  const StageResults<LaunchCounts> counts = counted(bound, memory.resource, Wanted::times, out, AtMemory::least);
  add_times(plan, hardware, bound, counts, Gains::unwanted, out);
  return out;
}

WithoutGains predict_without_gains(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  const auto state = std::make_shared<const Counted>(plan, hardware, point);
  const auto timed = [state, &plan, &hardware](Gains gains) {
    Prediction out = state->prediction;
    add_times(plan, hardware, state->bound, state->counts, gains, out);
    require_possible(out);
    return out;
  };
  return {.prediction = timed(Gains::unwanted), .add_gains = [timed](Prediction& out) { out = timed(Gains::wanted); }};
}

void predict_times(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                   std::span<const TimeChoices> choices, const std::function<void(const Prediction&)>& each) {
  std::pmr::monotonic_buffer_resource memory;
  Prediction counts_alone;
  clear(counts_alone, plan.schedule.islands.size());
  const StageResults<BoundIsland> bound = bind_islands(plan, hardware, point, &memory);
  const StageResults<LaunchCounts> counts = counted(bound, memory, Wanted::times, counts_alone);
  for (const TimeChoices& choice : choices) {
    Point other = point;
    other.time = choice;
    Prediction out = counts_alone;
    add_times(plan, hardware, bind_islands(plan, hardware, other, &memory), counts, Gains::unwanted, out);
    each(out);
  }
}

Prediction predict(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  Prediction out;
  predict(plan, hardware, point, out);
  return out;
}

}  // namespace tilescope
