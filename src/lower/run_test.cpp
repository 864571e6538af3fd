// Shipped lowerings against the numbers their papers print, and the steps against counting by hand or by walking.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/checked.h"
#include "base/error.h"
#include "lower/result.h"

using namespace tilescope;
using namespace tilescope::lower;

namespace {

const std::filesystem::path root = TILESCOPE_SOURCE_DIR;

std::filesystem::path file_of(const std::string& name) { return root / "models" / "lowerings" / (name + ".yaml"); }
LoweringResult run(const std::string& name) { return run_lowering(file_of(name), root); }
Lowering load(const std::string& name) { return load_lowering(file_of(name), root); }

const LevelFit& level(const PlanResult& plan, const std::string& name) {
  for (const LevelFit& fit : plan.configuration.levels)
    if (fit.level == name) return fit;
  FAIL("no level " << name);
  return plan.configuration.levels.front();
}

double clocks_of(const PlanResult& plan, const std::string& operation) {
  for (const OperationClocks& row : plan.throughput.operations)
    if (row.name == operation) return row.clocks;
  FAIL("no operation " << operation);
  return 0;
}

double pipe(const PlanResult& plan, const std::string& name) {
  for (const PipeClocks& row : plan.throughput.pipes)
    if (row.pipe == name) return row.clocks;
  FAIL("no pipe " << name);
  return 0;
}

const DivisorResult& divisor(const PlanResult& plan, const std::string& size) {
  return *std::find_if(plan.divisors.begin(), plan.divisors.end(), [&](const DivisorResult& d) { return d.size == size; });
}

}  // namespace

TEST_CASE("Napkin on Hopper: 48 / 48 / 74.75 KiB, 3.73 and 3.42 warpgroups, so 3 and a group of 384 (theory 3.2)") {
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
  CHECK(plan.configuration.registers->allocated == 152);  // whole units of 8
}

