// One SM at work: what its warps issue, clock after clock.
#pragma once

#include <algorithm>

#include "simulate/sm/barriers.h"
#include "simulate/sm/code.h"
#include "simulate/sm/counts.h"
#include "simulate/sm/order.h"
#include "simulate/sm/period.h"
#include "simulate/sm/phases.h"
#include "simulate/sm/shared_path.h"
#include "simulate/sm/sm.h"
#include "simulate/sm/state_hash.h"
#include "simulate/sm/waits.h"
#include "simulate/sm/warps.h"
#include "simulate/sm/way_in.h"

namespace tilescope::sm_state {

// `detailed`: what warps wait for is counted, and events can be kept; else clocks alone. `asynchronous`: there may be
// asynchronous products; half of what an issue asks is about them.
template <bool detailed, bool asynchronous>
class Sm {
 public:
  // `passes`: of each warp, before it goes on to the end of a block; 0: without end.
  Sm(const SmProgram& program, const SmEnds& ends, const SmLimits& limits, int blocks, std::int64_t passes,
     int event_passes, const Apart& apart = {})
      : code_(program.code, ends, program.beside),
        most_(passes),
        warps_a_block_(program.warps),
        beside_warps_(program.beside.warps),
        limits_(limits),
        blocks_(blocks),
        event_passes_(event_passes),
        warps_(warps_of(program, code_, blocks, apart)),
        own_(static_cast<std::size_t>(program.warps * blocks)),
        barriers_(code_, blocks, program.warps),
        phases_(program.beside, blocks),
        counts_{.waited = std::vector<Waits>(program.code.size())},
        as_later_(apart.as_later),
        first_(apart.first),
        alone_at_banks_(!asynchronous && without_products(program)) {
    for (Warp& warp : warps_) scheduler_of(warp).warps.push_back(&warp), prepare(warp, 0);
    used_ = std::min(warps_.size(), static_cast<std::size_t>(limits.schedulers));
  }

  double run_blocks(SmWhole whole) {
    for (Mark last; finished_ < std::ssize(warps_);) {
      const std::int64_t before = warps_[0].passes;
      advance();
      if (warps_[0].passes == before || warps_[0].passes >= most_ - 1) continue;
      const Mark mark = mark_now();
      const std::int64_t more = leave_out(warps_, most_, mark.same(last, as_later_));
      passes_ += more * std::ssize(warps_), left_out_ += more * (mark.clock - last.clock), last = mark;
    }
    const Ticks clocks = whole == SmWhole::last_warp ? longest_ : all_warps_ / std::ssize(warps_);
    return static_cast<double>(clocks + left_out_) / static_cast<double>(ticks_a_clock);
  }

  // Whether no warp would have waited longer, and no state have repeated elsewhere, were copies later.
  bool as_later() const { return way_in_.asks_later() && as_later_; }

  SmSteady run() {
    SmSteady steady;
    const Mark from = find_period(steady);
    steady.as_later = as_later();
    const auto done =
        static_cast<double>(issued_of_loop(own(), passes_, code_) - from.issued) / static_cast<double>(code_.length());
    steady.passes = std::llround(done) / warps_a_block_;
    steady.clocks = static_cast<double>((now_ - from.clock) * blocks_ * warps_a_block_) /
                    (static_cast<double>(ticks_a_clock) * done);
    if (own_ < warps_.size()) steady.beside_clocks = beside_clocks(warps_[own_]);
    if (detailed) count_period(std::max<std::int64_t>(1, std::llround(done)), steady);
    return steady;
  }

 private:
  static bool without_products(const SmProgram& program) {
    return std::none_of(program.code.begin(), program.code.end(),
                        [](const SmOperation& op) { return op.part == SmPart::tensor; });
  }
  double beside_clocks(const Warp& warp) const {
    const double part = static_cast<double>(warp.next - code_.end) / static_cast<double>(code_.beside_end - code_.end);
    return static_cast<double>(now_) / static_cast<double>(ticks_a_clock) / (static_cast<double>(warp.passes) + part);
  }

