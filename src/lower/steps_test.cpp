// Compares the steps of a lowering with a count by hand or by a walk, and tests plans that do not fit.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "base/checked.h"
#include "base/text.h"
#include "lower/lookup.h"

namespace steps_test {

using namespace tilescope;
using namespace tilescope::lower;

TEST_CASE("a product's operand reads equal a walk over its instructions") {
  Lowering lowering = load("flash4_b200_forward");
  lowering.operations.clear();
  std::mt19937 engine(20261121);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  for (int i = 0; i < 100; ++i) {
    const std::int64_t m = between(1, 500), n = between(1, 500), k = 16 * between(1, 20), tile_m = 64 * between(1, 2),
                       tile_n = 16 * between(1, 8);
    const bool a_in_smem = between(0, 1) == 1;
    lowering.mma = {{"", tile_m}, {"", tile_n}, {"", 1}};
    lowering.matmuls = {{"product",
                         {"", m},
                         {"", n},
                         {"", k},
                         {"A", a_in_smem ? LevelId::smem : LevelId::tmem, 16},
                         {"B", LevelId::smem, 8},
                         100,
                         ""}};
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

TEST_CASE("N equals the result of a loop that adds copies until one does not fit") {
  Lowering lowering = load("napkin_hopper");
  std::mt19937 engine(20261121);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  int none = 0, several = 0;
  for (int i = 0; i < 200; ++i) {
    lowering.variables.clear();
    std::int64_t block = 0, copy = 0;
    for (std::int64_t v = 0, count = between(1, 5); v < count; ++v) {
      const std::int64_t values = between(1, 20000), buffers = between(1, 3);
      const Scope scope = v == 0 ? Scope::warpgroup : static_cast<Scope>(between(0, 2));
      lowering.variables.push_back(
          {fmt::format("v{}", v), "K", {{"", values}}, 8, LevelId::smem, scope, buffers, 0, "", {}, ""});
      (scope == Scope::block ? block : copy) += values * buffers * (scope == Scope::warp ? 4 : 1);
    }
    std::int64_t copies = 0;
    while (copies < 8 && block + (copies + 1) * copy <= 227 * 1024) ++copies;  // 1024 threads per block
    const PlanResult plan = evaluate(lowering).plans.at(0);
    CHECK(plan.configuration.copies == copies);
    CHECK(plan.problems.empty() == (copies > 0));
    (copies > 0 ? several : none) += 1;
  }
  CHECK(none > 5);
  CHECK(several > 50);
}

TEST_CASE(
    "threads limit small copies: four blocks of 512 in the 2048 of an SM, eight warpgroups in the 1024 of a block") {
  for (const auto& [name, limit] : {std::pair{"flash4_b200_backward", 4}, std::pair{"napkin_hopper", 8}}) {
    Lowering lowering = load(name);
    lowering.variables = {{"v", "K", {{"", 16}}, 8, LevelId::smem, lowering.copies.scope, 1, 0, "", {}, ""}};
    const Configuration configuration = configure(lowering, lowering.plans[0]);
    CHECK(configuration.copies == limit);
    CHECK(configuration.limited_by == "threads");
  }
}

TEST_CASE("storage that variables share is as large as the largest of them") {
  Lowering lowering = load("napkin_hopper");
  const auto variable = [](const std::string& name, std::int64_t bytes, const std::string& shares) {
    return Variable{name, "K", {{"", bytes}}, 8, LevelId::smem, Scope::warpgroup, 1, 0, shares, {}, ""};
  };
  lowering.variables = {variable("owner", 100, ""), variable("small", 7, "owner"), variable("large", 300, "owner"),
                        variable("alone", 20, "")};
  const Configuration configuration = configure(lowering, lowering.plans[0]);
  CHECK(configuration.levels.at(0).copy_bytes == 320);
  CHECK(configuration.variables.at(0).stored_bytes == 300);
  CHECK(configuration.variables.at(2).stored_bytes == 0);
}

TEST_CASE("a plan that does not fit names the memory that is too small, and has no bandwidth test") {
  Lowering lowering = load("napkin_hopper");
  lowering.plans[0].sizes["s_x"] = 1024;
  const PlanResult large = evaluate(lowering).plans.at(0);
  CHECK(large.problems ==
        std::vector<std::string>{"786432 B a block and 49152 B a warpgroup do not fit the 232448 B of smem"});
  CHECK(!large.bandwidth.has_value());
  CHECK(large.configuration.group_rows == 0);
  lowering.plans[0].sizes = load("napkin_hopper").plans[0].sizes;
  lowering.plans[0].sizes["u_x"] = 192;
  const PlanResult spills = evaluate(lowering).plans.at(0);
  CHECK(spills.problems == std::vector<std::string>{"278 registers a thread, the limit is 255"});
}

TEST_CASE("a count beyond 2^63 is an input error") {
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
  std::string text;
  for (const PageSection& section : sections_of(result)) {
    for (const std::string& paragraph : section.paragraphs) text += paragraph + "\n";
    for (const PageTable& table : section.tables)
      for (const auto& row : table.rows) text += join(row, " ") + "\n";
  }
  for (const char* shown :
       {"74.75 KiB", "3.73", "3.42", "N = 3 warpgroups (limited by register), group of 384 rows", "1.32 PFLOP/s",
        "compute 1.26 us, transfer 968 ns: compute bound", "bound: 6 clocks for 1 row, tensor (full overlap)"})
    CHECK_MESSAGE(text.find(shown) != std::string::npos, shown);
  const Json held = to_json(run("flash2_a100"))["plans"][2]["configuration"]["levels"][0];
  CHECK(held["copies_max"].is_null());
  CHECK(held["copies"].is_null());
}

}  // namespace steps_test
