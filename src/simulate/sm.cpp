#include "simulate/sm.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "simulate/sm_counts.h"
#include "simulate/sm_period.h"
#include "simulate/state_hash.h"

namespace tilescope {
namespace {

using namespace sm_state;

// `detailed`: what warps wait for is counted, and events can be kept; else clocks alone.
template <bool detailed>
class Sm {
 public:
  // `passes`: of each warp, before it goes on to the end of a block; 0: without end.
  Sm(const SmProgram& program, const SmEnds& ends, const SmLimits& limits, int blocks, std::int64_t passes,
     int event_passes)
      : code_(ends.start),
        loop_(static_cast<std::uint32_t>(ends.start.size())),
        loop_end_(static_cast<std::uint32_t>(ends.start.size() + program.code.size())),
        code_end_(static_cast<std::uint32_t>(loop_end_ + ends.end.size())),
        most_(passes),
        warps_a_block_(program.warps),
        limits_(limits),
        blocks_(blocks),
        event_passes_(event_passes),
        warps_(static_cast<std::size_t>(program.warps * blocks)),
        barriers_(static_cast<std::size_t>(blocks * block_barriers)),
        counts_{.waited = std::vector<Waits>(program.code.size())} {
    code_.insert(code_.end(), program.code.begin(), program.code.end());
    code_.insert(code_.end(), ends.end.begin(), ends.end.end());
    constexpr std::uint8_t none = IssueControl::no_scoreboard;
    for (SmOperation& op : code_) {
      op.result_board = std::min(op.result_board, none), op.operand_board = std::min(op.operand_board, none);
      op.wait_mask = static_cast<std::uint8_t>(op.wait_mask & ((1u << none) - 1));
    }
    for (std::size_t i = 0; i < warps_.size(); ++i) {
      warps_[i].index = static_cast<int>(i), warps_[i].block = static_cast<int>(i) / program.warps;
      warps_[i].op = code_.data();
      schedulers_[i % static_cast<std::size_t>(limits.schedulers)].warps.push_back(&warps_[i]);
      prepare(warps_[i], 0);
    }
    used_ = std::min(warps_.size(), static_cast<std::size_t>(limits.schedulers));
    for (Barrier& barrier : barriers_) barrier.waiting.reserve(static_cast<std::size_t>(program.warps));
    start_turns();
  }

  double run_blocks() {
    while (finished_ < std::ssize(warps_)) advance();
    return static_cast<double>(now_) / static_cast<double>(ticks_a_clock);
  }

  // Whether no warp would have waited longer, and no state have repeated elsewhere, were copies later.
  bool as_later() const { return asks_later() && as_later_; }

  SmSteady run() {
    SmSteady steady;
    const Mark from = find_period(steady);
    steady.as_later = as_later();
    const std::int64_t period = passes_ - from.passes;
    steady.passes = period / warps_a_block_;
    steady.clocks = static_cast<double>((now_ - from.clock) * blocks_ * warps_a_block_) /
                    static_cast<double>(ticks_a_clock * period);
    if (detailed) count_period(period, steady);
    return steady;
  }

 private:
  // Runs until the state at the start of a pass of the first warp is one that was there before, and returns that one;
  // where it does not repeat in time, the one after settling.
  Mark find_period(SmSteady& steady) {
    for (Marks marks(!detailed);;) {
      const std::int64_t before = warps_[0].passes;
      if (before >= most_passes) return marks.from();
      advance();
      if (warps_[0].passes == before) continue;
      const Mark mark{state_now(false), asks_later() ? state_now(true) : 0, now_, passes_};
      steady.periodic = marks.repeats(mark, warps_[0].passes >= settling_passes, as_later_);
      if (steady.periodic) return marks.from();
    }
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
      counts_.put(clocks(counted), static_cast<double>(period), limits_.schedulers, steady);
    }
    steady.events = std::move(events_);
  }

  void advance() {
    Ticks next = never;
    for (std::size_t i = 0; i < used_; ++i) next = std::min(next, schedulers_[i].next);
    if (next >= never) wait_for_ever();
    now_ = next;
    for (std::size_t i = 0; i < used_; ++i)
      if (Scheduler& scheduler = schedulers_[i]; scheduler.next <= now_) scheduler.next = step(scheduler, next);
  }

  [[noreturn]] static void wait_for_ever() {
    throw InputError(Diagnostic{.path = "--simulate", .message = "all warps wait for each other at a barrier"});
  }

