#include "simulate/sm/sm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"
#include "base/test_seed.h"

namespace sm_test {

using namespace tilescope;

namespace {

constexpr std::uint8_t no_board = IssueControl::no_scoreboard;

SmLimits plain_limits() {
  return {.schedulers = 4,
          .barrier_slot = ticks(2),
          .barrier_latency = ticks(13),
          .copy_latency = ticks(400),
          .shared_bytes_a_clock = 128,
          .copy_bytes_a_clock = 64,
          .queue = 8};
}

SmOperation operation(SmPart part, double busy, double stall = 1) {
  return {.part = part, .stall = ticks(stall), .busy = ticks(busy)};
}

double clocks(const std::vector<SmOperation>& code, int warps, int blocks = 1) {
  return simulate_steady({code, warps}, plain_limits(), blocks).clocks;
}

// A pass of operations on random pipes, with scoreboards, loads and a barrier.
std::vector<SmOperation> random_code(std::mt19937_64& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  const double busy[] = {0, 1, 2, 8, 6};
  std::vector<SmOperation> code;
  const int length = 10 + below(40);
  for (int i = 0; i < length; ++i) {
    const int part = below(static_cast<int>(sm_parts));
    SmOperation op = operation(static_cast<SmPart>(part), part < 5 ? busy[part] : 1, 1 + below(6));
    if (op.part == SmPart::memory || op.part == SmPart::xu) {
      op.shared = op.part == SmPart::memory ? ticks(1 + below(4)) : 0;
      op.latency = ticks(20 + below(10)), op.result_board = static_cast<std::uint8_t>(below(3));
    }
    op.wait_mask = static_cast<std::uint8_t>(below(8) & below(8));
    code.push_back(op);
  }
  return code;
}

}  // namespace

TEST_CASE("a chain of dependent instructions takes the sum of its latencies") {
  for (const int n : {1, 7, 40}) {
    const std::vector<SmOperation> stalls(static_cast<std::size_t>(n), operation(SmPart::fma, 1, 4));
    CHECK(clocks(stalls, 4) == doctest::Approx(4 * n));
    SmOperation link = operation(SmPart::memory, 1);
    link.shared = ticks(1), link.latency = ticks(23), link.result_board = 2, link.wait_mask = 1U << 2;
    CHECK(clocks(std::vector(static_cast<std::size_t>(n), link), 1) == doctest::Approx(23 * n));
  }
}

TEST_CASE("independent instructions of enough warps reach the rate of their pipe") {
  for (const auto& [part, busy] : {std::pair(SmPart::fma, 1), {SmPart::alu, 2}, {SmPart::xu, 8}, {SmPart::tensor, 6}}) {
    const std::vector<SmOperation> code(10, operation(part, busy, 4));
    for (const int warps : {16, 32}) CHECK(clocks(code, warps) == doctest::Approx(10 * busy * warps / 4));
  }
  SmOperation load = operation(SmPart::memory, 4);
  load.shared = ticks(4);
  CHECK(clocks(std::vector(10, load), 8) == doctest::Approx(10 * 8 * 4));  // an SM has one shared memory
}

TEST_CASE("a rate that is no whole number of clocks is kept, though warps issue at whole ones") {
  for (const double busy : {1.0625, 2.25, 4.4375, 11.25})
    for (const int warps : {4, 16}) {
      const std::vector<SmOperation> code(64, operation(SmPart::alu, busy));
      CHECK(clocks(code, warps) == doctest::Approx(64 * busy * warps / 4).epsilon(0.02));
    }
}

TEST_CASE("special functions and integer operations are served in the order in which warps ask") {
  for (const auto& [part, busy] : {std::pair(SmPart::alu, 2), {SmPart::xu, 8}}) {
    // A pass of all takes as long as all their work, and each is served as often as the others.
    const SmProgram program{std::vector(40, operation(part, busy)), 4};
    const SmSteady steady = simulate_steady(program, plain_limits(), 3, 3);
    CHECK(steady.clocks == doctest::Approx(3 * simulate_steady(program, plain_limits(), 1).clocks).epsilon(0.02));
    std::array<int, 12> served{};
    for (const SmEvent& event : steady.events) {
      ++served[static_cast<std::size_t>(event.warp)];
      const auto [least, most] = std::minmax({served[0], served[4], served[8]});
      CHECK(most - least <= 2);
    }
  }
}

TEST_CASE("pipes beside each other take as long as the busiest") {
  std::vector<SmOperation> code;
  for (int i = 0; i < 12; ++i) code.push_back(operation(SmPart::tensor, 6)), code.push_back(operation(SmPart::alu, 2));
  CHECK(clocks(code, 32) == doctest::Approx(8 * 12 * 6).epsilon(0.02));
}

TEST_CASE("what holds a product delays it, and only while one runs") {
  SmOperation other = operation(SmPart::fma, 1);
  other.holds_product = ticks(3);
  std::vector<SmOperation> code(8, operation(SmPart::tensor, 6));
  code.insert(code.end(), 8, other);
  CHECK(clocks(code, 16) == doctest::Approx(4 * (8 * 6 + 8 * 3)).epsilon(0.05));
  CHECK(clocks(std::vector(8, other), 16) == doctest::Approx(4 * 8));
}

TEST_CASE("no warp passes a barrier before the last one has come") {
  std::vector<SmOperation> code{operation(SmPart::xu, 8), operation(SmPart::none, 0), operation(SmPart::none, 0)};
  code[1].effect = SmEffect::barrier_sync, code[1].count = 8;
  const SmSteady steady = simulate_steady({code, 8}, plain_limits(), 1, 5);
  std::array<std::vector<Ticks>, 8> arrived;
  int checked = 0;
  for (const SmEvent& event : steady.events) {
    const auto warp = static_cast<std::size_t>(event.warp);
    if (event.operation == 1) arrived[warp].push_back(event.issued);
    if (event.operation != 2) continue;
    const std::size_t round = arrived[warp].size();
    for (const std::vector<Ticks>& others : arrived) {
      if (round == 0) continue;  // of a round that began before the first event
      ++checked;
      REQUIRE(others.size() >= round);
      CHECK(event.issued >= others[round - 1] + ticks(13));
    }
  }
  CHECK(checked >= 100);
  code[1].count = 9;  // more warps than a block has
  CHECK_THROWS_AS(simulate_steady({code, 8}, plain_limits(), 1), InputError);
}

TEST_CASE("warpgroups that take turns at products and at special functions are never both between turn and turn") {
  SmOperation turn = operation(SmPart::none, 0), give = operation(SmPart::none, 0);
  turn.effect = SmEffect::barrier_sync, give.effect = SmEffect::barrier_arrive;
  turn.number = give.number = SmOperation::turn, turn.count = give.count = 8;
  SmOperation product = operation(SmPart::tensor, 64), wait = operation(SmPart::none, 0);
  product.effect = SmEffect::product, product.count = 1, product.latency = ticks(73);
  wait.effect = SmEffect::product_wait;
  const std::vector<SmOperation> code{
      turn, product, wait, give, turn, operation(SmPart::xu, 8), operation(SmPart::xu, 8), give};
  const SmSteady steady = simulate_steady({code, 8}, plain_limits(), 1, 6);
  struct Turn {
    Ticks begin, end;
    int group;
  };
  std::vector<Turn> turns;
  std::array<std::vector<Ticks>, 8> begun;  // by warp
  for (const SmEvent& event : steady.events) {
    const auto warp = static_cast<std::size_t>(event.warp);
    if (event.operation == 1 || event.operation == 5) begun[warp].push_back(event.issued);
    if ((event.operation != 3 && event.operation != 7) || begun[warp].empty()) continue;
    turns.push_back({begun[warp].back(), event.issued, event.warp / 4});
  }
  int checked = 0;
  for (const Turn& a : turns)
    for (const Turn& b : turns)
      if (a.group != b.group) {
        ++checked;
        CHECK((a.end <= b.begin || b.end <= a.begin));
      }
  CHECK(checked > 100);
}

TEST_CASE("copies hold a wait for their group, as far as other groups may stay in flight") {
  SmOperation copy = operation(SmPart::memory, 1), group = operation(SmPart::none, 0), wait = group;
  copy.effect = SmEffect::copy, copy.copy = ticks(8), copy.shared = ticks(4);
  group.effect = SmEffect::copy_group, wait.effect = SmEffect::group_wait;
  CHECK(clocks({copy, group, wait}, 1) == doctest::Approx(400 + 8 + 1).epsilon(0.02));
  wait.count = 1;
  CHECK(clocks({copy, group, wait}, 1) == doctest::Approx((400 + 8) / 2.0).epsilon(0.02));
}

TEST_CASE("asynchronous products overlap what follows them until the wait") {
  SmOperation product = operation(SmPart::tensor, 64), wait = operation(SmPart::none, 0);
  product.effect = SmEffect::product, product.count = 1, product.latency = ticks(73);
  wait.effect = SmEffect::product_wait;
  std::vector<SmOperation> code{product};
  code.insert(code.end(), 20, operation(SmPart::fma, 1, 4));
  code.push_back(wait);
  CHECK(clocks(code, 4) == doctest::Approx(64 + 73).epsilon(0.02));  // 80 clocks of multiply-adds lie under it
}

TEST_CASE("operations beside an asynchronous product take as long as on an H100, and it takes no longer") {
  struct Row {
    SmPart part;
    double busy;
    int stall;
    double lost, beside;  // measured: wgmma_ports_h100.txt, softmax_beside_h100.txt; A in shared memory, n 64 and 128
    double product;
  };
  const Row rows[] = {
      {SmPart::fma, 1, 4, 4, 4.289, 64},   // one chain of fadd
      {SmPart::fma, 1, 4, 4, 4.586, 32},   // the same
      {SmPart::fma, 1, 4, 12, 4.978, 64},  // the same, A in registers
      {SmPart::alu, 2, 2, 4, 4.250, 64},   // maxima
      {SmPart::alu, 2, 2, 12, 5.032, 64},  // the same, A in registers
      {SmPart::fma, 1, 1, 4, 2.000, 64},   // 64 fmul, one after the other
  };
  for (const Row& row : rows) {
    constexpr int products = 7, operations = 300;
    SmOperation product = operation(SmPart::tensor, row.product), wait = operation(SmPart::none, 0);
    product.effect = SmEffect::product, product.latency = ticks(10), product.ports_lost = ticks(row.lost);
    wait.effect = SmEffect::product_wait;
    SmLimits limits = plain_limits();
    limits.products = products;
    std::vector<SmOperation> code(products, product);
    code.back().count = 1;
    code.insert(code.end(), operations, operation(row.part, row.busy, row.stall)), code.push_back(wait);
    const double under = products * row.product, alone = std::max<double>(row.busy, row.stall);
    CAPTURE(row.beside);
    CHECK(simulate_steady({code, 4}, limits, 1).clocks ==
          doctest::Approx(under + (operations - under / row.beside) * alone).epsilon(0.04));
  }
}

TEST_CASE(
    "a narrow product with A in registers takes longer beside other operations, half a clock for one of their pipe") {
  SmOperation product = operation(SmPart::tensor, 32), wait = operation(SmPart::none, 0);
  product.effect = SmEffect::product, product.latency = ticks(10), wait.effect = SmEffect::product_wait;
  SmLimits limits = plain_limits();
  limits.products = 7;
  constexpr int products = 7, operations = 30;  // which end before the products do
  const auto pass = [&](SmPart part, double busy, bool delayed) {
    product.delayed = delayed;
    std::vector<SmOperation> code(products, product);
    code.back().count = 1;
    code.insert(code.end(), operations, operation(part, busy, 2)), code.push_back(wait);
    return simulate_steady({code, 4}, limits, 1).clocks;
  };
  for (const auto& [part, busy] : {std::pair(SmPart::alu, 2), {SmPart::fma, 1}})
    CHECK(pass(part, busy, true) - pass(part, busy, false) == doctest::Approx(operations * busy / 2.0).epsilon(0.1));
  CHECK(pass(SmPart::xu, 8, true) == pass(SmPart::xu, 8, false));
}

TEST_CASE("where products are asynchronous the warp that issued last goes on until its code yields") {
  SmOperation product = operation(SmPart::tensor, 1);
  product.effect = SmEffect::product, product.count = 1;
  constexpr int operations = 120;
  for (const int every : {0, 6, 20}) {
    std::vector<SmOperation> code{product};
    for (int i = 1; i <= operations; ++i)
      code.push_back(operation(SmPart::fma, 1)), code.back().yields = every > 0 && i % every == 0;
    const SmSteady steady = simulate_steady({code, 8}, plain_limits(), 1, 4);
    int last = -1, changes = 0, issued = 0;
    for (const SmEvent& event : steady.events) {
      if (event.warp % 4 != 0) continue;
      changes += event.warp != last, last = event.warp, ++issued;
    }
    REQUIRE(issued > operations);
    const double run = static_cast<double>(issued) / changes;
    CAPTURE(every);
    if (every == 0) CHECK(run > 30);
    else CHECK(run == doctest::Approx(every).epsilon(0.35));
  }
}

TEST_CASE("shared memory beside an asynchronous product has what that leaves") {
  SmOperation product = operation(SmPart::tensor, 64), wait = operation(SmPart::none, 0);
  product.effect = SmEffect::product, product.count = 1, wait.effect = SmEffect::product_wait;
  SmOperation load = operation(SmPart::memory, 1);
  load.shared = ticks(1);
  const auto pass = [&](double part, bool returns) {
    product.shared_part = part, load.result_board = returns ? 0 : IssueControl::no_scoreboard;
    std::vector<SmOperation> code{product};
    code.insert(code.end(), 40, load), code.push_back(wait);
    SmLimits limits = plain_limits();
    limits.queue = 1;                                     // no accesses of the pass before
    return simulate_steady({code, 4}, limits, 1).clocks;  // four schedulers share it: 160 accesses
  };
  // Stores have the half that is left, loads a quarter.
  CHECK(pass(0.5, false) == doctest::Approx(64 + 160 - 64 / 2.0).epsilon(0.06));
  CHECK(pass(0.5, true) == doctest::Approx(64 + 160 - 64 / 4.0).epsilon(0.06));
  for (const bool returns : {false, true}) CHECK(pass(1, returns) > pass(0.5, returns));
}

TEST_CASE("random programs: never below a pipe's time or a warp's stall counts; clocks add up; more blocks help") {
  std::mt19937_64 random(test_seed());
  double least_gain = 2;
  for (int i = 0; i < 150; ++i) {
    const std::vector<SmOperation> code = random_code(random);
    std::array<double, sm_parts> busy{};
    double shared = 0, stalls = 0;
    for (const SmOperation& op : code) {
      busy[static_cast<std::size_t>(op.part)] += static_cast<double>(op.busy) / ticks_a_clock;
      shared += static_cast<double>(op.shared) / ticks_a_clock, stalls += static_cast<double>(op.stall) / ticks_a_clock;
    }
    busy[static_cast<std::size_t>(SmPart::memory)] = 0;  // counted as shared memory
    double alone = 0;
    for (const int blocks : {1, 2, 4}) {
      const SmSteady steady = simulate_steady({code, 4}, plain_limits(), blocks);
      const double exact = steady.periodic ? 1 - 1e-9 : 0.99;  // a mean starts and ends within passes
      CHECK(steady.clocks >= stalls * exact);
      CHECK(steady.clocks >= 4 * blocks * shared * exact);
      CHECK(steady.clocks >= blocks * *std::max_element(busy.begin(), busy.end()) * exact);
      double waited = 0;
      for (const auto& row : steady.waits) waited = std::accumulate(row.begin(), row.end(), waited);
      if (steady.periodic) CHECK(waited == doctest::Approx(steady.clocks).epsilon(0.001));
      if (blocks == 1) alone = steady.clocks;
      least_gain = std::min(least_gain, blocks * alone / steady.clocks);
    }
  }
  CHECK(least_gain > 0.99);
}

TEST_CASE("schedulers that go on alone, and passes that are left out, change no clock") {
  std::mt19937_64 random(test_seed());
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  int compared = 0;
  for (int i = 0; i < 200; ++i) {
    const int warps = 4 + 4 * below(2), blocks = 1 + below(3);
    std::vector<SmOperation> code = random_code(random);
    for (int extra = below(6); extra > 0; --extra) {
      SmOperation op = operation(SmPart::none, 0, 1 + below(3));
      constexpr std::array effects{SmEffect::barrier_sync, SmEffect::copy, SmEffect::copy_group, SmEffect::product,
                                   SmEffect::product_wait};
      op.effect = effects[static_cast<std::size_t>(below(5))];
      if (op.effect == SmEffect::product) op.part = SmPart::tensor, op.busy = ticks(8 + below(60)), op.count = 1;
      if (op.effect == SmEffect::product) op.shared_part = 0.25 * below(5);
      if (op.effect == SmEffect::barrier_sync) op.count = static_cast<std::int16_t>(warps);
      if (op.effect == SmEffect::copy) op.part = SmPart::memory, op.shared = ticks(4), op.copy = ticks(8);
      code.insert(code.begin() + below(static_cast<int>(code.size())), op);
    }
    SmOperation wait = operation(SmPart::none, 0);
    wait.effect = SmEffect::group_wait, wait.count = static_cast<std::int16_t>(below(2));
    code.insert(code.begin() + below(static_cast<int>(code.size())), wait);
    SmLimits limits = plain_limits();
    if (below(2) == 0) limits.copies_later = ticks(below(300));
    const SmSteady together = simulate_steady({code, warps}, limits, blocks),
                   alone = simulate_steady({code, warps}, limits, blocks, -1);
    CAPTURE(i);
    if (together.periodic && alone.periodic) {
      CHECK(alone.clocks == doctest::Approx(together.clocks).epsilon(1e-12));
      ++compared;
    }
    // Passes as a loop, and all but two of them one behind the other: the same code with nothing to leave out.
    const std::vector<SmOperation> end = random_code(random);
    bool later_loop = false, later_rows = false;
    const std::int64_t passes = 3 + below(12);
    std::vector<SmOperation> rows;
    for (std::int64_t pass = 2; pass < passes; ++pass) rows.insert(rows.end(), code.begin(), code.end());
    CHECK(simulate_blocks({code, warps}, {{}, end}, limits, blocks, passes, SmWhole::last_warp, &later_loop) ==
          simulate_blocks({code, warps}, {rows, end}, limits, blocks, 2, SmWhole::last_warp, &later_rows));
    CHECK(later_loop == later_rows);
  }
  CHECK(compared > 100);
}

TEST_CASE("where nothing holds warpgroups together their first passes can count; elsewhere that changes nothing") {
  std::mt19937_64 random(test_seed());
  int free = 0, others = 0;
  for (int i = 0; i < 60; ++i) {
    std::vector<SmOperation> code = random_code(random);
    const bool asynchronous = i % 2 == 0;
    if (asynchronous) {
      SmOperation product = operation(SmPart::tensor, 8 + static_cast<int>(random() % 60)), wait;
      product.effect = SmEffect::product, product.count = 1, wait.effect = SmEffect::product_wait;
      code.insert(code.begin(), product), code.push_back(wait);
    }
    const SmProgram program{code, 8};
    const SmLimits limits = plain_limits();
    const double first = simulate_steady(program, limits, 1, -1, SmPasses::first).clocks;
    CAPTURE(i);
    if (!asynchronous) {
      CHECK(first == simulate_steady(program, limits, 1, -1).clocks);
      CHECK(first == simulate_steady(program, limits, 1, -1, SmPasses::mean).clocks);
      continue;
    }
    // Passes of a block from its start: the third to the tenth.
    const double passes =
        (simulate_blocks(program, {}, limits, 1, 10) - simulate_blocks(program, {}, limits, 1, 2)) / 8;
    CHECK(first == doctest::Approx(passes).epsilon(0.1));
    // The mean over five beginnings is no single one of them, and of the same size.
    const double mean = simulate_steady(program, limits, 1, -1, SmPasses::mean).clocks;
    CHECK(mean == doctest::Approx(first).epsilon(0.5));
    ++free, others += mean != first;
  }
  CHECK(free == 30);
  CHECK(others > 5);
}

}  // namespace sm_test