  // Runs until the state at the start of a pass of the first warp is one that was there before, and returns that one;
  // where it does not repeat in time, the one after settling.
  Mark find_period(SmSteady& steady) {
    if (first_ > 0) return first_passes();
    for (Marks marks(!detailed);;) {
      const std::int64_t before = warps_[0].passes;
      if (before >= most_passes) return marks.from();
      advance();
      if (warps_[0].passes == before) continue;
      const Mark mark = mark_now();
      steady.periodic = marks.repeats(mark, warps_[0].passes >= settling_passes, as_later_);
      if (steady.periodic) return marks.from();
    }
  }

  // Of the first warp, beyond those in which all begin. Returns their start.
  Mark first_passes() {
    const auto run_to = [&](std::int64_t pass) {
      while (warps_[0].passes < pass) advance();
      return mark_now();
    };
    const Mark start = run_to(beginning_passes);
    return run_to(beginning_passes + first_), start;
  }

  // The first warp has ended a pass.
  Mark mark_now() {
    if (!detailed) step_all(now_);
    return {state_now(false), way_in_.asks_later() ? state_now(true) : 0, now_, issued_of_loop(own(), passes_, code_)};
  }

  // Runs through another period, and counts what is busy and what warps wait for.
  void count_period(std::int64_t period, SmSteady& steady) {
    const auto clocks = [](Ticks t) { return static_cast<double>(t) / static_cast<double>(ticks_a_clock); };
    const Ticks start = now_;
    const std::int64_t passes = passes_ + period, events = warps_[0].passes + event_passes_;
    counts_.clear();
    Ticks counted = 0;
    for (keeps_events_ = event_passes_ > 0; passes_ < passes || keeps_events_;) {
      advance();
      keeps_events_ = keeps_events_ && warps_[0].passes < events;
      if (passes_ < passes || counted > 0) continue;
      counted = now_ - start;
      // Where no state repeats, these are other passes than those whose clocks are known: waits in proportion.
      const double own =
          steady.periodic ? static_cast<double>(period) : clocks(counted) * blocks_ * warps_a_block_ / steady.clocks;
      counts_.put(clocks(counted), own, limits_.schedulers, steady);
    }
    steady.events = std::move(events_);
  }

  // Something is issued, or found to wait longer.
  void advance() {
    const Ticks barrier = limits_.barrier_slot + limits_.barrier_latency;
    const Turn turn =
        next_turn({schedulers_.data(), used_}, phases_.empty() ? barrier : std::min(barrier, limits_.phase_release),
                  warps_[0], code_.loop_end);
    Scheduler& scheduler = schedulers_[turn.scheduler];
    if (scheduler.next >= never) wait_for_ever();
    if constexpr (detailed) step_all(scheduler.next);
    else run(scheduler, turn.in_order, turn.alone);
  }

  // All that happens at this clock.
  void step_all(const Ticks now) {
    for (std::size_t i = 0; i < used_; ++i)
      if (schedulers_[i].next <= now) run(schedulers_[i], now + 1, now + 1);
  }

  // See Turn.
  void run(Scheduler& scheduler, const Ticks in_order, const Ticks alone) {
    stops_ = false;
    do {
      now_ = scheduler.next;
      scheduler.next = step(scheduler, now_, now_ < in_order);
    } while (!stops_ && scheduler.next < alone);
  }