  // When the operation's part can take it, or when to look again. Asynchronous products queue.
  Ticks part_free(const Scheduler& scheduler, const Warp& warp, const SmOperation& op) const {
    if (op.effect == SmEffect::product || op.effect == SmEffect::product_wait) {
      const Ticks later = std::max(scheduler.free[index_of(SmPart::tensor)], now_ + ticks_a_clock);
      const std::int64_t before = op.effect == SmEffect::product
                                      ? limits_.products
                                      : warp.products.issued - warp.groups.until_left(op.count) + 1;
      return warp.products.result(before, later);
    }
    if (op.part == SmPart::memory)
      return scheduler.queue[(scheduler.queue_at + most_queue - static_cast<std::size_t>(limits_.queue)) % most_queue];
    return scheduler.free[index_of(op.part)];  // of no part: 0
  }

  // Tensor cores begin asynchronous products in the order in which they were issued.
  void start_products(Scheduler& scheduler) {
    Ticks& free = scheduler.free[index_of(SmPart::tensor)];
    while (scheduler.queued > 0) {
      const auto sooner = [](const Warp* a, const Warp* b) { return a->products.next() < b->products.next(); };
      Products& products = (*std::min_element(scheduler.warps.begin(), scheduler.warps.end(), sooner))->products;
      const Ticks start = std::max(free, products.next());
      if (start > now_) return;
      const std::size_t place = Products::place(products.started++);
      const SmOperation& op = code_[products.operations[place]];
      --scheduler.queued, scheduler.products = free = start + op.busy;
      counts_.busy[index_of(SmPart::tensor)] += op.busy;
      products.results[place] = free + op.latency;
      if (products.events[place] == 0) continue;
      SmEvent& event = events_[products.events[place] - 1];
      event.started = start, event.until = free;
    }
  }

  // The oldest warp that can issue does. Returns when to look again.
  Ticks step(Scheduler& scheduler, const Ticks now) {
    if (scheduler.queued > 0) start_products(scheduler);
    Ticks soonest = never;
    for (std::size_t i = 0, count = scheduler.warps.size(); i < count; ++i) {
      Warp& warp = *scheduler.warps[i];
      if (warp.at <= now) {
        Ticks free = part_free(scheduler, warp, *warp.op);
        if (free <= now) {
          issue(scheduler, first_asked(scheduler, i), now);
          return now + ticks_a_clock;
        }
        free = whole_clock(free);
        const bool waits = warp.op->effect == SmEffect::product_wait;
        warp.causes[index_of(waits ? SmWait::products : SmWait::pipe)] += free - now, warp.at = free;
      }
      soonest = std::min(soonest, warp.at);
    }
    return soonest;
  }

  // Special functions and integer operations are served in the order in which warps ask: microbenchmark on an H100, up
  // to four warps with equal work on one of these pipes end within 4 % of each other. `oldest`: the first that can
  // issue.
  Warp& first_asked(Scheduler& scheduler, std::size_t oldest) const {
    const auto asked = [](const Warp& warp) { return warp.at - warp.causes[index_of(SmWait::pipe)]; };
    Warp* chosen = scheduler.warps[oldest];
    const SmPart part = chosen->op->part;
    if (part != SmPart::xu && part != SmPart::alu) return *chosen;
    for (std::size_t i = oldest + 1; i < scheduler.warps.size(); ++i)
      if (Warp& other = *scheduler.warps[i];
          other.at <= now_ && other.op->part == part && asked(other) < asked(*chosen))
        chosen = &other;
    return *chosen;
  }

  void issue(Scheduler& scheduler, Warp& warp, const Ticks now) {
    const SmOperation& op = *warp.op;
    if constexpr (detailed) {
      if (warp.next >= loop_ && warp.next < loop_end_) counts_.add_waits(warp, warp.next - loop_, now);
      ++counts_.issued;
    }
    Ticks start = now;
    if (op.part == SmPart::memory) start = queue(scheduler, op, now);
    Ticks until = start + op.busy;
    if (op.effect == SmEffect::product) ask(warp, scheduler);
    else if (op.part != SmPart::memory && op.part != SmPart::none) until = use(scheduler, op, now);
    if (op.effect == SmEffect::copy) until = copy(op, warp, start);
    // The last board is that of operations without one.
    Ticks& results = warp.boards[op.result_board];
    results = std::max(results, start + op.latency);
    Ticks& operands = warp.boards[op.operand_board];
    operands = std::max(operands, start + op.operands);
    if constexpr (detailed)
      if (keeps_events_) keep_event(warp, until);
    warp.issued = now;
    const SmOperation* following = &op + 1;
    const bool again = ++warp.next == loop_end_;
    if (again) {
      ++warp.passes, ++passes_;
      // Others may go round and round while the first warp waits for ever.
      if (passes_ > 8 * std::ssize(warps_) * (warps_[0].passes + most_passes)) wait_for_ever();
      if (most_ == 0 || warp.passes < most_) warp.next = loop_, following = code_.data() + loop_;
    }
    if (op.effect != SmEffect::none) add_group(op, warp);
    if (warp.next == code_end_) {
      ++finished_, warp.at = never;
      return;
    }
    warp.op = following;
    prepare(warp, op.stall + (again ? limits_.branch : 0));
    if (op.effect == SmEffect::barrier_sync || op.effect == SmEffect::barrier_arrive) arrive(op, warp);
  }

