// What leaves an SM, and what waits behind it, beside a microbenchmark (validate/tools/sm_rules/leaving.cu).
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include "simulate/sm/sm.h"
#include "simulate/step_programs.h"
#include "simulate/step_text.h"

namespace leaving_test {

using namespace tilescope;

namespace {

const std::string source = TILESCOPE_SOURCE_DIR;

// Of the last of `warps`: n instructions, then a load of shared memory and the wait for it.
double clocks_behind(const SmMachine& machine, const char* instruction, int n, int warps) {
  std::string text;
  for (int i = 0; i < n; ++i) text += std::string("1 7 7 0 0 ") + instruction + "\n";
  text += "1 0 7 0 0 LDS R8, [R10]\n1 7 7 1 0 IADD3 R4, R8, R6, RZ\n";
  const StepProgram program = step_text::read(text, "leaving", "leaving");
  const SmProgram code{step_text::operations(machine, program, program.step, warps), warps};
  return simulate_blocks(code, {}, machine.limits(), 1, 1);
}

}  // namespace

TEST_CASE("a load of shared memory waits behind stores and sums as long as an H100 and an H200 take") {
  const std::map<std::string, const char*> instructions{
      {"store", "STG.E.128 desc[UR4][R2.64], R4"},
      {"local store", "STL.128 [R1], R4"},
      {"sum", "REDG.E.ADD.F32x4.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R4"},
      {"sum of 4 bytes", "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R4"}};
  for (const std::string gpu : {"h100", "h200"}) {
    CAPTURE(gpu);
    const SmMachine machine(find_profile(gpu + "_sxm", source + "/hardware"));
    std::ifstream file(source + "/validate/tools/sm_rules/leaving_" + gpu + ".txt");
    std::map<std::string, double> empty;  // by kind and warps
    int compared = 0;
    for (std::string line; std::getline(file, line);) {
      int n = 0, blocks = 0, warps = 0;
      double issued = 0, loaded = 0, last = 0;
      const std::size_t comma = line.find(", n ");
      if (comma == line.npos || std::sscanf(line.c_str() + comma, ", n %d, %d blocks, %d warps: %lf %lf %lf", &n,
                                            &blocks, &warps, &issued, &loaded, &last) != 6)
        continue;
      const auto instruction = instructions.find(line.substr(0, comma));
      if (instruction == instructions.end() || blocks > 1) continue;
      const std::string key = line.substr(0, comma) + std::to_string(warps);
      if (n == 0) empty[key] = last;
      // With more than 32 a warp the compiler keeps addresses in local memory. Less than 32 KiB in all pass at other
      // rates.
      const bool words = line.starts_with("sum of 4 bytes");
      if (n > 32 || n * warps < (words ? 256 : 64)) continue;
      CAPTURE(line);
      const double measured = last - empty.at(key), simulated = clocks_behind(machine, instruction->second, n, warps) -
                                                                clocks_behind(machine, instruction->second, 0, warps);
      CHECK(simulated == doctest::Approx(measured).epsilon(line.starts_with("sum") ? 0.18 : 0.12));
      ++compared;
    }
    CHECK(compared == 33);
  }
}

}  // namespace leaving_test
