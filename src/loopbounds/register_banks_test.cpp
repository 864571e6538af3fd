#include "loopbounds/register_banks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "kernel/code/sass/operands.h"

namespace register_banks_test {

using namespace tilescope;

TEST_CASE("issue slots and waits for register banks give the clocks of measured loops of multiply-adds") {
  constexpr double most_error = 0.12, most_mean = 0.05;
  const auto file =
      nlohmann::json::parse(read_file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/microbench/register_banks.json"));
  double sum = 0;
  for (const auto& loop : file["loops"]) {
    std::vector<Instruction> code;
    for (const std::string text : loop["instructions"]) {
      std::vector<std::string> labels;
      REQUIRE(parse_instruction(text, code.emplace_back(), labels));
    }
    std::vector<const Instruction*> pass;
    for (const Instruction& instruction : code) pass.push_back(&instruction);
    const auto adds = std::count_if(code.begin(), code.end(), [](const auto& each) { return each.opcode == "FFMA"; });
    const double clocks = (static_cast<double>(code.size()) + bank_waits(pass)) / static_cast<double>(adds);
    const double error = std::abs(clocks / loop["clocks"].get<double>() - 1);
    CHECK(error <= most_error);
    sum += error;
  }
  REQUIRE(file["loops"].size() >= 8);
  CHECK(sum / static_cast<double>(file["loops"].size()) <= most_mean);
}

}  // namespace register_banks_test
