// Loads of shared memory beside a warpgroup's own products, and stores that products may read, beside microbenchmarks
// (validate/tools/sm_rules/loads_beside.cu and stored.cu).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "simulate/sm/sm.h"
#include "simulate/step_programs.h"
#include "simulate/step_text.h"

namespace beside_products_test {

using namespace tilescope;

namespace {

std::ifstream printed(const std::string& name, const std::string& gpu) {
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/tools/sm_rules/" + name + "_" + gpu + ".txt");
  REQUIRE(file);
  return file;
}

// Instructions as nvcc places them: a load, a product, the other loads, what waits for them, the other products.
std::string pass_of_loads(bool registers, int columns, int products, int bytes, int loads) {
  const auto product = [&](int i) {
    return fmt::format("4 7 7 0 1 HGMMA.64x{}x16.F32 R24, {}gdesc[UR4], R24{}\n", columns, registers ? "R88, " : "",
                       i + 1 == products ? ", gsb0" : "");
  };
  const std::string load = fmt::format("1 0 7 0 0 LDS{} R2, [R11]\n", bytes == 4 ? "" : bytes == 8 ? ".64" : ".128");
  std::string text = "1 7 7 0 0 WARPGROUP.ARRIVE\n";
  if (loads > 0) text += load;
  text += product(0);
  for (int i = 1; i < loads; ++i) text += load;
  if (loads > 0) text += "5 7 7 1 1 LOP3.LUT R10, R5, R3, R10, 0x96, !PT\n";
  for (int i = 1; i < products; ++i) text += product(i);
  return text + "1 7 7 0 0 WARPGROUP.DEPBAR.LE gsb0, 0x0\n5 7 7 0 1 @P0 BRA `(.L_x_1)\n";
}

}  // namespace

TEST_CASE("loads of shared memory wait while products take it: one and two warpgroups, an H100 and an H200") {
  for (const std::string gpu : {"h100", "h200"}) {
    CAPTURE(gpu);
    const SmMachine machine(find_profile(gpu + "_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware"));
    std::ifstream file = printed("loads_beside", gpu);
    int compared = 0;
    double sum = 0;
    for (std::string line; std::getline(file, line);) {
      char from = 0;
      int columns = 0, products = 0, bytes = 0, loads = 0, groups = 0;
      double measured = 0;
      if (std::sscanf(line.c_str(), "%cs n%d x%d, %d bytes x%d, %d warpgroups: %lf", &from, &columns, &products, &bytes,
                      &loads, &groups, &measured) != 7)
        continue;
      CAPTURE(line);
      const int warps = 4 * groups;
      const SmProgram program{
          step_text::operations_of(machine, pass_of_loads(from == 'r', columns, products, bytes, loads), warps), warps};
      const double error = simulate_steady(program, machine.limits(), 1, -1).clocks / measured - 1;
      CHECK(std::abs(error) < 0.15);
      sum += std::abs(error), ++compared;
    }
    REQUIRE(compared == 120);
    CHECK(sum / compared < 0.04);
  }
}

TEST_CASE("a fence waits until a warp's stores to shared memory are there") {
  for (const std::string gpu : {"h100", "h200"}) {
    CAPTURE(gpu);
    const SmMachine machine(find_profile(gpu + "_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware"));
    std::ifstream file = printed("stored", gpu);
    int compared = 0;
    for (std::string line; std::getline(file, line);) {
      int stores = 0, warps = 0;
      double issued = 0, measured = 0;
      if (std::sscanf(line.c_str(), "stores %d, %d warps: %lf %lf", &stores, &warps, &issued, &measured) != 4) continue;
      CAPTURE(line);
      std::string text;
      for (int i = 0; i < stores; ++i) text += "4 7 1 0 1 STSM.16.M88.4 [R2], R4\n";
      text += "6 7 2 0 1 MEMBAR.ALL.CTA\n6 2 7 4 1 FENCE.VIEW.ASYNC.S\n1 7 7 4 0 IADD3 R4, R4, 0x1, RZ\n";
      const SmProgram program{step_text::operations_of(machine, text, warps), warps};
      const double simulated = simulate_blocks(program, {}, machine.limits(), 1, 1);
      CHECK(std::abs(simulated - measured) < 20 + 0.1 * measured);
      ++compared;
    }
    CHECK(compared == 24);
  }
}

}  // namespace beside_products_test
