// Compares the shipped lowerings with the numbers that their papers print.
#include <doctest/doctest.h>

#include "lower/lookup.h"

namespace papers_test {

using namespace tilescope;
using namespace tilescope::lower;

TEST_CASE("Napkin on Hopper: 48 / 48 / 74.75 KiB, 3.73 and 3.42 warpgroups, so 3 and a group of 384") {
  const LoweringResult result = run("napkin_hopper");
  const PlanResult& plan = result.plans.at(0);
  CHECK(plan.problems.empty());
  CHECK(level(plan, "smem").block_bytes == 48 * 1024);
  CHECK(level(plan, "smem").copy_bytes == 48 * 1024);
  CHECK(level(plan, "register").copy_bytes == 76544);  // 74.75 KiB = 128 threads x 598 B
  CHECK(76544 == 128 * 598);
  CHECK(*level(plan, "smem").copies_max == doctest::Approx(3.73).epsilon(1e-3));
  CHECK(*level(plan, "register").copies_max == doctest::Approx(3.42).epsilon(2e-3));
  CHECK(plan.configuration.copies == 3);
  CHECK(plan.configuration.limited_by == "register");
  CHECK(plan.configuration.group_rows == 384);
  CHECK(plan.configuration.registers->per_thread == 150);
  CHECK(plan.configuration.registers->allocated == 152);  // rounded up to a multiple of 8
}

TEST_CASE("Napkin on Hopper: 2 / 4.06 / 4 / 0.5 clocks, 6 in all, 1.32 PFLOP/s") {
  const PlanResult plan = run("napkin_hopper").plans.at(0);
  CHECK(clocks_of(plan, "scores") == 2);
  CHECK(clocks_of(plan, "values") == 4);
  CHECK(clocks_of(plan, "accumulate") == 0.5);
  CHECK(pipe(plan, "exp2") == 65.0 / 16);
  CHECK(pipe(plan, "tensor") == 6);
  CHECK(plan.throughput.bound_clocks == 6);
  CHECK(plan.throughput.bound_by == "tensor");
  CHECK(plan.throughput.ideal_flop_per_second == doctest::Approx(1.319e15).epsilon(1e-3));
  // The harmonic mean of the fp8 and fp16 peaks: half the FLOP run at each.
  CHECK(plan.throughput.ideal_flop_per_second == doctest::Approx(2 / (1 / 1978.9e12 + 1 / 989.4e12)).epsilon(1e-4));
}

TEST_CASE("Napkin on Hopper: 1.26 us of compute hide 0.97 us of transfer, and 295 rows suffice") {
  const LoweringResult result = run("napkin_hopper");
  const BandwidthTest& test = *result.plans.at(0).bandwidth;
  CHECK(test.bytes_per_unit == 24576);
  CHECK(test.compute_seconds == doctest::Approx(1.26e-6).epsilon(2e-3));
  CHECK(test.transfer_seconds == doctest::Approx(0.968e-6).epsilon(1e-3));
  CHECK(test.transfer_seconds == doctest::Approx(132 * 24576 / 3.35e12).epsilon(1e-12));
  CHECK(test.least_rows == doctest::Approx(295.4).epsilon(1e-3));
}

TEST_CASE("Napkin on Hopper: divisors combine by their least common multiple") {
  const PlanResult plan = run("napkin_hopper").plans.at(0);
  CHECK(divisor(plan, "w_q").multiple == 128);
  CHECK(divisor(plan, "d").multiple == 128);  // 128 B of fp8 and of fp16: lcm(128, 64)
  CHECK(divisor(plan, "s_x").multiple == 32);
  CHECK(divisor(plan, "u_x").multiple == 8);
  CHECK(divisor(plan, "d_sub").multiple == 16);
  Lowering lowering = load("napkin_hopper");
  lowering.divisors.push_back({"s_x", 6, "to have a least common multiple that is no maximum"});
  const PlanResult refused = evaluate(lowering).plans.at(0);
  CHECK(divisor(refused, "s_x").multiple == 96);
  CHECK(refused.problems == std::vector<std::string>{"s_x = 64 is not a multiple of 96"});
}

// Compares FlashAttention-3 (arXiv 2407.08608) with the model. Softmax runs at 60 % of the exponential's rate, so 4
// clocks become 6.67 (Napkin, arXiv 2412.03317, section 6). fp16 overlaps softmax with one of the two products of the
// same warpgroup. fp8 overlaps softmax with both products of another warpgroup.
TEST_CASE("FlashAttention-3's overlap takes 4/3 of the ideal time in fp16 and 5/3 in fp8") {
  Lowering lowering = load("napkin_hopper");
  const auto operation = [](const std::string& name, const std::string& on, double clocks) {
    return PipeOperation{name,
                         on,
                         on == "tensor" ? AmountUnit::flop : AmountUnit::count,
                         {{"", 240}},
                         0,
                         240 / clocks,
                         "Napkin, section 6"};
  };
  const auto relative = [&](double product, const PhaseOverlap& overlap) {
    lowering.operations = {operation("scores", "tensor", product), operation("softmax", "exp2", 4 / 0.6),
                           operation("values", "tensor", product)};
    LoweringPlan plan = lowering.plans[0];
    plan.overlap = overlap;
    return pipeline(lowering, plan).bound_clocks / (2 * product);
  };
  CHECK(relative(4, {"phases", {{"scores"}, {"softmax", "values"}}}) == doctest::Approx(4.0 / 3).epsilon(1e-12));
  CHECK(relative(2, {"full", {}}) == doctest::Approx(5.0 / 3).epsilon(1e-12));
  CHECK(relative(4, {"full", {}}) == doctest::Approx(1).epsilon(1e-12));
  CHECK(relative(4, {"serial", {}}) == doctest::Approx((8 + 4 / 0.6) / 8).epsilon(1e-12));
  CHECK(1 / relative(4, {"phases", {{"scores"}, {"softmax", "values"}}}) ==
        doctest::Approx(740.0 / 989).epsilon(5e-3));  // measured
  CHECK(1 / relative(2, {"full", {}}) == doctest::Approx(1.2 / 1.98).epsilon(2e-2));
}

// Computed by hand, in 32-bit registers per thread. 16 rows: S 16*64/32 = 32, O 16*128/32 = 64, Q of a step 16*16/2/32
// = 4, V of a step 16*128/2/32 = 32 (K's 16 lie inside), maximum and sum of two rows 4: 136. 32 rows: 64 + 128 + 8 + 32
// + 8 = 240. 16 rows with all of Q: 32 + 64 + 32 + 32 + 4 = 164, allocated 168. 16 rows
// with P in registers of its own (16*64/2/32 = 16): 152. An SM has 65536 registers, a warp 32
// threads.
TEST_CASE("FlashAttention-2 on the A100: 15 warps of 16 rows, 8 of 32, 12 with Q in registers, 13 with P apart") {
  const LoweringResult result = run("flash2_a100");
  const auto check = [&](std::size_t i, std::int64_t registers, std::int64_t allocated, std::int64_t warps,
                         std::int64_t rows) {
    const PlanResult& plan = result.plans.at(i);
    CAPTURE(plan.name);
    CHECK(plan.problems.empty());
    CHECK(plan.configuration.registers->per_thread == registers);
    CHECK(plan.configuration.registers->allocated == allocated);
    CHECK(plan.configuration.copies == 65536 / (32 * allocated));
    CHECK(plan.configuration.copies == warps);
    CHECK(plan.configuration.group_rows == rows);
    CHECK(plan.configuration.limited_by == "register");
  };
  check(0, 136, 136, 15, 240);
  check(1, 240, 240, 8, 256);
  check(2, 164, 168, 12, 192);
  check(3, 152, 152, 13, 208);  // arXiv 2412.03317 is quoted with 13 for Ampere
  CHECK(level(result.plans[0], "smem").block_bytes == 2 * 64 * 128 * 2);
  CHECK(*level(result.plans[0], "smem").copies_max == doctest::Approx((163 - 32) / 4.0).epsilon(1e-12));
  CHECK(*level(result.plans[1], "smem").copies_max == doctest::Approx((163 - 32) / 8.0).epsilon(1e-12));
  CHECK(!level(result.plans[2], "smem").copies_max.has_value());
  CHECK(*level(result.plans[2], "register").copies_max == doctest::Approx(65536.0 / (32 * 164)).epsilon(1e-12));
  CHECK(pipe(result.plans[0], "tensor") == 4.0 * 64 * 128 / 2048);
  CHECK(pipe(result.plans[0], "fma") == (64 + 64 + 128) / 64.0);
}

TEST_CASE(
    "FlashAttention-4 forward: two query tiles fill tensor memory; 1024 / 768 / 1024 clocks, twice that for two") {
  const LoweringResult result = run("flash4_b200_forward");
  const auto check = [&](std::size_t i, double scale) {  // attention.md 4.2: paper's table 1
    const PlanResult& plan = result.plans.at(i);
    CHECK(plan.problems.empty());
    CHECK(pipe(plan, "tensor") == 1024 * scale);
    CHECK(pipe(plan, "smem") == 768 * scale);
    CHECK(pipe(plan, "exp2") == 1024 * scale);
    CHECK(plan.throughput.bound_clocks == 1024 * scale);
    CHECK(plan.throughput.bound_by == "tensor and exp2");
    CHECK(level(plan, "tmem").copy_bytes == 128 * 1024);
    CHECK(*level(plan, "tmem").copies_max == 2);
    CHECK(plan.configuration.limited_by == "tmem");
    CHECK(plan.configuration.group_rows == 256);
    CHECK(level(plan, "smem").block_bytes + 2 * level(plan, "smem").copy_bytes ==
          224 * 1024);  // the shared memory that the kernel requests
  };
  check(0, 1);
  check(1, 2);
}

TEST_CASE("FlashAttention-4 backward: 2560 / 3328 / 1024 clocks, shared memory 30 % over, 5 % for a pair of CTAs") {
  const LoweringResult result = run("flash4_b200_backward");
  const PlanResult &one = result.plans.at(0), &pair = result.plans.at(1);
  CHECK(one.problems.empty());
  CHECK(pair.problems.empty());
  CHECK(pipe(one, "tensor") == 2560);  // attention.md 4.2: paper's table 3
  CHECK(pipe(one, "smem") == 3328);
  CHECK(pipe(one, "exp2") == 1024);
  CHECK(one.throughput.bound_by == "smem");
  CHECK(pipe(pair, "tensor") == 2560);
  CHECK(pipe(pair, "smem") / pipe(pair, "tensor") == doctest::Approx(1.05).epsilon(1e-12));  // "about 5 % over"
  for (const PlanResult* plan : {&one, &pair}) {
    CHECK(level(*plan, "tmem").copy_bytes == 512 * 128 * 4);  // all columns x lanes x 4 B
    CHECK(plan->configuration.copies == 1);
  }
  // 225.5 KiB of buffers and 1 KiB that the system reserves in each block, of 228 KiB.
  CHECK(level(one, "smem").copy_bytes == 226 * 1024 + 512);
  CHECK(level(one, "smem").capacity_bytes == 228 * 1024);
  const double m = 128, n = 128, d = 128;  // the paper's section 3.2.1, in clocks
  CHECK(pipe(one, "smem") == (4 * m * d + 3 * n * d + m * n) / 64 + m * n / 64 + m * d / 16);
}

}  // namespace papers_test
