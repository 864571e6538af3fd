#include "loopbounds/loop_bounds.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "kernel/code/testdata/test_kernels.h"

namespace loop_bounds_test {

using namespace tilescope;

namespace {

const std::string profiles = std::string(TILESCOPE_SOURCE_DIR) + "/hardware/";

const HardwareProfile& h200() {
  static const HardwareProfile profile = load_profile(profiles + "h200_sxm.yaml");
  return profile;
}

double pipe(const LoopBound& bound, CodePipe which) {
  const auto found = bound.pipes.find(which);
  return found == bound.pipes.end() ? 0 : found->second;
}

// A loop of `body` and a branch; the instructions have these issue fields.
LoopBound bound_of(const std::string& body, const std::vector<IssueControl>& controls) {
  std::vector<CodeSection> sections = read_listing(
      "\t.section\t.text.k,\"ax\",@progbits\n.L_1:\n" + body + "/*0030*/ @P0 BRA `(.L_1) ;\n/*0040*/ EXIT ;\n", "k");
  for (std::size_t i = 0; i < controls.size(); ++i) sections[0].instructions[i].control = controls[i];
  const KernelBounds bounds = kernel_bounds(summarise(std::move(sections[0]), 128), h200());
  REQUIRE(bounds.loops.size() == 1);
  return bounds.loops[0];
}

}  // namespace

TEST_CASE("no loop is faster alone than its issue slots and each of its pipes") {
  int loops = 0;
  for (const std::string& kernel : test_kernels)
    for (const LoopBound& bound : kernel_bounds(test_summary(kernel), h200()).loops) {
      ++loops;
      CHECK(bound.alone >= bound.issue - 1e-6);
      for (const auto& [which, clocks] : bound.pipes) CHECK(bound.alone >= clocks - 1e-6);
      CHECK(bound.banks >= bound.issue);
      double issued = -1;
      for (const TimedInstruction& each : bound.instructions) {
        CHECK(each.issued > issued);
        CHECK(each.waited >= 0);
        CHECK((each.waited == 0) == each.reason.empty());
        issued = each.issued;
      }
    }
  CHECK(loops >= 5);
}

TEST_CASE("pipes are busy for the counts of the tile over the measured rates") {
  const MeasuredRates& rates = *h200().measured;
  const CodeSummary code = test_summary("fused_wgmma");
  const KernelBounds bounds = kernel_bounds(code, h200());
  const auto main = std::max_element(
      bounds.loops.begin(), bounds.loops.end(),
      [](const LoopBound& a, const LoopBound& b) { return pipe(a, CodePipe::tensor) < pipe(b, CodePipe::tensor); });
  // A warpgroup: 8 products with A from shared memory, 8 with A from registers, of n = 128; 64 scores a thread and the
  // scales of two rows.
  const double tensor = 8 * rates.tensor.wgmma_smem.at(Format::fp16).at(128).value +
                        8 * rates.tensor.wgmma_register.at(Format::fp16).at(128).value;
  CHECK(pipe(*main, CodePipe::tensor) == doctest::Approx(tensor));
  CHECK(pipe(*main, CodePipe::xu) == doctest::Approx((64 + 2) * 128 / rates.pipes.ex2->value));
  CHECK(main->busiest == "tensor");
  CHECK(bounds.missing.empty());
}

TEST_CASE("the integer pipe does what the counter of its instructions says") {
  const double clocks = 32 * 4 / h200().measured->pipes.prmt->value;
  const std::string rest = " ;\n/*0010*/ NOP ;\n/*0020*/ NOP ;\n";
  for (const std::string on_it :
       {"MOV R1, R2", "R2UR UR4, R2", "CS2R R2, SR_CLOCKLO", "VOTE.ANY P0, !P0", "SHF.L.U32 R1, R2, 0x1, RZ",
        "IADD3 R1, R2, R3, RZ", "SEL R1, R2, R3, P1", "PRMT R1, R2, 0x5410, R3"}) {
    CAPTURE(on_it);
    CHECK(pipe(bound_of("/*0000*/ " + on_it + rest, {}), CodePipe::alu) == doctest::Approx(clocks).epsilon(0.01));
  }
  for (const std::string other : {"UMOV UR4, 0x1", "VOTEU.ALL UP0, P2", "S2R R1, SR_TID.X", "FMUL R1, R2, R3"}) {
    CAPTURE(other);
    CHECK(pipe(bound_of("/*0000*/ " + other + rest, {}), CodePipe::alu) == 0);
  }
}

TEST_CASE("a chain through scoreboards takes the measured latency of each link") {
  const MeasuredRates& rates = *h200().measured;
  const IssueControl sets{.stall = 1, .yield = false, .result_scoreboard = 0, .wait_mask = 1}, plain{.stall = 5};
  const LoopBound chain =
      bound_of("/*0000*/ MUFU.EX2 R0, R0 ;\n/*0010*/ SHFL.BFLY PT, R0, R0, 0x1, 0x1f ;\n/*0020*/ NOP ;\n",
               {sets, sets, plain, plain});
  CHECK(chain.alone == doctest::Approx(rates.chains.ex2->value + rates.chains.shuffle->value));
  CHECK(chain.instructions[1].waits_for == 0);
  CHECK(chain.instructions[1].reason == "scoreboard 0");
  const LoopBound stalls = bound_of("/*0000*/ FFMA R0, R0, R1, R2 ;\n/*0010*/ FFMA R0, R0, R1, R2 ;\n/*0020*/ NOP ;\n",
                                    {plain, plain, plain, plain});
  CHECK(stalls.alone == doctest::Approx(4 * 5));
  CHECK(stalls.busiest == "issue");
}

TEST_CASE("a profile without measured rates is refused; a missing rate is named and lowers the bound") {
  const CodeSummary code = test_summary("split_kv");
  CHECK_THROWS_AS(kernel_bounds(code, load_profile(profiles + "v100_sxm2.yaml")), InputError);
  HardwareProfile less = h200();
  less.measured->pipes.ex2.reset();
  const KernelBounds bounds = kernel_bounds(code, less);
  CHECK(bounds.missing.count("pipes.ex2") == 1);
  CHECK(pipe(bounds.loops[0], CodePipe::xu) < pipe(kernel_bounds(code, h200()).loops[0], CodePipe::xu));
}

}  // namespace loop_bounds_test
