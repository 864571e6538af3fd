#include "simulate/sm/sm.h"

#include <algorithm>
#include <type_traits>

#include "simulate/sm/meetings.h"
#include "simulate/sm/products.h"

namespace tilescope {
namespace {

using sm_state::Apart, sm_state::Sm, sm_state::few_passes, sm_state::group_warps, sm_state::settling_passes;

bool has_products(const std::vector<SmOperation>& code) {
  return std::any_of(code.begin(), code.end(), [](const SmOperation& op) { return op.effect == SmEffect::product; });
}

// What `run` returns of a simulated SM of the program.
template <bool detailed, class Run>
auto simulated(const SmProgram& program, const SmEnds& ends, const SmLimits& limits, int blocks, std::int64_t passes,
               int event_passes, const Apart& apart, const Run& run) {
  const auto of = [&]<bool asynchronous>(std::bool_constant<asynchronous>) {
    Sm<detailed, asynchronous> sm(program, ends, limits, blocks, passes, event_passes, apart);
    return run(sm);
  };
  for (const auto* part : {&ends.start, &program.code, &ends.end, &program.beside.code})
    if (has_products(*part)) return of(std::true_type{});
  return of(std::false_type{});
}

SmSteady steady_of(const SmProgram& program, const SmLimits& limits, int blocks, int event_passes, const Apart& apart) {
  const auto run = [](auto& sm) { return sm.run(); };
  if (event_passes >= 0) return simulated<true>(program, {}, limits, blocks, 0, event_passes, apart, run);
  return simulated<false>(program, {}, limits, blocks, 0, clocks_alone, apart, run);
}

// Blocks, and warpgroups of asynchronous products that no barrier holds together, are anywhere in their passes: they
// are spread evenly over the pass of one that is alone. An assumption; it has no number.
Apart spread_evenly(const SmProgram& program, const SmLimits& limits, int blocks, const SmAlone* known = nullptr) {
  const Warpgroups warpgroups = warpgroups_of(program);
  const bool apart = warpgroups != Warpgroups::together;
  const int warps = apart ? group_warps : program.warps, groups = blocks * program.warps / warps;
  if (groups == 1) return {.warps = warps};
  SmAlone alone;
  if (known && !apart) {
    alone = *known;
  } else {
    const SmSteady steady = steady_of({program.code, warps}, limits, 1, clocks_alone, {});
    alone = {steady.clocks, steady.as_later};
  }
  return {warps, ticks(alone.clocks / groups), alone.as_later || limits.copies_later == 0,
          warpgroups == Warpgroups::free ? settling_passes : 0};
}

}  // namespace

Warpgroups warpgroups_of(const SmProgram& program) {
  bool asynchronous = false, together = program.warps % group_warps != 0, turns = false, in_turn = false;
  for (int pass = 0; pass < 2; ++pass)  // the second begins in the turn in which the first one ended
    for (const SmOperation& op : program.code) {
      const bool of_turn = op.number == SmOperation::turn, waits = op.effect == SmEffect::barrier_sync,
                 multiplies = op.effect == SmEffect::product;
      if (of_turn && (waits || op.effect == SmEffect::barrier_arrive)) in_turn = waits;
      asynchronous |= multiplies, turns |= of_turn && waits;
      together |= (waits && !of_turn) || (in_turn && multiplies);
    }
  if (together || !asynchronous) return Warpgroups::together;
  return turns ? Warpgroups::in_turns : Warpgroups::free;
}

SmSteady simulate_steady(const SmProgram& program, const SmLimits& limits, int blocks, int event_passes,
                         SmPasses counted, const SmAlone* alone) {
  const Apart evenly = spread_evenly(program, limits, blocks, alone);
  const bool free = evenly.first > 0 && (counted == SmPasses::first || counted == SmPasses::mean);
  const std::int64_t first = free ? evenly.first : counted == SmPasses::few ? few_passes : 0;
  const auto run = [&](int percent, int events) {
    Apart apart = evenly;
    apart.clocks = evenly.clocks * percent / 100, apart.first = first;
    return steady_of(program, limits, blocks, events, apart);
  };
  SmSteady steady = run(100, event_passes);
  if (!free || counted != SmPasses::mean) return steady;
  // A little more or less apart, and they go another way: the mean over how far apart stamps showed them to be.
  constexpr std::array percents{80, 90, 110, 120};
  double clocks = steady.clocks, beside = steady.beside_clocks;
  for (const int percent : percents) {
    const SmSteady other = run(percent, clocks_alone);
    clocks += other.clocks, beside += other.beside_clocks, steady.as_later = steady.as_later && other.as_later;
  }
  clocks /= 1 + percents.size();
  // Waits and what is busy are those of the even places, in proportion.
  const double longer = clocks / steady.clocks;
  for (auto& operation : steady.waits)
    for (double& wait : operation) wait *= longer;
  for (double& part : steady.busy) part /= longer;
  steady.issued /= longer, steady.shared /= longer;
  steady.clocks = clocks, steady.beside_clocks = beside / (1 + percents.size());
  return steady;
}

double simulate_blocks(const SmProgram& program, const SmEnds& ends, const SmLimits& limits, int blocks,
                       std::int64_t passes, SmWhole whole, bool* as_later) {
  constexpr std::int64_t few = 16, more = 32;
  if (as_later) *as_later = true;
  const Apart apart = spread_evenly(program, limits, blocks);
  const auto clocks = [&](std::int64_t n) {
    return simulated<false>(program, ends, limits, blocks, n, clocks_alone, apart, [&](auto& sm) {
      const double all = sm.run_blocks(whole);
      if (as_later) *as_later = *as_later && sm.as_later();
      return all;
    });
  };
  if (passes <= more) return clocks(passes);
  const double after_few = clocks(few), after_more = clocks(more);
  return after_more + (after_more - after_few) * static_cast<double>(passes - more) / static_cast<double>(more - few);
}

}  // namespace tilescope
