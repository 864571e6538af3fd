// Asynchronous products of warpgroups, and what they leave of the register ports.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "kernel/code/sass/operands.h"
#include "simulate/sm/ports.h"
#include "simulate/sm/sm.h"

namespace warpgroups_test {

using namespace tilescope;
using sm_state::Ports;

namespace {

// Clocks of an instruction of each of `warps` warps, which go through the same ones again and again beside products of
// 64 clocks without a pause. `apart`: clocks between two of a warp that wait for each other.
double beside_products(const std::vector<std::string>& run, int warps, int apart = 1) {
  const SmMachine machine(find_profile("h100_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware"));
  SmWay way;
  for (int i = 0; i < 2; ++i)  // the second time, as behind others
    for (const std::string& text : run) {
      Instruction instruction;
      std::vector<std::string> labels;
      REQUIRE(parse_instruction(text, instruction, labels));
      way.add(instruction.opcode, text, machine.operation(instruction, 4));
    }
  const std::vector<SmOperation> code = std::move(way).operations();
  SmOperation product;
  product.ports_lost = ticks(4);
  constexpr int products = 40, length = 64;
  Ports ports;
  std::array<Ticks, sm_parts> free{};
  std::vector<std::size_t> next(static_cast<std::size_t>(warps), 0);
  std::vector<Ticks> ready(static_cast<std::size_t>(warps), 0);
  int issued = 0;
  for (Ticks now = 0; now < ticks(products * length); now += ticks_a_clock) {
    if (now % ticks(length) == 0) ports.begin(product, now);
    const Ticks end = now / ticks(length) * ticks(length) + ticks(length);
    for (int i = 0; i < warps; ++i) {
      const int warp = (i + issued) % warps;
      const auto w = static_cast<std::size_t>(warp);
      const SmOperation& op = code[run.size() + next[w] % run.size()];
      Ticks& pipe = free[static_cast<std::size_t>(op.part)];
      if (ready[w] > now || pipe > now || ports.free_from(op, now, end, warp) > now) continue;
      ports.take(op, now, warp), pipe = std::max(pipe, now - ticks(3)) + op.busy;
      ready[w] = now + ticks(apart), ++next[w], ++issued;
      break;
    }
  }
  return static_cast<double>(products * length * warps) / issued;
}

}  // namespace

TEST_CASE("operations beside products go by the banks of their registers, as on an H100") {
  struct Row {
    std::vector<std::string> run;
    double measured;  // clocks of an operation beside n 256, A in shared memory: runs_beside_h100.txt
    int apart = 1;    // as compilers place them
  };
  const Row rows[] = {
      {{"FMUL R57, R4, R17", "FMUL R58, R4, R18"}, 1.98},
      {{"FMUL R63, R4, R34", "FMUL R65, R4, R48"}, 3.81},  // results in one bank
      {{"FMUL R58, R4, R18", "FMUL R57, R4, R17", "FMUL R59, R4, R19", "FMUL R60, R4, R20"}, 2.00},
      {{"FADD R57, R4, R17", "FADD R58, R4, R18"}, 1.98},
      {{"FADD R63, R4, R34", "FADD R65, R4, R48"}, 3.81},
      {{"FFMA R56, R16, UR5, R5", "FFMA R57, R17, UR5, R5"}, 2.06},
      {{"FFMA R32, R32, UR5, R5", "FFMA R34, R34, UR5, R5"}, 3.98},
      {{"FFMA R57, R4, R17, R5", "FFMA R58, R4, R18, R5"}, 1.98},
      {{"FFMA R32, R4, R32, R5", "FFMA R34, R4, R34, R5"}, 3.90},
      {{"FFMA R34, R9, R34, R4", "FFMA R48, R10, R48, R5"}, 3.90},  // three reads each
      {{"FMUL R57, R5, R17", "FMUL R58, R6, R18"}, 1.98},           // two reads each
      {{"FMNMX R57, R4, R17, !PT", "FMNMX R58, R4, R18, !PT"}, 3.92, 2},
      {{"VIMNMX3 R57, R17, R5, R8, !PT", "VIMNMX3 R58, R18, R6, R9, !PT"}, 4.00, 2},
      {{"FADD R57, R4, R17", "FMNMX R58, R4, R18, !PT"}, 1.92},
      {{"FADD R63, R4, R38", "FMNMX R65, R4, R48, !PT"}, 1.92},  // results of two pipes in one bank
      {{"FADD R57, R4, R17", "F2FP.F16.F32.PACK_AB R58, R18, R4"}, 3.81},
      {{"FMNMX R56, R4, R16, !PT", "FFMA R57, R17, UR5, R5"}, 1.98},
      {{"FMNMX R57, R4, R32, !PT", "FFMA R34, R34, UR5, R5"}, 3.73},
  };
  for (const Row& row : rows) {
    CAPTURE(row.run.front());
    CAPTURE(row.run.back());
    CHECK(beside_products(row.run, 1, row.apart) == doctest::Approx(row.measured).epsilon(0.12));
  }
}

TEST_CASE("beside products a turn at the register ports belongs to one warp, as on an H100") {
  constexpr int dependent = 4;  // clocks
  // Clocks of an operation of each warp beside n 128, A in shared memory: wgmma_ports_h100.txt.
  CHECK(beside_products({"FADD R8, R8, R4"}, 1, dependent) == doctest::Approx(4.289).epsilon(0.05));
  CHECK(beside_products({"FADD R8, R8, R4"}, 2, dependent) == doctest::Approx(8.189).epsilon(0.05));
  CHECK(beside_products({"FMNMX R8, R8, R4, !PT"}, 2, dependent) == doctest::Approx(8.464).epsilon(0.05));
  CHECK(beside_products({"FADD R8, R8, R4", "FMNMX R9, R9, R5, !PT"}, 2, dependent) ==
        doctest::Approx(8.3).epsilon(0.05));
}

TEST_CASE("seven asynchronous products are under way on an SM, of all its warpgroups together, as on an H100") {
  // Each of `groups` warpgroups issues `products` and waits. Clocks from the issue of its last one until it has its
  // results, of the warpgroup that ends first.
  const auto last_to_results = [](int groups, int products, double length) {
    SmOperation product{.part = SmPart::tensor, .effect = SmEffect::product, .busy = ticks(length)};
    product.latency = ticks(15), product.stall = ticks(4);
    SmOperation wait{.effect = SmEffect::product_wait};
    SmLimits limits{.schedulers = 4, .shared_bytes_a_clock = 128, .copy_bytes_a_clock = 64, .queue = 8, .products = 7};
    std::vector<SmOperation> code(static_cast<std::size_t>(products), product);
    code.back().count = 1, code.push_back(wait);
    const SmSteady steady = simulate_steady({code, 4 * groups}, limits, 1, 4);
    double least = 1e9;
    std::map<int, Ticks> last;
    for (const SmEvent& event : steady.events) {
      if (event.operation + 2 == code.size()) last[event.warp] = event.issued;
      if (event.effect == SmEffect::product_wait && last.contains(event.warp))
        least = std::min(least, static_cast<double>(event.issued - last[event.warp]) / ticks_a_clock);
    }
    return least;
  };
  // product_order_h100.txt: 16 products n 128 each, "issued 2388 done 2851" and the like: 463 clocks for one to three.
  for (const int groups : {2, 3}) CHECK(last_to_results(groups, 16, 64) == doctest::Approx(463).epsilon(0.1));
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

}  // namespace warpgroups_test
