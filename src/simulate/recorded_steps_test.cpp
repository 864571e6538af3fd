// Simulated steps and launches of kernels beside counted clocks. validate/tools/simulated_steps.py wrote the file of
// fused_mma, warpgroup_steps.py that of the microbenchmark warpgroups.cu, random_loops.py that of random loops; that of
// the Triton kernel has the launches without a mask of validate/described/h100.jsonl.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <sstream>

#include "kernel/code/sass/operands.h"
#include "kernel/code/testdata/test_kernels.h"
#include "simulate/simulation.h"
#include "simulate/sm/meetings.h"
#include "simulate/sm/products.h"
#include "simulate/step_text.h"

namespace recorded_steps_test {

using namespace tilescope;

namespace {

struct RecordedLaunch {
  std::int64_t blocks = 0, steps = 0;
  double active = 0;  // clocks, sum of all SMs
};

struct RecordedCode {
  std::string variant;  // "64 | 128 x 64 | 8 | 2": head_dim, tile of queries and keys, warps, blocks on an SM or stages
  int warps = 0, resident = 0;
  double clocks = 0;  // of a step
  std::vector<RecordedLaunch> launches;
  std::vector<Instruction> start, loop, end;
};

void read_instruction(std::string_view line, Instruction& instruction) {
  std::vector<std::string> labels;
  const bool read = step_text::take_control(line, instruction.control) && parse_instruction(line, instruction, labels);
  REQUIRE_MESSAGE(read, line);
}

std::vector<RecordedCode> recorded_codes(const std::string& packed) {
  std::istringstream lines(unpacked(std::string(TILESCOPE_SOURCE_DIR) + "/src/simulate/testdata/" + packed));
  std::vector<RecordedCode> codes;
  std::vector<Instruction>* section = nullptr;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark, kernel;
    if (line.starts_with("#")) {
      int head_dim = 0, queries = 0, keys = 0;
      RecordedCode& code = codes.emplace_back();
      words >> mark >> kernel >> head_dim >> queries >> keys >> code.warps >> code.resident >> code.clocks;
      const int last = kernel == "triton" ? static_cast<int>(code.clocks) : code.resident;
      code.variant = fmt::format("{} | {} x {} | {} | {}", head_dim, queries, keys, code.warps, last);
      section = &code.loop;
    } else if (line.starts_with("!")) {
      RecordedLaunch& launch = codes.back().launches.emplace_back();
      words >> mark >> launch.blocks >> launch.steps >> launch.active;
    } else if (line.starts_with("@")) {
      RecordedCode& code = codes.back();
      section = line == "@ start" ? &code.start : line == "@ end" ? &code.end : &code.loop;
    } else {
      read_instruction(line, section->emplace_back());
    }
  }
  return codes;
}

// Relative errors, and whether docs/read-machine-code.md shows them.
class ErrorTable {
 public:
  void add(double error, const std::string& row) {
    sum_ += std::abs(error), worst_ = std::max(worst_, std::abs(error)), ++count_;
    if (!row.empty()) add_row(row);
  }
  void add_row(const std::string& row) const {
    CHECK_MESSAGE(page_.find(row) != std::string::npos, "the page lacks " << row);
  }
  double mean() const { return sum_ / count_; }
  void check(double most_mean, double most_worst) const {
    CHECK(mean() <= most_mean);
    CHECK(worst_ <= most_worst);
    const std::string summary =
        fmt::format("n = {}, mean {:.1f} %, worst {:.1f} %", count_, 100 * mean(), 100 * worst_);
    CHECK_MESSAGE(page_.find(summary) != std::string::npos, "the page lacks " << summary);
  }