  void ask(Warp& warp, Scheduler& scheduler) {
    Products& products = warp.products;
    const std::size_t place = Products::place(products.issued++);
    products.asked[place] = now_, products.operations[place] = warp.next, ++scheduler.queued;
    products.events[place] = keeps_events_ ? events_.size() + 1 : 0;
  }

  void keep_event(const Warp& warp, Ticks until) {
    const auto longest = std::max_element(warp.causes.begin() + 1, warp.causes.end());
    const Ticks ready = warp.issued + warp.causes[index_of(SmWait::stall)];
    const SmWait cause = *longest > 0 ? static_cast<SmWait>(longest - warp.causes.begin()) : SmWait::issue;
    const SmOperation& op = *warp.op;
    const bool queued = op.effect == SmEffect::copy || op.effect == SmEffect::product || op.part == SmPart::none;
    events_.push_back({.warp = warp.index,
                       .operation = warp.next,
                       .part = op.part,
                       .effect = op.effect,
                       .ready = std::min(ready, now_),
                       .issued = now_,
                       .started = queued ? now_ : std::max(now_, until - op.busy),
                       .until = until,
                       .cause = cause});
  }

  // The part works on an operation behind those that it has. Returns the end.
  Ticks use(Scheduler& scheduler, const SmOperation& op, const Ticks now) {
    const Ticks products = scheduler.products;
    const Ticks busy = op.busy + (products > now ? op.slower : 0);
    // Warps issue at whole clocks: a pipe that became free since the last one keeps its rate.
    const Ticks end = std::max(scheduler.free[index_of(op.part)], now - ticks_a_clock + 1) + busy;
    scheduler.free[index_of(op.part)] = end;
    if constexpr (detailed) counts_.busy[index_of(op.part)] += busy;
    Ticks& product = scheduler.free[index_of(SmPart::tensor)];
    if (products > now) scheduler.products = products + op.holds_async, product += op.holds_async;
    else if (op.holds_product > 0 && product > now) product += op.holds_product;
    return end;
  }

  // An operation of the memory queue starts when those before it have, and shared memory is free. Returns when.
  Ticks queue(Scheduler& scheduler, const SmOperation& op, const Ticks now) {
    Ticks& own = scheduler.free[index_of(SmPart::memory)];
    const Ticks start = std::max(std::max(now, own), shared_free_);
    own = start + ticks_a_clock, shared_free_ = start + op.shared;
    if constexpr (detailed) counts_.shared += op.shared, counts_.busy[index_of(SmPart::memory)] += op.busy;
    scheduler.queue[scheduler.queue_at] = start;
    scheduler.queue_at = (scheduler.queue_at + 1) % most_queue;
    return start;
  }

  static void delay(Warp& warp, Ticks until, SmWait cause) {
    until = whole_clock(until);
    if (until <= warp.at) return;
    if constexpr (detailed) warp.causes[index_of(cause)] += until - warp.at;
    warp.at = until;
  }

  // Earliest issue of the warp's next operation, by what is known now.
  void prepare(Warp& warp, Ticks stall) {
    const SmOperation& op = *warp.op;
    warp.at = warp.issued + stall;
    if constexpr (detailed) warp.causes = {}, warp.causes[index_of(SmWait::stall)] = stall;
    else warp.causes[index_of(SmWait::pipe)] = 0;
    Ticks boards = warp.at;
    for (unsigned mask = op.wait_mask; mask != 0; mask &= mask - 1)
      boards = std::max(boards, warp.boards[static_cast<std::size_t>(std::countr_zero(mask))]);
    delay(warp, boards, SmWait::scoreboard);
    if (op.effect == SmEffect::group_wait) {
      delay(warp, warp.copied.until_left(op.count), SmWait::copies);
      as_later_ = as_later_ && whole_clock(warp.copied_later.until_left(op.count)) <= warp.at;
    }
  }

  // Copies come from the L2 one behind the other. Returns when this one has arrived.
  Ticks copy(const SmOperation& op, Warp& warp, Ticks start) {
    copy_free_ = std::max(copy_free_, start) + op.copy;
    return warp.copies = std::max(warp.copies, copy_free_ + limits_.copy_latency);
  }

  bool asks_later() const { return limits_.copies_later > 0; }
  Ticks later_copies(const Warp& warp) const { return warp.copies > 0 ? warp.copies + limits_.copies_later : 0; }

