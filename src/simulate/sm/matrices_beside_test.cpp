// Loads and stores of matrices in shared memory by warps of their own beside products of a warpgroup, beside a
// microbenchmark (validate/tools/sm_rules/matrices_beside.cu, an H200).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "simulate/sm/sm.h"
#include "simulate/step_programs.h"
#include "simulate/step_text.h"

namespace matrices_beside_test {

using namespace tilescope;

namespace {

constexpr int operations_a_pass = 64;
constexpr std::size_t width = 13;  // of an operation's name

// Instructions as nvcc places them: `batch` loads, then each result regrouped and stored.
std::string turned_over(int batch) {
  std::string text;
  for (int i = 0; i < batch; ++i)
    text += fmt::format("{} {} 7 0 0 LDSM.16.MT88.4 R{}, [R11]\n", i + 1 < batch ? 4 : 1, i, 24 + 4 * i);
  for (int i = 0; i < batch; ++i) {
    const int from = 24 + 4 * i, to = 48 + 4 * i;
    for (int word = 0; word < 4; ++word)
      text += fmt::format("2 7 7 {} 0 PRMT R{}, R{}, {}, R{}\n", word == 0 ? 1 << i : 0, to + word, from + word / 2 * 2,
                          word % 2 == 0 ? "0x6420" : "0x7531", from + word / 2 * 2 + 1);
    text += fmt::format("1 7 7 0 0 STSM.16.M88.4 [R8], R{}\n", to);
  }
  return text;
}

// A pass of the benchmark; empty: an operation that is not simulated here.
std::string pass_of(const std::string& operation, int batch) {
  std::string text;
  const auto repeat = [&](int times, const std::string& lines) {
    for (int i = 0; i < times; ++i) text += lines;
  };
  if (operation == "turn over") repeat(operations_a_pass / batch, turned_over(batch));
  if (operation == "ldmatrix x4") repeat(operations_a_pass, "1 0 7 0 0 LDSM.16.MT88.4 R24, [R11]\n");
  if (operation == "load 16 bytes") repeat(operations_a_pass, "1 0 7 0 0 LDS.128 R24, [R11]\n");
  if (operation == "load 4 bytes") repeat(operations_a_pass, "4 0 7 0 0 LDS R24, [R11]\n");
  if (operation == "stmatrix x4") repeat(operations_a_pass, "4 7 7 0 0 STSM.16.M88.4 [R8], R16\n");
  if (!text.empty() && operation != "stmatrix x4") text += "4 7 7 1 0 LOP3.LUT R10, R5, R24, R10, 0x96, !PT\n";
  return text;
}

// Sixteen products one behind the other.
std::string products_of(const std::string& kind, int columns) {
  std::string text = "1 7 7 0 0 WARPGROUP.ARRIVE\n";
  for (int i = 0; i < 16; ++i)
    text += fmt::format("12 7 7 0 1 {} R24, {}gdesc[UR4], R24{}\n",
                        kind.ends_with('8') ? fmt::format("QGMMA.64x{}x32.F32.E4M3.E4M3", columns)
                                            : fmt::format("HGMMA.64x{}x16.F32", columns),
                        kind.starts_with('r') ? "R88, " : "", i == 15 ? ", gsb0" : "");
  return text;
}

}  // namespace

TEST_CASE("warps that load, store and turn over matrices take as long beside products as on an H200") {
  const SmMachine machine(load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml"));
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/tools/sm_rules/matrices_beside_h200.txt");
  REQUIRE(file);
  int compared = 0, turns = 0;
  double sum = 0, sum_of_turns = 0;
  for (std::string line; std::getline(file, line);) {
    int batch = 0, columns = 0, warps = 0;
    char kind[4] = {};
    double product = 0, measured = 0;
    if (line.size() < width || std::sscanf(line.c_str() + width, " x%d, %2s n%d%*[ ,]%d warps: %lf clk a product, %lf",
                                           &batch, kind, &columns, &warps, &product, &measured) != 6)
      continue;
    const std::string operation = line.substr(0, line.find_last_not_of(' ', width - 1) + 1);
    // Products of 64 columns take all of shared memory, and then more than they are given.
    const std::string text = pass_of(operation, batch);
    if (text.empty() || columns == 64) continue;
    CAPTURE(line);
    SmProgram program{step_text::operations_of(machine, text, warps), warps};
    if (columns > 0) program.beside = {step_text::operations_of(machine, products_of(kind, columns), 4), 4};
    const double clocks = simulate_steady(program, machine.limits(), 1, -1).clocks / operations_a_pass;
    const double error = clocks / measured - 1;
    // Where products ask for most of the bandwidth, others get more of it than they leave, and they take longer.
    const bool crowded = columns == 96;
    CHECK(std::abs(error) < (operation == "stmatrix x4" ? (crowded ? 1.4 : 0.45) : (crowded ? 0.6 : 0.35)));
    sum += std::abs(error), ++compared;
    if (operation == "turn over") sum_of_turns += std::abs(error), ++turns;
  }
  REQUIRE(compared == 320);
  CHECK(sum / compared < 0.105);
  CHECK(sum_of_turns / turns < 0.14);
}

}  // namespace matrices_beside_test