 private:
  const std::string page_ = read_file(std::string(TILESCOPE_SOURCE_DIR) + "/docs/read-machine-code.md");
  double sum_ = 0, worst_ = 0;
  int count_ = 0;
};

HardwareProfile profile(const std::string& id) {
  return load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/" + id + ".yaml");
}

// Errors of simulated launches, by variant; all of them also in `errors`.
std::map<std::string, std::vector<double>> launch_errors(const std::string& packed, const HardwareProfile& hardware,
                                                         ErrorTable& errors) {
  const SmMachine machine(hardware);
  const double gap = hardware.measured->launch.block->value * hardware.measured->clock.tensor_most->value;
  std::map<std::string, std::vector<double>> by_variant;
  for (const RecordedCode& code : recorded_codes(packed)) {
    const SmProgram program{.code = machine.operations(code.loop, code.warps), .warps = code.warps};
    const SmEnds ends{machine.operations(code.start, code.warps), machine.operations(code.end, code.warps)};
    for (const RecordedLaunch& launch : code.launches) {
      const auto round = [&](int blocks) {
        return simulate_blocks(program, ends, machine.limits(), blocks, launch.steps);
      };
      const double clocks = launch_clocks(launch.blocks, hardware.units.value, code.resident, gap, round);
      by_variant[code.variant].push_back(clocks / launch.active - 1);
      errors.add(by_variant[code.variant].back(), "");
    }
  }
  return by_variant;
}

// Whether warpgroups take turns at named barriers.
bool has_turns(const RecordedCode& code) {
  return std::any_of(code.loop.begin(), code.loop.end(),
                     [](const Instruction& instruction) { return instruction.opcode == "BAR"; });
}

}  // namespace

TEST_CASE("simulated steps of fused_mma take the clocks that an H200 counted, within the error that the page states") {
  const SmMachine machine(profile("h200_sxm"));
  ErrorTable errors;
  for (const RecordedCode& code : recorded_codes("fused_mma_steps.zst")) {
    const SmProgram program{.code = machine.operations(code.loop, code.warps), .warps = code.warps};
    const double clocks = simulate_steady(program, machine.limits(), code.resident).clocks;
    const double error = clocks / code.clocks - 1;
    errors.add(error,
               fmt::format("| {} | {:.0f} | {:.0f} | {:+.1f} % |", code.variant, clocks, code.clocks, 100 * error));
  }
  errors.check(0.04, 0.13);
}

TEST_CASE("simulated launches of Triton kernels take the clocks that an H100 counted, from their code alone") {
  const HardwareProfile hardware = profile("h100_sxm");
  ErrorTable errors;
  for (const auto& [variant, of_variant] : launch_errors("triton_steps.zst", hardware, errors)) {
    const double sum = std::accumulate(of_variant.begin(), of_variant.end(), 0.0);
    errors.add_row(fmt::format("| {} | {} | {:+.1f} % |", variant, of_variant.size(),
                               100 * sum / static_cast<double>(of_variant.size())));
  }
  errors.check(0.09, 0.25);
  ErrorTable anew;  // compiled and counted once more, by another version of the assembler
  launch_errors("triton_anew_steps.zst", hardware, anew);
  anew.check(0.12, 0.3);
}

TEST_CASE("random loops, with and without products, take the clocks that an H200 counted") {
  const SmMachine machine(profile("h200_sxm"));
  ErrorTable all;
  std::map<std::pair<bool, std::int64_t>, std::vector<double>> by_group;
  for (const RecordedCode& code : recorded_codes("random_loops_steps.zst")) {
    const bool products = std::any_of(code.loop.begin(), code.loop.end(),
                                      [](const Instruction& instruction) { return instruction.opcode == "HMMA"; });
    for (const RecordedLaunch& block : code.launches) {
      const int warps = static_cast<int>(block.blocks);
      const SmProgram program{.code = machine.operations(code.loop, warps), .warps = warps};
      const double error = simulate_steady(program, machine.limits(), 1).clocks / block.active - 1;
      by_group[{products, block.blocks / machine.limits().schedulers}].push_back(error);
      all.add(error, "");
    }
  }
  REQUIRE(by_group.size() == 6);
  for (const auto& [group, errors] : by_group) {
    double sum = 0, magnitude = 0, worst = 0;
    for (const double e : errors) sum += e, magnitude += std::abs(e), worst = std::max(worst, std::abs(e));
    const auto n = static_cast<double>(errors.size());
    all.add_row(fmt::format("| {} | {} | {} | {:+.1f} % | {:.1f}, {:.1f} % |",
                            group.first ? "with `mma.sync`" : "without products", group.second, errors.size(),
                            100 * sum / n, 100 * magnitude / n, 100 * worst));
  }
  all.check(0.07, 0.3);
}