  // When the operation's part can take it, or when to look again. Asynchronous products queue.
  Ticks part_free(const Scheduler& scheduler, const Warp& warp, const SmOperation& op) const {
    if (asynchronous && (op.effect == SmEffect::product || op.effect == SmEffect::product_wait)) {
      const Ticks later = std::max(scheduler.free[index_of(SmPart::tensor)], now_ + ticks_a_clock);
      if (op.effect == SmEffect::product)
        return std::max(scheduler.result(limits_.products, now_, later), warp.products.result(limits_.products, later));
      return warp.products.result(warp.products.issued - warp.groups.until_left(op.count) + 1, later);
    }
    const Ticks free = scheduler.free[index_of(op.part)];  // of no part: 0
    if (!asynchronous || !scheduler.needs_ports(op, now_)) return free;
    return std::max(free, scheduler.ports.free_from(op, now_, scheduler.products, warp.index));
  }

  // The warp whose turn it is issues, if the others have come as far (`in_order`) or do not see it. Returns when to
  // look again.
  [[gnu::always_inline]] Ticks step(Scheduler& scheduler, const Ticks now, bool in_order) {
    if (asynchronous && scheduler.queued > 0) {
      if (!in_order) return stops_ = true, now;  // others see when products start
      start_products(scheduler);
    }
    if (alone_at_banks_)
      if (const Ticks free = scheduler.banks_free(); free > now) return free;
    Ticks soonest = never;
    Warp *const *const first = scheduler.warps.data(), *const *const end = first + scheduler.warps.size();
    for (Warp* const* i = first; i < end; ++i) {
      Warp& warp = **i;
      if (warp.at <= now) {
        Ticks free = part_free(scheduler, warp, *warp.op);
        if (free <= now) {
          const auto can = [&](const Warp& other) { return part_free(scheduler, other, *other.op) <= now; };
          Warp& chosen = next_warp(scheduler, i, end, now, can);
          if (!in_order && chosen.op->in_order) return stops_ = true, now;
          issue(scheduler, chosen, now);
          if (asynchronous && scheduler.queued > 0) return now + ticks_a_clock;  // products start
          for (soonest = never, i = first; i < end; ++i) soonest = std::min(soonest, (*i)->at);
          return std::max(now + ticks_a_clock, soonest);
        }
        free = whole_clock(free);
        const bool waits = warp.op->effect == SmEffect::product_wait;
        warp.causes[index_of(waits ? SmWait::products : SmWait::pipe)] += free - now, warp.at = free;
      }
      soonest = std::min(soonest, warp.at);
    }
    return soonest;
  }

  [[gnu::always_inline]] void issue(Scheduler& scheduler, Warp& warp, const Ticks now) {
    const CodeOperation& op = *warp.op;
    if constexpr (detailed) {
      if (warp.next >= code_.loop && warp.next < code_.loop_end) counts_.add_waits(warp, warp.next - code_.loop, now);
      ++counts_.issued;
    }
    const Worked worked = op.plain ? Worked{now, use(scheduler, op, warp, now)} : work(scheduler, warp, op, now);
    if (op.holds) op.plain ? put_boards(warp, op, now) : hold(warp, op, worked.start);
    if constexpr (detailed)
      if (keeps_events_ && !warp.beside) events_.push_back(event_of(warp, now, worked.until));
    if (alone_at_banks_ && Ports::needed(op)) scheduler.read_registers(op, warp, now);
    warp.issued = now, ++warp.op, ++warp.next;
    scheduler.last = &warp, scheduler.yielded = op.yields;
    const Ticks branch = op.plain ? 0 : go_on(op, warp, now);
    if (branch < never) prepare(warp, op.stall + branch);
  }

  struct Worked {
    Ticks start = 0, until = 0;
  };

  // What an operation does that is not `plain`.
  Worked work(Scheduler& scheduler, Warp& warp, const CodeOperation& op, const Ticks now) {
    if (asynchronous && op.effect == SmEffect::product) return ask(warp, scheduler), Worked{now, now + op.busy};
    const bool queues = op.part == SmPart::memory;
    const Ticks start = queues ? queue(scheduler, warp, op, now) : now;
    if (op.effect == SmEffect::copy) return {start, way_in_.copy(op, warp, start)};
    if (op.effect != SmEffect::load) return {start, queues ? start + op.busy : use(scheduler, op, warp, now)};
    const Ticks taken = way_in_.take(op, start);
    return {taken, taken};
  }

