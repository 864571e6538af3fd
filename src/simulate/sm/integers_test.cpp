// Multiply-adds of integers beside those of floats: simulated as an H200 took them
// (validate/tools/sm_rules/integers.cu).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "simulate/step_text.h"

namespace integers_test {

using namespace tilescope;

namespace {

// Instructions of a round of the loop: some again and again, and others.
struct Round {
  int times = 0;
  std::vector<const char*> again{}, others{};
};

std::string text_of(const Round& round) {
  constexpr int chains = 16, first = 8;
  std::string text;
  int number = 0;
  const auto add = [&](const char* instruction) {
    text += fmt::format("1 7 7 0 0 {0} R{1}, R{1}, R4, R5\n", instruction, first + number++ % chains);
  };
  for (int i = 0; i < round.times; ++i)
    for (const char* instruction : round.again) add(instruction);
  for (const char* instruction : round.others) add(instruction);
  return text + "1 7 7 0 0 ISETP.NE.AND P0, PT, R6, 0xc8, PT\n5 7 7 0 0 @P0 BRA `(.L_x_0)\n";
}

// Of four warps a scheduler, by the name of a case.
std::map<std::string, double> measured() {
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/tools/sm_rules/integers_h200.txt");
  std::map<std::string, double> all;
  const std::string behind = " 4 warps a scheduler: ";
  for (std::string line; std::getline(file, line);)
    if (const std::size_t at = line.find(behind); at != line.npos)
      all[line.substr(0, line.find_last_not_of(' ', at) + 1)] = std::stod(line.substr(at + behind.size()));
  return all;
}

}  // namespace

TEST_CASE("an IMAD is issued every other clock, and an FFMA in between, as an H200 measured") {
  const std::map<std::string, Round> cases{{"fma.rn.f32", {128, {"FFMA"}, {"VIADD"}}},
                                           {"mad.lo", {128, {"IMAD"}, {"VIADD"}}},
                                           {"shl", {14, {"IMAD.SHL.U32"}, {"VIADD", "SHF.L.U32", "SHF.L.U32"}}},
                                           {"mov", {19, {"IMAD.MOV.U32"}, {"VIADD", "MOV", "MOV", "MOV", "MOV"}}},
                                           {"fma, mad", {128, {"FFMA", "IMAD"}, {"VIADD"}}},
                                           {"2 fma, mad", {128, {"FFMA", "FFMA", "IMAD"}, {"VIADD"}}}};
  const SmMachine sm(load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml"));
  const std::map<std::string, double> clocks = measured();
  constexpr int warps = 16, schedulers = 4;
  for (const auto& [name, round] : cases) {
    CAPTURE(name);
    REQUIRE(clocks.contains(name));
    const SmProgram program{step_text::operations_of(sm, text_of(round), warps), warps};
    const double a_round = simulate_steady(program, sm.limits(), 1, clocks_alone).clocks / (warps / schedulers);
    MESSAGE(name << ": " << a_round << " simulated, " << clocks.at(name) << " measured");
    CHECK(a_round == doctest::Approx(clocks.at(name)).epsilon(0.05));
  }
}

}  // namespace integers_test
