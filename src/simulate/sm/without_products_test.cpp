// Programs without asynchronous products, which are simulated by code of their own, take the clocks that the code for
// all programs gives.
#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

#include "base/test_seed.h"
#include "simulate/sm/meetings.h"
#include "simulate/sm/products.h"

namespace without_products_test {

using namespace tilescope;

namespace {

class RandomCode {
 public:
  explicit RandomCode(std::mt19937& random, int warps) : random_(random), warps_(warps) {}

  // With and without scoreboards, barriers, copies and their groups.
  std::vector<SmOperation> of(int length) {
    std::vector<SmOperation> code;
    for (int i = 0; i < length; ++i) code.push_back(operation());
    return code;
  }

 private:
  int up_to(int most) { return std::uniform_int_distribution(0, most)(random_); }

  SmOperation operation() {
    constexpr int boards = 6;
    SmOperation op{.part = static_cast<SmPart>(up_to(static_cast<int>(sm_parts) - 1)), .stall = ticks(1 + up_to(7))};
    if (op.part != SmPart::none) op.busy = ticks(1 + up_to(3));
    if (up_to(3) == 0) op.result_board = static_cast<std::uint8_t>(up_to(boards - 1)), op.latency = ticks(up_to(40));
    if (up_to(5) == 0) op.operand_board = static_cast<std::uint8_t>(up_to(boards - 1)), op.operands = ticks(up_to(9));
    if (up_to(3) == 0) op.wait_mask = static_cast<std::uint8_t>(up_to((1 << boards) - 1));
    op.yields = up_to(4) == 0;
    if (op.part == SmPart::xu || op.part == SmPart::fma) op.holds_product = ticks(up_to(1));
    if (op.part == SmPart::memory) {
      op.shared = ticks(up_to(8)), op.quarter = ticks(up_to(2)), op.leaves = up_to(5) == 0 ? ticks(8) : 0;
      if (up_to(3) == 0) op.effect = SmEffect::copy, op.copy = ticks(4);
      else if (up_to(5) == 0) op.effect = SmEffect::load, op.copy = ticks(6);
    } else if (op.part == SmPart::none) {
      constexpr std::array effects{SmEffect::none, SmEffect::none, SmEffect::copy_group, SmEffect::group_wait,
                                   SmEffect::barrier_sync};
      op.effect = effects[static_cast<std::size_t>(up_to(effects.size() - 1))];
      if (op.effect == SmEffect::barrier_sync) op.count = static_cast<std::int16_t>(warps_);
    }
    return op;
  }

  std::mt19937& random_;
  int warps_;
};

}  // namespace

TEST_CASE("random programs without asynchronous products take the same clocks by both ways of simulation") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  SmLimits limits{.barrier_slot = ticks(2),
                  .barrier_latency = ticks(13),
                  .copy_latency = ticks(300),
                  .copies_later = ticks(100),
                  .shared_bytes_a_clock = 128,
                  .queue = 8,
                  .branch = ticks(3)};
  int several = 0;
  for (int i = 0; i < 200; ++i) {
    const auto up_to = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
    const int warps = 1 + up_to(7), blocks = 1 + up_to(2);
    RandomCode code(random, warps);
    const SmProgram program{code.of(5 + up_to(60)), warps};
    const SmEnds ends{code.of(up_to(20)), code.of(up_to(20))};
    sm_state::Apart apart{warps, ticks(up_to(50))};
    constexpr int passes = 6;
    using Special = sm_state::Sm<false, false>;
    using General = sm_state::Sm<false, true>;
    Special special(program, ends, limits, blocks, passes, clocks_alone, apart);
    General general(program, ends, limits, blocks, passes, clocks_alone, apart);
    CAPTURE(i);
    CHECK(special.run_blocks(SmWhole::last_warp) == general.run_blocks(SmWhole::last_warp));
    Special steady(program, {}, limits, blocks, 0, clocks_alone, apart);
    General general_steady(program, {}, limits, blocks, 0, clocks_alone, apart);
    CHECK(steady.run().clocks == doctest::Approx(general_steady.run().clocks).epsilon(1e-12));
    several += blocks > 1;
  }
  CHECK(several > 20);
}

}  // namespace without_products_test
