// How blocks and warpgroups of a simulated SM lie beside each other in time, and what they keep in local memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/test_seed.h"
#include "hardware/derived.h"
#include "simulate/sm/sm.h"
#include "simulate/step_programs.h"

namespace blocks_test {

using namespace tilescope;

namespace {

const std::filesystem::path root = TILESCOPE_SOURCE_DIR;

SmLimits limits_without_copies() {
  return {.barrier_slot = ticks(2), .barrier_latency = ticks(13), .shared_bytes_a_clock = 128, .queue = 8};
}

// An operation that keeps nothing busy for long, and the rest of a pass of so many clocks.
std::vector<SmOperation> mostly_waiting(double pass) {
  return {{.part = SmPart::fma, .stall = ticks(1), .busy = ticks(1)}, {.stall = ticks(pass - 1)}};
}

// By block or warpgroup: the clock of the pass at which its first warp issues its first operation.
std::vector<double> phases(const SmProgram& program, int blocks, int warps, double pass) {
  std::map<int, double> first;
  for (const SmEvent& event : simulate_steady(program, limits_without_copies(), blocks, 4).events)
    if (event.operation == 0 && event.warp % warps == 0)
      first.try_emplace(event.warp / warps, static_cast<double>(event.issued % ticks(pass)) / ticks_a_clock);
  std::vector<double> all;
  for (const auto& [group, clock] : first) all.push_back(clock);
  return all;
}

// Distances between neighbours on the circle of a pass.
std::vector<double> gaps(std::vector<double> at, double pass) {
  std::sort(at.begin(), at.end());
  std::vector<double> between;
  for (std::size_t i = 0; i < at.size(); ++i)
    between.push_back(i + 1 < at.size() ? at[i + 1] - at[i] : at.front() + pass - at.back());
  return between;
}

HardwareProfile h200_profile() { return load_profile((root / "hardware/h200_sxm.yaml").string()); }

double clocks_of(const std::string& lines, int local_missed = 0, int warps = 1) {
  return StepPrograms("step", "step\n" + lines)
      .clocks(
          {.symbol = "f", .warps = warps, .resident = 1, .copies_from = CopySource::l2, .local_missed = local_missed},
          h200_profile());
}

std::string repeated(const std::string& line, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += line + "\n";
  return all;
}

}  // namespace

TEST_CASE("blocks are spread evenly over the pass of one that is alone") {
  constexpr double pass = 240;
  for (const int blocks : {1, 2, 3, 4}) {
    const std::vector<double> at = phases({mostly_waiting(pass), 8}, blocks, 8, pass);
    REQUIRE(static_cast<int>(at.size()) == blocks);
    for (const double gap : gaps(at, pass)) CHECK(gap == doctest::Approx(pass / blocks).epsilon(0.02));
  }
}

TEST_CASE("warpgroups of asynchronous products are spread like blocks, unless a barrier holds them together") {
  constexpr double pass = 240;
  std::vector<SmOperation> code = mostly_waiting(pass);
  code.insert(code.begin() + 1, {.part = SmPart::tensor, .effect = SmEffect::product, .count = 1, .busy = ticks(8)});
  code.back().stall = ticks(pass - 2);
  for (const double gap : gaps(phases({code, 12}, 1, 4, pass), pass)) CHECK(gap == doctest::Approx(80).epsilon(0.03));
  SmOperation barrier{.effect = SmEffect::barrier_sync, .count = 12};
  code.push_back(barrier);
  const std::vector<double> at = phases({code, 12}, 1, 4, pass + 100);
  CHECK(*std::max_element(at.begin(), at.end()) - *std::min_element(at.begin(), at.end()) <=
        10);  // one arrives after the other
}

TEST_CASE("a block's clocks count from its own start") {
  const SmProgram program{mostly_waiting(240), 4};
  const double alone = simulate_blocks(program, {}, limits_without_copies(), 1, 6);
  CHECK(alone == doctest::Approx(5 * 240).epsilon(0.01));  // and the first operation of the last pass
  for (const int blocks : {2, 4}) CHECK(simulate_blocks(program, {}, limits_without_copies(), blocks, 6) == alone);
}

TEST_CASE(
    "stores to local memory leave at the rate of an SM; loads wait for the L1, or for the L2 where it lacks them") {
  const HardwareProfile hardware = h200_profile();
  const auto& local = hardware.measured->local;
  const double leaving = 128 / local.store->value;  // clocks of a word of each thread of a warp
  for (const int warps : {4, 8})
    CHECK(clocks_of(repeated("1 7 7 0 0 STL [R1], R2", 30), 0, warps) ==
          doctest::Approx(30 * warps * leaving).epsilon(0.02));
  CHECK(clocks_of(repeated("1 7 7 0 0 STL.128 [R1], R4", 30), 0, 4) ==
        doctest::Approx(30 * 4 * 4 * leaving).epsilon(0.02));
  const std::string chain = repeated("1 0 7 1 0 LDL R2, [R1]", 10);
  const double hits = clocks_of(chain), misses = clocks_of(chain, 100);
  CHECK(hits == doctest::Approx(10 * local.latency_l1->value).epsilon(0.03));
  CHECK(misses == doctest::Approx(10 * local.latency->value).epsilon(0.03));
  CHECK(clocks_of(chain, 50) == doctest::Approx((hits + misses) / 2).epsilon(0.02));
}

TEST_CASE(
    "results that a step stores leave at the rate of an SM; loads wait for the L2, but for those of constant data") {
  const HardwareProfile hardware = h200_profile();
  const MeasuredRates& rates = *hardware.measured;
  const double leaving = 128 / rates.local.store->value;
  for (const int warps : {4, 8})
    CHECK(clocks_of(repeated("1 7 7 0 0 STG.E [R2.64], R4", 30), 0, warps) ==
          doctest::Approx(30 * warps * leaving).epsilon(0.02));
  CHECK(clocks_of(repeated("1 7 7 0 0 STG.E.128 [R2.64], R4", 30), 0, 4) ==
        doctest::Approx(30 * 4 * 4 * leaving).epsilon(0.02));
  const double l2 = (rates.l2.latency_near->value + rates.l2.latency_far->value) / 2;
  CHECK(clocks_of(repeated("1 0 7 1 0 LDG.E.STRONG.GPU R2, [R4.64]", 10)) == doctest::Approx(10 * l2).epsilon(0.03));
  CHECK(clocks_of(repeated("1 0 7 1 0 LDG.E R2, [R4.64]", 10)) == doctest::Approx(10 * l2).epsilon(0.03));
  CHECK(clocks_of(repeated("1 0 7 1 0 LDG.E.CONSTANT R2, [R4.64]", 10)) ==
        doctest::Approx(10 * rates.local.latency_l1->value).epsilon(0.03));
  // They share the way into the SM; its queue fills during the first of the passes that count.
  for (const int warps : {4, 8})
    CHECK(clocks_of(repeated("1 0 7 0 0 LDG.E.128 R4, [R2.64]", 60) + "1 7 7 1 0 IADD3 R2, R4, R2, RZ\n", 0, warps) ==
          doctest::Approx(60 * warps * 512 / rates.l2.read_one_unit->value).epsilon(0.035));
}

TEST_CASE("a load to registers from memory takes as much longer as a copy does; other code takes as long as before") {
  const HardwareProfile profile = h200_profile();
  const MeasuredRates& rates = *profile.measured;
  const auto longer = [&](const std::string& lines) {
    const StepPrograms programs("step", "step\n" + lines);
    StepQuestion question{.symbol = "f", .warps = 1, .resident = 1, .copies_from = CopySource::l2};
    const double near = programs.clocks(question, profile);
    question.loads_from = CopySource::hbm;
    return programs.clocks(question, profile) - near;
  };
  const double each = (rates.tma.latency_hbm->value - rates.tma.latency_l2->value) * rates.clock.tensor_most->value;
  for (const int loads : {1, 3, 10})
    CHECK(longer(repeated("1 0 7 1 0 LDG.E R2, [R4.64]", loads)) == doctest::Approx(loads * each).epsilon(0.01));
  CHECK(longer(repeated("1 0 7 0 0 LDG.E R2, [R4.64]", 10) + "1 7 7 1 0 IADD3 R2, R4, R2, RZ\n") ==
        doctest::Approx(each).epsilon(0.01));  // all of them at once
  for (const char* other :
       {"1 0 7 1 0 LDG.E.CONSTANT R2, [R4.64]", "1 0 7 1 0 LDS R2, [R4]", "2 7 7 0 0 FADD R2, R4, R6"})
    CHECK(longer(repeated(other, 10)) == 0);
}

TEST_CASE("what a warp reads of itself takes its time") {
  CHECK(clocks_of(repeated("1 0 7 1 0 S2R R2, SR_TID.X", 10)) == doctest::Approx(10 * 29).epsilon(0.04));
}

TEST_CASE(
    "code runs on any NVIDIA GPU, with rules for the rates that its profile lacks; fewer matrix units take longer") {
  ProfileCatalogue catalogue(root / "hardware");
  const std::string product = "4 7 7 0 0 HMMA.16816.F32 R4, R8, R12, R4",
                    text = "step\n" + repeated(product, 40) + repeated("1 7 7 0 0 LDSM.16.M88.4 R8, [R2]", 8) +
                           repeated("2 7 7 0 0 MUFU.EX2 R2, R2", 8) +
                           repeated("1 7 7 0 0 LDGSTS.E.BYPASS.128 [R2], [R4.64]", 2) +
                           repeated("2 7 7 0 0 F2FP.F16.F32.PACK_AB R2, R3, R4", 8);
  std::map<std::string, double> clocks;
  for (const HardwareProfile& profile : list_profiles(root / "hardware")) {
    if (profile.vendor != "NVIDIA" || profile.compute_capability < "8") continue;
    const HardwareProfile hardware = catalogue.find(profile.id);
    for (const CopySource source : {CopySource::l2, CopySource::hbm}) {
      const SmMachine machine(hardware, source);
      CHECK(machine.limits().copy_latency > 0);
      CHECK(machine.limits().barrier_latency > 0);
    }
    const StepPrograms program("step", text);
    clocks[profile.id] = program.clocks({.symbol = "f", .warps = 4, .resident = 2}, hardware);
    CHECK_MESSAGE(program.listed({.symbol = "f", .warps = 4, .resident = 2}, hardware, 0).simulation.missing.empty(),
                  profile.id);
  }
  CHECK(clocks.size() >= 15);
  CHECK(clocks["h20"] > 1.5 * clocks["h100_sxm"]);
  CHECK(clocks["l40s"] > 1.5 * clocks["a100_sxm_80"]);
}

}  // namespace blocks_test
