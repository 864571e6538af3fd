// describe --check: a description beside the counters of a capture.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace cli_check_test {

using namespace tilescope::cli;
using nlohmann::json;

namespace {

const std::string captures = TILESCOPE_SOURCE_DIR "/validate/captures/h100_triton";

// The facts of the kernel in the committed capture that has this number of registers, as a file.
void write_facts(const std::string& file, int registers) {
  std::ifstream lines(captures + ".facts.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const json facts = json::parse(line).at("facts");
    if (facts.at("registers") == registers) std::ofstream(file) << facts.dump();
  }
}

// The kernel with 64 x 64 tiles that the program launched with a causal mask.
struct CausalKernel {
  ScratchFolder folder;
  std::string command;
  CausalKernel() {
    write_facts(folder / "facts.json", 128);
    command = "describe " + (folder / "facts.json") +
              " --grid 32,16 --block 128 --dynamic-shared-bytes 40960 --batch 2 --heads 8 --q-len 2k --check " +
              captures + ".jsonl";
  }
};

}  // namespace

TEST_CASE("describe --check: a true description fits the counters of its launches") {
  const CausalKernel kernel;
  const Outcome outcome = run_program(kernel.command + " --mask causal --format json");
  CHECK(outcome.status == 0);
  const json checked = json::parse(outcome.out);
  CHECK(checked.at("schema") == "tilescope/check/1");
  CHECK(checked.at("quantities").size() == 3);
  CHECK(checked.at("fitting") == 3);
  CHECK(checked.at("wrong").empty());
}

TEST_CASE("describe --check: of a description with another mask it names the mask") {
  const CausalKernel kernel;
  const Outcome outcome = run_program(kernel.command + " --mask none --format json");
  CHECK(outcome.status == 1);
  const json checked = json::parse(outcome.out);
  CHECK(checked.at("fitting") < 3);
  REQUIRE(checked.at("wrong").size() == 1);
  CHECK(checked.at("wrong").at(0).at("key") == "masks");
  CHECK(checked.at("wrong").at(0).at("better") == "[causal]");
  CHECK(run_program(kernel.command)
            .out.find("wrong key: masks: [none] stands in the description, with [causal] 3 of 3 "
                      "counts fit") != std::string::npos);
}

TEST_CASE("describe --check refuses a launch that was not counted, and sizes that are not known") {
  const CausalKernel kernel;
  const std::string other = kernel.command.substr(0, kernel.command.find("--grid"));
  CHECK(run_program(other +
                    "--grid 31,16 --block 128 --dynamic-shared-bytes 40960 --batch 2 --heads 8 --q-len 1984 "
                    "--check " +
                    captures + ".jsonl")
            .err.find("with this grid and shared memory was counted") != std::string::npos);
  CHECK(run_program(other + "--check " + captures + ".jsonl").err.find("needs the sizes of the launch") !=
        std::string::npos);
}

TEST_CASE("describe names an option that contradicts the code, or that needs another one") {
  const CausalKernel kernel;
  const std::string other = kernel.command.substr(0, kernel.command.find("--grid"));
  const auto error = [&](const std::string& options) { return run_program(other + options).err; };
  CHECK(error("--grid 32,16 --block 128 --heads 8").find("--heads-q: needs --q-len") != std::string::npos);
  CHECK(error("--grid 32,16 --block 128 --head-dim 4096 --q-len 2k").find("deep: its launches have at most that") !=
        std::string::npos);
  CHECK(error("--grid 32,16 --block 128 --dynamic-shared-bytes 300k --q-len 2k")
            .find("a block has at most 232448 bytes of shared memory on compute capability 9.0") != std::string::npos);
  CHECK(error("--grid 32,16 --block 128").find("block_order: the sizes of a launch are not known") !=
        std::string::npos);
}

}  // namespace cli_check_test
