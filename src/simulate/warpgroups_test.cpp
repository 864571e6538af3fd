// Asynchronous products of warpgroups, and what they leave of the register ports.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "simulate/sm.h"
#include "simulate/sm_ports.h"

using namespace tilescope;
using sm_state::Ports;

namespace {

// Clocks of an operation of each of `warps` warps, of which `chains` operations are ready together every four clocks,
// beside products of 64 clocks without a pause.
double beside_products(const SmOperation& op, int warps, int chains) {
  SmOperation product;
  product.ports_lost = ticks(4);
  constexpr int products = 40, latency = 4, length = 64;
  Ports ports;
  std::vector<std::vector<Ticks>> ready(static_cast<std::size_t>(warps), std::vector<Ticks>(chains, 0));
  int issued = 0;
  for (Ticks now = 0; now < ticks(products * length); now += ticks_a_clock) {
    if (now % ticks(length) == 0) ports.begin(product, now);
    const Ticks end = now / ticks(length) * ticks(length) + ticks(length);
    const auto first = [&](std::vector<Ticks>& of) { return std::min_element(of.begin(), of.end()); };
    // Of the warps that may issue, the one that has waited longest.
    std::vector<std::vector<Ticks>*> can;
    for (int warp = 0; warp < warps; ++warp)
      if (auto& own = ready[static_cast<std::size_t>(warp)];
          *first(own) <= now && ports.free_from(now, end, warp) <= now)
        can.push_back(&own);
    if (can.empty()) continue;
    auto& chosen =
        **std::min_element(can.begin(), can.end(), [&](auto* a, auto* b) { return *first(*a) < *first(*b); });
    *first(chosen) = now + ticks(latency), ++issued;
    ports.take(op, now, static_cast<int>(&chosen - ready.data()));
  }
  return static_cast<double>(products * length * warps) / issued;
}

}  // namespace

TEST_CASE("beside products a turn at the register ports belongs to one warp, as on an H100") {
  struct Row {
    SmPart part;
    double busy;
    std::uint8_t registers;
    int warps, chains;
    double measured;  // clocks of an operation of each warp beside n 128, A in shared memory: wgmma_ports_h100.txt
  };
  const Row rows[] = {
      {SmPart::fma, 1, 2, 1, 1, 4.289}, {SmPart::fma, 1, 2, 2, 1, 8.189},  // fadd, one chain
      {SmPart::fma, 1, 2, 2, 2, 4.234},                                    // two chains: pairs of one warp
      {SmPart::fma, 1, 3, 1, 2, 4.249}, {SmPart::fma, 1, 3, 2, 2, 8.442},  // ffma of three registers
      {SmPart::alu, 2, 2, 2, 1, 8.464},                                    // maxima
  };
  for (const Row& row : rows) {
    CAPTURE(row.measured);
    SmOperation op{.part = row.part, .busy = ticks(row.busy)};
    op.registers = row.registers;
    CHECK(beside_products(op, row.warps, row.chains) == doctest::Approx(row.measured).epsilon(0.05));
  }
}

TEST_CASE("a product of a warpgroup begins when the last of its warps has issued it, for all of them at once") {
  // Shared memory serves one warp after the other, so that they come to the product at different times.
  SmOperation load{.part = SmPart::memory, .result_board = 0, .shared = ticks(20), .latency = ticks(30)};
  SmOperation product{
      .part = SmPart::tensor, .effect = SmEffect::product, .wait_mask = 1, .count = 1, .busy = ticks(64)};
  product.latency = ticks(70);
  SmOperation wait{.effect = SmEffect::product_wait};
  const SmLimits limits{
      .schedulers = 4, .shared_bytes_a_clock = 128, .copy_bytes_a_clock = 64, .queue = 8, .products = 7};
  for (const int groups : {1, 2, 3}) {
    const SmSteady steady = simulate_steady({{load, product, wait}, 4 * groups}, limits, 1, 6);
    std::map<int, std::vector<const SmEvent*>> by_warp;
    for (const SmEvent& event : steady.events)
      if (event.effect == SmEffect::product && event.until > 0) by_warp[event.warp].push_back(&event);
    Ticks longest_wait = 0;
    int compared = 0;
    for (int group = 0; group < groups; ++group) {
      std::map<Ticks, std::vector<const SmEvent*>> starts;
      for (int warp = 4 * group; warp < 4 * group + 4; ++warp)
        for (const SmEvent* event : by_warp[warp]) starts[event->started].push_back(event);
      for (const auto& [start, events] : starts) {
        if (events.size() < 4) continue;  // the first and the last, of which not all were kept
        const auto [first, last] = std::minmax_element(
            events.begin(), events.end(), [](const SmEvent* a, const SmEvent* b) { return a->issued < b->issued; });
        CHECK(start > (*last)->issued);
        longest_wait = std::max(longest_wait, start - (*first)->issued), ++compared;
      }
    }
    CHECK(compared >= 2 * groups);
    CHECK(longest_wait >= ticks(40));
  }
}