TEST_CASE("simulated passes of warpgroups, with and without turns, take the clocks that an H100 printed") {
  const SmMachine machine(profile("h100_sxm"));
  ErrorTable all;
  std::map<std::pair<int, bool>, std::vector<double>> by_group;
  for (const RecordedCode& code : recorded_codes("warpgroups_steps.zst")) {
    const SmProgram program{.code = machine.operations(code.loop, code.warps), .warps = code.warps};
    constexpr int group_warps = 4;
    const double error =
        simulate_steady(program, machine.limits(), code.resident, clocks_alone).clocks / code.clocks - 1;
    by_group[{code.warps / group_warps, has_turns(code)}].push_back(error);
    all.add(error, "");
  }
  REQUIRE(by_group.size() == 5);
  for (const auto& [group, errors] : by_group) {
    const auto mean = [&](const auto& of) {
      return 100 *
             std::accumulate(errors.begin(), errors.end(), 0.0, [&](double sum, double e) { return sum + of(e); }) /
             static_cast<double>(errors.size());
    };
    all.add_row(fmt::format("| {} | {} | {} | {:.1f} % | {:+.1f} % |", group.first, group.second ? "in turns" : "free",
                            errors.size(), mean([](double e) { return std::abs(e); }),
                            mean([](double e) { return e; })));
  }
  all.check(0.045, 0.4);
}

TEST_CASE("two free warpgroups take the mean clocks of an H100 over the times at which the second one begins") {
  const SmMachine machine(profile("h100_sxm"));
  constexpr int warps = 8, group_warps = 4;
  std::vector<RecordedCode> codes = recorded_codes("warpgroups_steps.zst");
  std::erase_if(codes, [](const RecordedCode& code) { return code.warps != warps || has_turns(code); });
  struct Case {
    SmProgram program;
    double simulated = 0, printed = 0;  // clocks, sum over the beginnings
    int beginnings = 0;
  };
  std::map<std::string, Case> cases;
  // Lines "FORMATS kKEYS cCOLUMNS 2 wg free KIND: CLOCKS CLOCKS begins CLOCKS ends CLOCKS".
  std::istringstream lines(
      read_file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/tools/sm_rules/warpgroups/begins_h100.txt"));
  std::string line;
  std::getline(lines, line);  // the GPU
  for (std::size_t next = 0; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    const std::string name = line.substr(0, colon);
    const auto [found, is_new] = cases.try_emplace(name);
    Case& of = found->second;
    if (is_new) {
      next += name.ends_with(" plain") && next > 0;  // of three kinds of code the last one is not printed
      REQUIRE(next < codes.size());
      const RecordedCode& code = codes[next++];
      int columns = 0, rows = 0, keys = 0;
      REQUIRE(std::sscanf(code.variant.c_str(), "%d | %d x %d", &columns, &rows, &keys) == 3);
      REQUIRE(name.find(fmt::format(" k{} c{} ", keys, columns)) != name.npos);
      of.program = {.code = machine.operations(code.loop, warps), .warps = warps};
    }
    std::istringstream values(line.substr(colon + 1));
    double first = 0, second = 0, later = 0;
    std::string begins;
    REQUIRE((values >> first >> second >> begins >> later));
    sm_state::Sm<false, true> sm(of.program, {}, machine.limits(), 1, 0, clocks_alone, {group_warps, ticks(later)});
    of.simulated += sm.run().clocks, of.printed += (first + second) / 2, ++of.beginnings;
  }
  REQUIRE(cases.size() == 40);
  double error = 0, bias = 0;
  for (const auto& [name, of] : cases) {
    CHECK(of.beginnings == 16);
    const double each = of.simulated / of.printed - 1;
    error += std::abs(each) / static_cast<double>(cases.size()), bias += each / static_cast<double>(cases.size());
  }
  CHECK(error <= 0.04);
  CHECK(std::abs(bias) <= 0.01);
  ErrorTable page;
  page.add_row(
      fmt::format("| mean over 16 beginnings | {} | {:.1f} % | {:+.1f} % |", cases.size(), 100 * error, 100 * bias));
}

}  // namespace recorded_steps_test