TEST_CASE("Napkin on Hopper: 2 / 4.06 / 4 / 0.5 clocks, 6 in all, 1.32 PFLOP/s (theory 3.3)") {
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

TEST_CASE("Napkin on Hopper: 1.26 us of compute hide 0.97 us of transfer, and 295 rows would do (theory 3.3)") {
  const LoweringResult result = run("napkin_hopper");
  const BandwidthTest& test = *result.plans.at(0).bandwidth;
  CHECK(test.bytes_per_unit == 24576);
  CHECK(test.compute_seconds == doctest::Approx(1.26e-6).epsilon(2e-3));
  CHECK(test.transfer_seconds == doctest::Approx(0.968e-6).epsilon(1e-3));
  CHECK(test.transfer_seconds == doctest::Approx(132 * 24576 / 3.35e12).epsilon(1e-12));
  CHECK(test.least_rows == doctest::Approx(295.4).epsilon(1e-3));
}

TEST_CASE("Napkin on Hopper: divisors combine by their least common multiple (theory 3.1)") {
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

// FlashAttention-3 (arXiv 2407.08608) against the model, with softmax at 60 % of the exponential's rate: 4 clocks become
// 6.67 (theory 3.4). fp16 overlaps softmax with one of the two products of the same warpgroup; fp8 with both, of another.
TEST_CASE("FlashAttention-3's overlap takes 4/3 of the ideal time in fp16 and 5/3 in fp8") {
  Lowering lowering = load("napkin_hopper");
  const auto operation = [](const std::string& name, const std::string& on, double clocks) {
    return Operation{name, on, on == "tensor" ? Unit::flop : Unit::count, {{"", 240}}, 0, 240 / clocks, "theory 3.4"};
  };
  const auto relative = [&](double product, const Overlap& overlap) {
    lowering.operations = {operation("scores", "tensor", product), operation("softmax", "exp2", 4 / 0.6), operation("values", "tensor", product)};
    Plan plan = lowering.plans[0];
    plan.overlap = overlap;
    return pipeline(lowering, plan).bound_clocks / (2 * product);
  };
  CHECK(relative(4, {"phases", {{"scores"}, {"softmax", "values"}}}) == doctest::Approx(4.0 / 3).epsilon(1e-12));
  CHECK(relative(2, {"full", {}}) == doctest::Approx(5.0 / 3).epsilon(1e-12));
  CHECK(relative(4, {"full", {}}) == doctest::Approx(1).epsilon(1e-12));
  CHECK(relative(4, {"serial", {}}) == doctest::Approx((8 + 4 / 0.6) / 8).epsilon(1e-12));
  CHECK(1 / relative(4, {"phases", {{"scores"}, {"softmax", "values"}}}) == doctest::Approx(740.0 / 989).epsilon(5e-3));  // measured
  CHECK(1 / relative(2, {"full", {}}) == doctest::Approx(1.2 / 1.98).epsilon(2e-2));
}

// By hand, 32-bit registers a thread. 16 rows: S 16*64/32 = 32, O 16*128/32 = 64, Q of a step 16*16/2/32 = 4, V of a step
// 16*128/2/32 = 32 (K's 16 lie inside), maximum and sum of two rows 4: 136. 32 rows: 64 + 128 + 8 + 32 + 8 = 240.
// 16 rows with all of Q: 32 + 64 + 32 + 32 + 4 = 164, allocated 168. An SM has 65536 registers, a warp 32 threads.
TEST_CASE("FlashAttention-2 on the A100: 15 warps of 16 rows, 8 of 32, 12 of 16 with Q in registers") {
  const LoweringResult result = run("flash2_a100");
  const auto check = [&](std::size_t i, std::int64_t registers, std::int64_t allocated, std::int64_t warps, std::int64_t rows) {
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
  CHECK(level(result.plans[0], "smem").block_bytes == 2 * 64 * 128 * 2);
  CHECK(*level(result.plans[0], "smem").copies_max == doctest::Approx((163 - 32) / 4.0).epsilon(1e-12));
  CHECK(*level(result.plans[1], "smem").copies_max == doctest::Approx((163 - 32) / 8.0).epsilon(1e-12));
  CHECK(!level(result.plans[2], "smem").copies_max.has_value());
  CHECK(*level(result.plans[2], "register").copies_max == doctest::Approx(65536.0 / (32 * 164)).epsilon(1e-12));
  CHECK(pipe(result.plans[0], "tensor") == 4.0 * 64 * 128 / 2048);
  CHECK(pipe(result.plans[0], "fma") == (64 + 64 + 128) / 64.0);
}

TEST_CASE("FlashAttention-4 forward: two tiles of queries fill tensor memory; 1024 / 768 / 1024 clocks, twice that for two") {
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
    CHECK(level(plan, "smem").block_bytes + 2 * level(plan, "smem").copy_bytes == 224 * 1024);  // what the kernel asks for
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
  const double m = 128, n = 128, d = 128;  // the paper's section 3.2.1, in clocks
  CHECK(pipe(one, "smem") == (4 * m * d + 3 * n * d + m * n) / 64 + m * n / 64 + m * d / 16);
}

TEST_CASE("a product's operand reads equal a walk over its instructions") {
  Lowering lowering = load("flash4_b200_forward");
  lowering.operations.clear();
  std::mt19937 engine(20261121);
  const auto between = [&](std::int64_t least, std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(least, most)(engine); };
  for (int i = 0; i < 100; ++i) {
    const std::int64_t m = between(1, 500), n = between(1, 500), k = 16 * between(1, 20), tile_m = 64 * between(1, 2), tile_n = 16 * between(1, 8);
    const bool a_in_smem = between(0, 1) == 1;
    lowering.mma = {{"", tile_m}, {"", tile_n}, {"", 1}};
    lowering.matmuls = {{"product", {"", m}, {"", n}, {"", k}, {"A", a_in_smem ? "smem" : "tmem", 16}, {"B", "smem", 8}, 100, ""}};
    std::int64_t bytes = 0, flop = 0;
    for (std::int64_t row = 0; row < m; row += tile_m)
      for (std::int64_t column = 0; column < n; column += tile_n)
        for (std::int64_t step = 0; step < k; step += 16) {  // one instruction
          bytes += (a_in_smem ? tile_m * 16 * 2 : 0) + tile_n * 16;
          flop += 2 * tile_m * tile_n * 16;
        }
    const Throughput result = pipeline(lowering, lowering.plans[0]);
    CHECK(result.tensor_flop == flop);
    REQUIRE(result.pipes.size() == 2);
    CHECK(result.pipes[1].clocks * 128 == doctest::Approx(static_cast<double>(bytes)).epsilon(1e-12));
  }
}

TEST_CASE("N is what a loop that adds copies until one does not fit finds") {
  Lowering lowering = load("napkin_hopper");
  std::mt19937 engine(20261121);
  const auto between = [&](std::int64_t least, std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(least, most)(engine); };
  int none = 0, several = 0;
  for (int i = 0; i < 200; ++i) {
    lowering.variables.clear();
    std::int64_t block = 0, copy = 0;
    for (std::int64_t v = 0, count = between(1, 5); v < count; ++v) {
      const std::int64_t values = between(1, 20000), buffers = between(1, 3);
      const Scope scope = v == 0 ? Scope::warpgroup : static_cast<Scope>(between(0, 2));
      lowering.variables.push_back({fmt::format("v{}", v), "K", {{"", values}}, 8, "smem", scope, buffers, 0, "", {}, ""});
      (scope == Scope::block ? block : copy) += values * buffers * (scope == Scope::warp ? 4 : 1);
    }
    std::int64_t copies = 0;
    while (copies < 8 && block + (copies + 1) * copy <= 227 * 1024) ++copies;  // 1024 threads a block
    const PlanResult plan = evaluate(lowering).plans.at(0);
    CHECK(plan.configuration.copies == copies);
    CHECK(plan.problems.empty() == (copies > 0));
    (copies > 0 ? several : none) += 1;
  }
  CHECK(none > 5);
  CHECK(several > 50);
}

TEST_CASE("a plan that does not fit says which memory is too small, and has no bandwidth test") {
  Lowering lowering = load("napkin_hopper");
  lowering.plans[0].sizes["s_x"] = 1024;
  const PlanResult large = evaluate(lowering).plans.at(0);
  CHECK(large.problems == std::vector<std::string>{"786432 B a block and 49152 B a warpgroup do not fit the 232448 B of smem"});
  CHECK(!large.bandwidth.has_value());
  CHECK(large.configuration.group_rows == 0);
  lowering.plans[0].sizes = load("napkin_hopper").plans[0].sizes;
  lowering.plans[0].sizes["u_x"] = 192;
  const PlanResult spills = evaluate(lowering).plans.at(0);
  CHECK(spills.problems == std::vector<std::string>{"278 registers a thread, the limit is 255"});
}

TEST_CASE("a count beyond 2^63 is bad input, not a wrong number") {
  Lowering lowering = load("napkin_hopper");
  lowering.plans[0].sizes["d"] = std::int64_t{1} << 62;
  CHECK_THROWS_AS(evaluate(lowering), CountOverflow);
}

TEST_CASE("text and JSON print the same numbers") {
  const LoweringResult result = run("napkin_hopper");
  const Json json = to_json(result);
  CHECK(json["schema"] == "tilescope/lowering-result/1");
  CHECK(json["plans"][0]["configuration"]["group_rows"] == 384);
  CHECK(json["plans"][0]["configuration"]["levels"][0]["level"] == "smem");
  CHECK(json["plans"][0]["throughput"]["bound_clocks"] == 6.0);
  CHECK(json["plans"][0]["bandwidth"]["compute_bound"] == true);
  CHECK(json["plans"][0]["divisors"][3]["multiple"] == 128);
  const std::string text = to_text(result);
  for (const char* shown : {"74.75 KiB", "3.73", "3.42", "N = 3 warpgroups (limited by register), group of 384 rows", "1.32 PFLOP/s",
                            "compute 1.26 us, transfer 968 ns: compute bound", "bound: 6 clocks for 1 row, tensor (full overlap)"})
    CHECK_MESSAGE(text.find(shown) != std::string::npos, shown);
  const Json held = to_json(run("flash2_a100"))["plans"][2]["configuration"]["levels"][0];
  CHECK(held["copies_max"].is_null());
  CHECK(held["copies"].is_null());
}