  // The warp has issued an operation that is not `plain`. Returns how much later than by its stall count the next one
  // may follow; `never`: the warp has ended, or waits for others.
  Ticks go_on(const CodeOperation& op, Warp& warp, const Ticks now) {
    if (op.effect == SmEffect::phase_arrive) end_phase(op, warp);
    const bool again = warp.next == (warp.beside ? code_.beside_end : code_.loop_end);
    if (again && warp.beside) {
      if (warp.passes > 64 * (warps_[0].passes + most_passes)) wait_for_ever();
      ++warp.passes, go_to(code_.end, warp);
    } else if (again) {
      ++warp.passes, ++passes_, stops_ = true;
      // Others may go round and round while the first warp waits for ever.
      if (passes_ > 8 * std::ssize(warps_) * (warps_[0].passes + most_passes)) wait_for_ever();
      if (most_ == 0 || warp.passes < most_) go_to(code_.loop, warp);
    }
    if (op.effect != SmEffect::none) add_group(op, warp);
    if (warp.next == code_.end && !warp.beside) {
      ++finished_, warp.at = never, --warp.op, stops_ = true;
      longest_ = std::max(longest_, now - warp.started), all_warps_ += now - warp.started;
      return never;
    }
    if (op.effect == SmEffect::barrier_sync || op.effect == SmEffect::barrier_arrive) arrive(op, warp);
    if (op.effect == SmEffect::barrier_sync) return never;
    return again ? limits_.branch : 0;
  }

  void go_to(std::uint32_t next, Warp& warp) const { warp.next = next, warp.op = &code_.operations[next]; }

  void hold(Warp& warp, const CodeOperation& op, Ticks start) {
    if (asynchronous && op.part == SmPart::memory) start += path_.later(start);
    put_boards(warp, op, start, way_in_.local_later(op) + way_in_.loads_later(op));
  }

  // `later`: that the result takes longer. The last board is that of operations without one.
  static void put_boards(Warp& warp, const CodeOperation& op, Ticks start, Ticks later = 0) {
    Ticks& results = warp.boards[op.result_board];
    results = std::max(results, start + op.latency + later);
    Ticks& operands = warp.boards[op.operand_board];
    operands = std::max(operands, start + op.operands);
  }

  Scheduler& scheduler_of(const Warp& warp) {
    return schedulers_[static_cast<std::size_t>(warp.index % limits_.schedulers)];
  }

  // The part works on an operation behind those that it has. Returns the end.
  Ticks use(Scheduler& scheduler, const SmOperation& op, const Warp& warp, const Ticks now) {
    if (op.part == SmPart::none) return now + op.busy;
    const bool beside = asynchronous && scheduler.beside_product(now);
    const Ticks busy = op.busy + (beside ? op.slower : 0), between = beside ? port_turn : ticks_a_clock;
    // Warps issue at whole clocks, or in turns: a pipe that became free since the last one keeps its rate.
    const Ticks end = std::max(scheduler.free[index_of(op.part)], now - between + 1) + busy;
    scheduler.free[index_of(op.part)] = end;
    if constexpr (detailed) counts_.busy[index_of(op.part)] += busy;
    Ticks& product = scheduler.free[index_of(SmPart::tensor)];
    if (!beside) product += op.holds_product & -static_cast<Ticks>(product > now);
    else if (Ports::needed(op)) product += scheduler.take_ports(op, now, warp.index);
    return end;
  }

  // See SharedPath::add.
  Ticks queue(Scheduler& scheduler, Warp& warp, const CodeOperation& op, const Ticks now) {
    if constexpr (detailed) counts_.shared += op.shared, counts_.busy[index_of(SmPart::memory)] += op.busy;
    const bool keeps = keeps_events_ && !warp.beside;
    const Ticks start = path_.template add<asynchronous>(scheduler, warp, op, now, keeps ? events_.size() + 1 : 0);
    if (asynchronous) stops_ = stops_ || scheduler.unserved > now;
    return start;
  }

