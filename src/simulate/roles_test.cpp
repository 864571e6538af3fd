// Warps of two roles that wait for each other at mbarriers.
#include "simulate/roles.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <string>

#include "base/error.h"
#include "base/test_seed.h"
#include "simulate/step_text.h"

namespace roles_test {

using namespace tilescope;

namespace {

SmMachine machine() { return SmMachine(load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml")); }

// A pass that waits for one mbarrier, goes through additions that depend on each other, and arrives at another one.
std::string pass_of(const std::string& waits, int additions, const std::string& arrives) {
  std::string text = fmt::format("1 0 7 0 0 SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4+{}], R2\n", waits);
  text += "4 7 7 1 0 @!P0 BRA `(.L_x_1)\n";
  for (int i = 0; i < additions; ++i) text += "4 7 7 0 0 FADD R4, R4, R5\n";
  text += fmt::format("2 7 7 0 0 @!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R16+URZ+{}], RZ\n", arrives);
  return text + "5 7 7 0 0 @P2 BRA `(.L_x_2)\n";
}

struct Case {
  int warps = 0, additions = 0;
  double clocks = 0;  // of a pass that waits for nobody
};

Case drawn(std::mt19937& random, int most_warps) {
  Case one{std::uniform_int_distribution(1, most_warps)(random), std::uniform_int_distribution(1, 120)(random)};
  const SmMachine sm = machine();
  SmProgram alone{step_text::operations_of(sm, pass_of("0x40", one.additions, "0x48"), one.warps), one.warps};
  one.clocks = simulate_steady(alone, sm.limits(), 1, -1).clocks;
  return one;
}

std::string program_text(const Case& own, const Case& other, int stages) {
  return "step\n" + pass_of("0x40", own.additions, "0x48") + fmt::format("beside {} {}\n", other.warps, stages) +
         pass_of("0x48", other.additions, "0x40");
}

}  // namespace

TEST_CASE("of two roles the slower one sets the pace; with one stage they take turns") {
  std::mt19937 random(test_seed());
  const SmMachine sm = machine();
  for (int i = 0; i < 60; ++i) {
    const Case own = drawn(random, 8), other = drawn(random, 3);
    const int stages = std::uniform_int_distribution(1, 4)(random);
    const std::string sizes = fmt::format("{} warps {}, {} warps {}, {} stages", own.warps, own.additions, other.warps,
                                          other.additions, stages);
    CAPTURE(sizes);
    const std::string text = program_text(own, other, stages);
    const StepProgram program = step_text::read(text, "roles", "roles");
    REQUIRE(program.beside_warps == other.warps);
    REQUIRE(program.beside_stages == stages);
    SmProgram steps{step_text::operations(sm, program, program.step, own.warps), own.warps};
    steps.beside = {step_text::operations(sm, program, program.beside, other.warps), other.warps, stages};
    connect_roles(program.step, program.beside, steps);
    REQUIRE(steps.beside.arrivals == std::vector<int>{own.warps, other.warps});
    const SmSteady both = simulate_steady(steps, sm.limits(), 1, -1);
    const double slower = std::max(own.clocks, other.clocks), sum = own.clocks + other.clocks;
    CHECK(both.clocks > slower * 0.98);
    // Schedulers are shared, and a release takes as long as the profile says.
    CHECK(both.clocks < (stages == 1 ? sum : slower) * 1.05 + 80);
    if (stages == 1) CHECK(both.clocks > sum * 0.7);
    // Without mbarriers in common each goes at its own pace.
    SmProgram apart{step_text::operations(sm, program, program.step, own.warps), own.warps};
    apart.beside = {step_text::operations(sm, program, program.beside, other.warps), other.warps, stages};
    const SmSteady free = simulate_steady(apart, sm.limits(), 1, -1);
    CHECK(free.clocks == doctest::Approx(own.clocks).epsilon(0.15));
    CHECK(free.beside_clocks == doctest::Approx(other.clocks).epsilon(0.2));
  }
}

TEST_CASE("a role that goes round for ever while the other one waits ends in a message") {
  SmOperation wait, nothing;
  wait.effect = SmEffect::phase_wait;
  SmProgram steps{{wait, nothing}, 4};
  steps.beside = {{nothing, nothing}, 1, 2, {1}};
  CHECK_THROWS_AS(simulate_steady(steps, machine().limits(), 1, -1), InputError);
  steps.beside = {{wait, nothing}, 1, 1, {1}};  // nobody arrives
  CHECK_THROWS_AS(simulate_steady(steps, machine().limits(), 1, -1), InputError);
}

TEST_CASE("counting what passes and keeping events changes no clock of two roles") {
  std::mt19937 random(test_seed());
  const SmMachine sm = machine();
  const Case own = drawn(random, 8), other = drawn(random, 3);
  const std::string text = program_text(own, other, 2);
  const StepProgram program = step_text::read(text, "roles", "roles");
  SmProgram steps{step_text::operations(sm, program, program.step, own.warps), own.warps};
  steps.beside = {step_text::operations(sm, program, program.beside, other.warps), other.warps, 2};
  connect_roles(program.step, program.beside, steps);
  const SmSteady counted = simulate_steady(steps, sm.limits(), 1, 2);
  CHECK(counted.clocks == doctest::Approx(simulate_steady(steps, sm.limits(), 1, -1).clocks).epsilon(0.01));
  for (const SmEvent& event : counted.events) CHECK(event.operation < program.step.size());
}

TEST_CASE("roles are connected only where code tells which arrival a wait is for") {
  const SmMachine sm = machine();
  const auto connected = [&](const std::string& own, const std::string& other) {
    const std::string text = "step\n" + own + "beside 1 2\n" + other;
    const StepProgram program = step_text::read(text, "roles", "roles");
    SmProgram steps{step_text::operations(sm, program, program.step, 4), 4};
    steps.beside = {step_text::operations(sm, program, program.beside, 1), 1, 2};
    connect_roles(program.step, program.beside, steps);
    return steps.beside.arrivals.size();
  };
  CHECK(connected(pass_of("0x40", 1, "0x48"), pass_of("0x48", 1, "0x40")) == 2);
  CHECK(connected(pass_of("0x40", 1, "0x48"), pass_of("0x50", 1, "0x40")) == 1);
  CHECK(connected(pass_of("0x40", 1, "0x48"), pass_of("0x50", 1, "0x58")) == 0);
  CHECK(connected(pass_of("0x40", 1, "0x48") + pass_of("0x40", 1, "0x50"), pass_of("0x48", 1, "0x40")) == 1);
}

TEST_CASE("a section of another role names its warps and stages, or is refused") {
  const std::string end = "\n4 7 7 0 0 FADD R4, R4, R5\n";
  const auto read = [&](const std::string& name) { return step_text::read(name + end, "roles", "roles"); };
  CHECK(read("beside 3 2").beside.size() == 1);
  for (const std::string name : {"beside", "beside 3", "beside 0 2", "beside 3 0", "beside 33 2", "beside 3 2 1",
                                 "beside x 2", "beside 3 999999999999", "beside -1 2", "step 3 2"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(read(name), InputError);
  }
}

}  // namespace roles_test
