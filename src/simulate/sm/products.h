// Asynchronous products of a simulated SM: warps ask for them, tensor cores begin them.
#pragma once

#include <algorithm>
#include <span>

#include "simulate/sm/simulated_sm.h"
#include "simulate/sm/warpgroup.h"

namespace tilescope::sm_state {

// Tensor cores begin asynchronous products in the order in which they were issued.
template <bool detailed, bool asynchronous>
void Sm<detailed, asynchronous>::start_products(Scheduler& scheduler) {
  Ticks& free = scheduler.free[index_of(SmPart::tensor)];
  while (scheduler.queued > 0) {
    const auto sooner = [](const Warp* a, const Warp* b) { return a->products.next() < b->products.next(); };
    Products& products = (*std::min_element(scheduler.warps.begin(), scheduler.warps.end(), sooner))->products;
    const Ticks start = std::max(free, products.next());
    if (start > now_) return;
    const std::size_t place = Products::place(products.started++);
    const SmOperation& op = code_.operations[products.operations[place]];
    --scheduler.queued, scheduler.products = free = start + op.busy;
    scheduler.ports.begin(op, start);
    begin_product(op, start, free);
    counts_.busy[index_of(SmPart::tensor)] += op.busy;
    products.results[place] = free + op.latency;
    if (products.events[place] == 0) continue;
    SmEvent& event = events_[products.events[place] - 1];
    event.started = start, event.until = free;
  }
}

template <bool detailed, bool asynchronous>
void Sm<detailed, asynchronous>::ask(Warp& warp, Scheduler& scheduler) {
  Products& products = warp.products;
  const std::int64_t number = products.issued++;
  const std::size_t place = Products::place(number);
  products.asked[place] = now_, products.complete[place] = never, products.operations[place] = warp.next;
  products.events[place] = keeps_events_ && !warp.beside ? events_.size() + 1 : 0;
  scheduler.ask(warp, number);
  ++scheduler.queued, ++scheduler.incomplete, stops_ = true;
  const std::span<Warp> all = warps_;
  const std::span<Warp> warpgroup = warp.beside ? warpgroup_of(all.subspan(own_), warp, beside_warps_)
                                                : warpgroup_of(all.first(own_), warp, warps_a_block_);
  if (!complete(warpgroup, number)) return;
  for (const Warp& each : warpgroup) --scheduler_of(each).incomplete;
}

template <bool detailed, bool asynchronous>
void Sm<detailed, asynchronous>::begin_product(const SmOperation& op, Ticks start, Ticks end) {
  path_.take(start, end, op.shared_part, [&](Warp& warp, const CodeOperation& moved, std::size_t event, Ticks later) {
    if (event > 0) move_event(events_[event - 1], later);
    if (!moved.holds) return;
    hold(warp, moved, later);
    if (warp.at < never) wait_for_boards<detailed>(warp);
  });
}

}  // namespace tilescope::sm_state
