#include "simulate/simulation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kernel/code/summary/step_path.h"
#include "kernel/code/testdata/test_kernels.h"
#include "loopbounds/loop_bounds.h"
#include "simulate/timeline.h"

namespace simulation_test {

using namespace tilescope;

namespace {

HardwareProfile h200() { return load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml"); }

KernelSimulation simulated(const std::string& kernel, const SimulationChoices& choices) {
  return simulate_kernel(test_cubin(kernel).kernels.at(0), test_summary(kernel), h200(), choices);
}

}  // namespace

TEST_CASE("no simulated loop is faster than what its machine code keeps busy") {
  for (const std::string kernel : {"split_kv", "triton_forward"}) {
    const CodeSummary code = test_summary(kernel);
    const KernelBounds bounds = kernel_bounds(code, h200());
    for (const int resident : {1, 2, 3}) {
      const KernelSimulation simulation = simulated(kernel, {.resident = resident});
      REQUIRE(simulation.loops.size() == bounds.loops.size());
      for (std::size_t i = 0; i < bounds.loops.size(); ++i) {
        const double warps = resident * simulation.warps / 4.0;
        CHECK(simulation.loops[i].steady.clocks >= warps * bounds.loops[i].issue);
        for (const auto& [pipe, clocks] : bounds.loops[i].pipes)
          if (pipe != CodePipe::shared && pipe != CodePipe::shuffle)
            CHECK(simulation.loops[i].steady.clocks >= warps * clocks * 0.99);
      }
    }
  }
}

TEST_CASE("a meeting of a warp's threads takes its time: behind a branch over code, and less behind that code") {
  const SmMachine machine(h200());
  const auto stalls = [&](const std::vector<std::string>& opcodes) {
    std::vector<Instruction> way(opcodes.size());
    for (std::size_t i = 0; i < way.size(); ++i) way[i].opcode = opcodes[i], way[i].control.stall = 5;
    Ticks sum = 0;
    for (const SmOperation& op : machine.operations(way, 4)) sum += op.stall;
    return sum;
  };
  CHECK(stalls({"BSSY", "BRA", "FADD", "BSYNC"}) == ticks(20) + ticks(11.4));
  CHECK(stalls({"BSSY", "BRA", "BSYNC"}) == ticks(15 + 20));
}

TEST_CASE("blocks of an SM follow from registers, threads and shared memory") {
  const HardwareProfile hardware = h200();
  CubinKernel kernel;
  kernel.registers = 128;
  CHECK(resident_blocks(kernel, 128, 0, hardware) == 4);
  CHECK(resident_blocks(kernel, 128, 100 * 1024, hardware) == 2);
  kernel.registers = 32;
  CHECK(resident_blocks(kernel, 1024, 0, hardware) == 2);
  kernel.registers = 129;
  CHECK(resident_blocks(kernel, 128, 0, hardware) == 3);
}

TEST_CASE("choices that no launch can have are named with the limit and its number") {
  const HardwareProfile hardware = h200();
  CubinKernel kernel;
  kernel.registers = 128, kernel.most_threads = 128;
  const auto found = [&](const SimulationChoices& choices) {
    const auto choice = impossible_choice(kernel, hardware, choices);
    return choice ? choice->option + " " + choice->reason : std::string();
  };
  CHECK(found({}) == "");
  CHECK(found({.resident = 4}) == "");
  CHECK(found({.resident = 5}) ==
        "resident is 5, an SM of h200_sxm holds at most 4 blocks of 128 threads by its registers");
  CHECK(found({.threads = 1024}) == "block has 1024 threads, its launch bound is 128");
  CHECK(found({.dynamic_smem = 300 << 10})
            .find("dynamic-shared-bytes and 0 static bytes are 307200, a block on "
                  "h200_sxm has at most 232448 bytes") == 0);
  CHECK(found({.dynamic_smem = 100 << 10, .resident = 3}).find("by its shared memory") != std::string::npos);
  kernel.most_threads = 0;
  CHECK(found({.threads = 1024}).find("131072 in all; an SM of h200_sxm has 65536") != std::string::npos);
}

TEST_CASE("an address is passed where a simulated pass has its instruction") {
  const CodeSummary code = test_summary("split_kv");
  const KernelSimulation simulation = simulated("split_kv", {.resident = 1});
  const std::size_t first = simulation.loops.at(0).path.at(0);
  CHECK(passes_through(code, simulation, code.section.instructions[first].address));
  CHECK_FALSE(passes_through(code, simulation, 0x99999));
}

TEST_CASE("a pass goes where the copies are, and through addresses that the caller names") {
  std::vector<CodeSection> sections = read_listing(
      "\t.section\t.text.k,\"ax\",@progbits\n.L_1:\n/*0000*/ @P0 BRA `(.L_2) ;\n/*0010*/ LDGSTS.E.128 [R1], [R2.64] "
      ";\n.L_2:\n/*0020*/ @P1 BRA `(.L_3) ;\n/*0030*/ FADD R0, R0, R1 ;\n.L_3:\n/*0040*/ @P2 BRA `(.L_1) ;\n/*0050*/ "
      "EXIT ;\n",
      "k");
  const CodeSummary code = summarise(std::move(sections[0]), 32);
  CHECK(step_path(code, 0, {}) == std::vector<std::size_t>{0, 1, 2, 4});
  CHECK(step_path(code, 0, {0x30}) == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE(
    "a pass stores its results, though each store asks whether its row is there; stores to shared memory decide "
    "nothing") {
  const auto path = [](const std::string& store) {
    std::vector<CodeSection> sections =
        read_listing("\t.section\t.text.k,\"ax\",@progbits\n.L_1:\n/*0000*/ @P0 BRA `(.L_2) ;\n/*0010*/ " + store +
                         " ;\n.L_2:\n/*0020*/ @P2 BRA `(.L_1) ;\n/*0030*/ EXIT ;\n",
                     "k");
    return step_path(summarise(std::move(sections[0]), 32), 0, {});
  };
  CHECK(path("STG.E.128 [R2.64], R4") == std::vector<std::size_t>{0, 1, 2});
  CHECK(path("STS.128 [R2], R4") == std::vector<std::size_t>{0, 2});
}

TEST_CASE("each loop is run by the warps of its roles") {
  const KernelSimulation simulation = simulated("fused_wgmma", {.resident = 1});
  const auto products =
      std::max_element(simulation.loops.begin(), simulation.loops.end(), [](const auto& a, const auto& b) {
        return a.steady.busy[static_cast<std::size_t>(SmPart::tensor)] <
               b.steady.busy[static_cast<std::size_t>(SmPart::tensor)];
      });
  CHECK(products->warps == 8);
  CHECK(simulation.warps == 12);
  CHECK(products->steady.periodic);
}

TEST_CASE("a launch shares its blocks among the SMs, and runs what does not fit in further rounds") {
  const auto round = [](int blocks) { return 100.0 + 10 * blocks; };
  CHECK(launch_clocks(4, 4, 2, 5, round) == doctest::Approx(4 * 110));
  CHECK(launch_clocks(5, 4, 2, 5, round) == doctest::Approx(3 * 110 + 120));
  CHECK(launch_clocks(12, 4, 2, 5, round) == doctest::Approx(4 * (120 + 5 + 110)));
  CHECK(launch_clocks(2, 4, 2, 5, round) == doctest::Approx(2 * 110));
}

TEST_CASE("a block takes its start, its passes and its end; copies from memory hold it longer than from the L2") {
  const auto clocks = [](std::int64_t passes, CopySource source) {
    return simulated("split_kv", {.resident = 1, .copies_from = source, .passes = passes}).loops.at(0).block_clocks;
  };
  const double few = clocks(8, CopySource::l2), more = clocks(16, CopySource::l2), many = clocks(400, CopySource::l2);
  CHECK(more > few);
  CHECK(many == doctest::Approx(more + (more - few) / 8 * 384).epsilon(0.02));
  CHECK(clocks(8, CopySource::hbm) > few);
}

TEST_CASE("a kernel whose block has no size is refused with the reason") {
  CubinKernel kernel = test_cubin("split_kv").kernels.at(0);
  kernel.most_threads = 0;
  CHECK(simulate_kernel(kernel, test_summary("split_kv"), h200(), {}).refused.find("--block") != std::string::npos);
  HardwareProfile less = h200();
  less.measured->smem.cp_async.reset();
  CHECK_THROWS_AS(simulate_kernel(kernel, test_summary("split_kv"), less, {.threads = 128}), InputError);
}

TEST_CASE("a timeline's pipes do one thing at a time, and its warps do not wait before they are ready") {
  const KernelSimulation simulation = simulated("triton_forward", {.resident = 2, .event_passes = 2});
  const auto most = std::max_element(simulation.loops.begin(), simulation.loops.end(),
                                     [](const auto& a, const auto& b) { return a.path.size() < b.path.size(); });
  const auto trace = nlohmann::json::parse(timeline_json("k", test_summary("triton_forward"), simulation, *most));
  CHECK(trace["schema"] == "tilescope/timeline/1");
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
  std::size_t copies = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "b" || event["ph"] == "e") ++copies;
    if (event["ph"] != "X") continue;
    CHECK(event["dur"].get<double>() > 0);
    tracks[{event["pid"], event["tid"]}].emplace_back(event["ts"].get<double>(), event["dur"].get<double>());
  }
  CHECK(copies > 0);
  CHECK(copies % 2 == 0);
  CHECK(tracks.size() > 12);
  for (auto& [track, slices] : tracks) {
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i)
      CHECK(slices[i].first >= slices[i - 1].first + slices[i - 1].second - 1e-6);
  }
}

}  // namespace simulation_test
