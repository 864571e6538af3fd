// Simulated steps of kernels beside clocks that an H200 counted: validate/tools/simulated_steps.py wrote the file.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "kernel/code/sass/operands.h"
#include "kernel/code/testdata/test_kernels.h"
#include "simulate/sm.h"

using namespace tilescope;

namespace {

struct RecordedStep {
  std::string variant;  // "64 128 64 8": head_dim, tile of queries and keys, warps
  int warps = 0, resident = 0;
  double clocks = 0;
  std::vector<Instruction> code;
};

std::vector<RecordedStep> recorded_steps(const std::string& packed) {
  std::istringstream lines(unpacked(std::string(TILESCOPE_SOURCE_DIR) + "/src/simulate/testdata/" + packed));
  std::vector<RecordedStep> steps;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (line.starts_with("#")) {
      std::string hash, kernel;
      int head_dim = 0, queries = 0, keys = 0;
      RecordedStep& step = steps.emplace_back();
      words >> hash >> kernel >> head_dim >> queries >> keys >> step.warps >> step.resident >> step.clocks;
      step.variant = fmt::format("{} | {} x {} | {} | {}", head_dim, queries, keys, step.warps, step.resident);
      continue;
    }
    Instruction& instruction = steps.at(steps.size() - 1).code.emplace_back();
    IssueControl& control = instruction.control;
    words >> control.stall >> control.result_scoreboard >> control.operand_scoreboard >> control.wait_mask >> std::ws;
    std::string text;
    std::getline(words, text);
    std::vector<std::string> labels;
    REQUIRE_MESSAGE(parse_instruction(text, instruction, labels), text);
  }
  return steps;
}

}  // namespace

TEST_CASE("simulated steps of fused_mma take the clocks that an H200 counted, within the error that the page states") {
  constexpr double most_mean = 0.04, most_worst = 0.13;
  const SmMachine machine(load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml"));
  const std::string page = read_file(std::string(TILESCOPE_SOURCE_DIR) + "/docs/read-machine-code.md");
  double sum = 0, worst = 0;
  const std::vector<RecordedStep> steps = recorded_steps("fused_mma_steps.zst");
  REQUIRE(steps.size() >= 15);
  for (const RecordedStep& step : steps) {
    SmProgram program{.code = {}, .warps = step.warps};
    for (const Instruction& instruction : step.code) program.code.push_back(machine.operation(instruction, step.warps));
    const double clocks = simulate_steady(program, machine.limits(), step.resident).clocks;
    const double error = clocks / step.clocks - 1;
    sum += std::abs(error), worst = std::max(worst, std::abs(error));
    const std::string row =
        fmt::format("| {} | {:.0f} | {:.0f} | {:+.1f} % |", step.variant, clocks, step.clocks, 100 * error);
    CHECK_MESSAGE(page.find(row) != std::string::npos, "the page lacks " << row);
  }
  const double mean = sum / static_cast<double>(steps.size());
  CHECK(mean <= most_mean);
  CHECK(worst <= most_worst);
  const std::string summary =
      fmt::format("n = {}, mean {:.1f} %, worst {:.1f} %", steps.size(), 100 * mean, 100 * worst);
  CHECK_MESSAGE(page.find(summary) != std::string::npos, "the page lacks " << summary);
}