  // Earliest issue of the warp's next operation, by what is known now.
  [[gnu::always_inline]] void prepare(Warp& warp, Ticks stall) {
    const SmOperation& op = *warp.op;
    warp.at = warp.issued + stall;
    if constexpr (detailed) warp.causes = {}, warp.causes[index_of(SmWait::stall)] = stall;
    else warp.causes[index_of(SmWait::pipe)] = 0;
    wait_for_boards<detailed>(warp);
    if (op.effect == SmEffect::group_wait) {
      delay<detailed>(warp, warp.copied.until_left(op.count), SmWait::copies);
      as_later_ = as_later_ && whole_clock(warp.copied_later.until_left(op.count)) <= warp.at;
    }
    if (op.effect == SmEffect::phase_wait && !phases_.over(op, warp))
      warp.then = warp.at, warp.at = never, ++scheduler_of(warp).waiting;
  }

  void add_group(const SmOperation& op, Warp& warp) const {
    if (op.effect == SmEffect::copy_group) {
      warp.copied.add(std::max(warp.copies, now_ + op.stall));
      warp.copied_later.add(std::max(way_in_.later(warp), now_ + op.stall));
    }
    if (op.effect == SmEffect::product && op.count > 0) warp.groups.add(warp.products.issued);
  }

  void start_products(Scheduler& scheduler);
  void ask(Warp& warp, Scheduler& scheduler);
  void begin_product(const SmOperation& op, Ticks start, Ticks end);
  void arrive(const SmOperation& op, Warp& warp);
  void end_phase(const SmOperation& op, const Warp& warp);
  void release(Warp& warp, Ticks until);

  // Those that run the loop.
  std::span<const Warp> own() const { return std::span(warps_).first(own_); }

  // `with_later`: were copies later.
  std::uint64_t state_now(bool with_later) const {
    StateHash hash(now_, limits_);
    for (const Warp& warp : warps_)
      hash.add(warp, with_later ? way_in_.later(warp) : warp.copies, with_later ? warp.copied_later : warp.copied);
    barriers_.add_to(hash);
    phases_.add_to(hash, warps_[0].passes);
    if (!phases_.empty())
      for (const Warp& warp : warps_) hash.add(warp.passes - warps_[0].passes);
    for (const Scheduler& scheduler : schedulers_) hash.add(scheduler);
    path_.add_to(hash, now_), hash.later(way_in_.free()), hash.later(barrier_free_);
    return hash.value();
  }

  const SmCode code_;
  const std::int64_t most_;
  const int warps_a_block_, beside_warps_;
  const SmLimits limits_;
  const int blocks_, event_passes_;
  std::vector<Warp> warps_;
  const std::size_t own_;  // of them, the first ones
  Barriers barriers_;
  Phases phases_;
  SmCounts counts_;
  std::array<Scheduler, most_schedulers> schedulers_{};
  std::size_t used_ = 0;  // of them, those with warps
  std::vector<SmEvent> events_;
  Ticks longest_ = 0, all_warps_ = 0;  // of the warps that have ended
  Ticks left_out_ = 0;                 // of passes that were not simulated
  bool stops_ = false;                 // the scheduler that runs on lets others go first
  SharedPath path_{limits_};
  WayIn way_in_{limits_};
  Ticks now_ = 0, barrier_free_ = 0;
  std::int64_t passes_ = 0;  // of all warps
  int finished_ = 0;
  bool as_later_;
  const std::int64_t first_;
  const bool alone_at_banks_;  // what others lose beside products is measured as a whole (SmOperation::holds_product)
  bool keeps_events_ = false;
};

}  // namespace tilescope::sm_state