  void add_group(const SmOperation& op, Warp& warp) const {
    if (op.effect == SmEffect::copy_group) {
      warp.copied.add(std::max(warp.copies, now_ + op.stall));
      warp.copied_later.add(std::max(later_copies(warp), now_ + op.stall));
    }
    if (op.effect == SmEffect::product && op.count > 0) warp.groups.add(warp.products.issued);
  }

  // The first warpgroup of each block has the first turn.
  void start_turns() {
    for (const SmOperation& op : code_)
      if (op.number == SmOperation::turn && op.effect == SmEffect::barrier_sync)
        for (int block = 0; block < blocks_; ++block)
          barriers_[static_cast<std::size_t>(block * block_barriers + first_turn)].arrived = op.count - group_warps;
  }

  // A warpgroup waits for its own turn, and gives the turn to the next one.
  Barrier& barrier_of(const SmOperation& op, const Warp& warp) {
    int number = op.number;
    if (number == SmOperation::turn) {
      const int group = warp.index % warps_a_block_ / group_warps, groups = std::max(1, warps_a_block_ / group_warps);
      number = first_turn + (op.effect == SmEffect::barrier_sync ? group : (group + 1) % groups);
    }
    return barriers_[static_cast<std::size_t>(warp.block * block_barriers + number)];
  }

  void arrive(const SmOperation& op, Warp& warp) {
    Barrier& barrier = barrier_of(op, warp);
    barrier_free_ = std::max(barrier_free_, now_) + limits_.barrier_slot;
    ++barrier.arrived;
    if (op.effect == SmEffect::barrier_sync) barrier.waiting.push_back(warp.index), warp.at = never;
    if (barrier.arrived < op.count) return;
    for (const int waiting : barrier.waiting) {
      Warp& other = warps_[static_cast<std::size_t>(waiting)];
      prepare(other, op.stall);
      delay(other, barrier_free_ + limits_.barrier_latency, SmWait::barrier);
      Ticks& next = schedulers_[static_cast<std::size_t>(waiting % limits_.schedulers)].next;
      next = std::min(next, std::max(other.at, now_ + ticks_a_clock));
    }
    barrier.arrived = 0, barrier.waiting.clear();
  }

  // `with_later`: were copies later.
  std::uint64_t state_now(bool with_later) const {
    StateHash hash(now_, limits_);
    for (const Warp& warp : warps_)
      hash.add(warp, with_later ? later_copies(warp) : warp.copies, with_later ? warp.copied_later : warp.copied);
    for (const Barrier& barrier : barriers_) hash.add(barrier.arrived);
    for (const Scheduler& scheduler : schedulers_) hash.add(scheduler);
    hash.later(shared_free_), hash.later(copy_free_), hash.later(barrier_free_);
    return hash.value();
  }

  std::vector<SmOperation> code_;
  const std::uint32_t loop_, loop_end_, code_end_;  // operations of a pass; behind the last of all
  const std::int64_t most_;
  const int warps_a_block_;
  const SmLimits limits_;
  const int blocks_, event_passes_;
  std::vector<Warp> warps_;
  std::vector<Barrier> barriers_;
  SmCounts counts_;
  std::array<Scheduler, most_schedulers> schedulers_{};
  std::size_t used_ = 0;  // of them, those with warps
  std::vector<SmEvent> events_;
  Ticks now_ = 0, shared_free_ = 0, copy_free_ = 0, barrier_free_ = 0;
  std::int64_t passes_ = 0;  // of all warps
  int finished_ = 0;
  bool as_later_ = true;
  bool keeps_events_ = false;
};

}  // namespace

SmSteady simulate_steady(const SmProgram& program, const SmLimits& limits, int blocks, int event_passes) {
  if (event_passes < 0) return Sm<false>(program, {}, limits, blocks, 0, event_passes).run();
  return Sm<true>(program, {}, limits, blocks, 0, event_passes).run();
}

double simulate_blocks(const SmProgram& program, const SmEnds& ends, const SmLimits& limits, int blocks,
                       std::int64_t passes, bool* as_later) {
  constexpr std::int64_t few = 16, more = 32;
  if (as_later) *as_later = true;
  const auto clocks = [&](std::int64_t n) {
    Sm<false> sm(program, ends, limits, blocks, n, -1);
    const double all = sm.run_blocks();
    if (as_later) *as_later = *as_later && sm.as_later();
    return all;
  };
  if (passes <= more) return clocks(passes);
  const double after_few = clocks(few), after_more = clocks(more);
  return after_more + (after_more - after_few) * static_cast<double>(passes - more) / static_cast<double>(more - few);
}

}  // namespace tilescope
