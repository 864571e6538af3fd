// Commands stop where a kernel is not launched for the sizes, and take the variant that they show.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/run_program.h"

namespace cli_shapes_test {

using namespace tilescope::cli;
using nlohmann::json;

namespace {

const std::string one_query = " --kernel cudnn_forward --hardware h200_sxm --heads 16 --kv-len 4k --head-dim 128 ";

}  // namespace

TEST_CASE("predict and explain of sizes outside a descriptor's shapes say so and end with status 1") {
  for (const std::string command : {"predict", "explain"}) {
    const Outcome text = run_program(command + one_query + "--q-len 1");
    CHECK(text.status == 1);
    CHECK(text.out.find("infeasible: kernel 'cudnn_forward' is launched where q_len > 1, found q_len 1: ") !=
          std::string::npos);
    CHECK(text.out.find("predicted") == std::string::npos);
    const Outcome outcome = run_program(command + one_query + "--q-len 1 --format json");
    CHECK(outcome.status == 1);
    const json answer = json::parse(outcome.out);
    CHECK(answer["feasible"] == false);
    CHECK(answer["unsupported"].size() == 1);
    CHECK_FALSE(answer.contains("time"));
    CHECK(run_program(command + one_query + "--q-len 2").status == 0);
  }
}

TEST_CASE("one query of grouped heads and a split of more than one are refused with the kernel that runs instead") {
  const Outcome grouped = run_program(
      "predict --kernel pytorch_flash2 --hardware h100_sxm --heads-q 32 --heads-kv 8 --batch 64 --q-len 1 --kv-len 4k "
      "--head-dim 128");
  CHECK(grouped.status == 1);
  CHECK(grouped.out.find("use --kernel pytorch_flash2_grouped") != std::string::npos);
  const Outcome split = run_program(
      "predict --kernel pytorch_flash2_split --hardware h100_sxm --heads 16 --q-len 2 --kv-len 16k --head-dim 128");
  CHECK(split.status == 1);
  CHECK(split.out.find("use --kernel pytorch_flash2_split_rows") != std::string::npos);
}

TEST_CASE("points beyond a GPU's memory or its threads a block are refused, and say why") {
  const std::string heads = " --hardware h200_sxm --heads 16 --head-dim 128 ";
  const Outcome huge = run_program("predict --schedule standard --q-len 1m" + heads);
  CHECK(huge.status == 1);
  CHECK(huge.out.find("infeasible: hbm of all arrays needs 70,385,924,046,848 bytes, 141,000,000,000 available") !=
        std::string::npos);
  check_refused("predict --q-len 4k --tile q=640,kv=64,warps=40" + heads,
                "error: point: a block of 40 warps has 1280 threads; h200_sxm takes at most 1024");
  for (const std::string gpu : {"b200_sxm", "rtx5090"})
    CHECK(run_program("predict --kernel fused_wgmma --q-len 4k --hardware " + gpu)
              .err.starts_with("error: --kernel: kernel 'fused_wgmma' uses wgmma, which only compute capability 9.0 "
                               "has; " +
                               gpu + " has "));
}

TEST_CASE("search, compare and sweep do not rank or time a kernel outside its shapes") {
  const json search = json::parse(run_program("search" + one_query + "--q-len 1 --format json").out);
  CHECK(search["feasible"].empty());
  CHECK(search["unsupported"].size() == 1);
  CHECK(run_program("search" + one_query + "--q-len 1").status == 1);
  const Outcome compare = run_program("compare" + one_query + "--kernel pytorch_efficient --q-len 1 --format json");
  CHECK(compare.status == 0);
  const json rows = json::parse(compare.out)["rows"];
  CHECK(rows[0]["microseconds"].is_null());
  CHECK(rows[0]["outside"].get<std::string>().find("q_len > 1") != std::string::npos);
  CHECK(rows[1]["microseconds"].is_number());
  CHECK(rows[1]["outside"] == "");
  CHECK(run_program("compare" + one_query + "--q-len 1").status == 1);
  const Outcome sweep = run_program("sweep" + one_query + "--axis q_len=1,2 --format json");
  CHECK(sweep.status == 0);
  CHECK(json::parse(sweep.out.substr(0, sweep.out.find('\n')))["unsupported"].size() == 1);
}

TEST_CASE("a tile without stages takes the faster of the variants that differ in them, and says which") {
  const auto seconds = [](const json& answer) { return answer["time"]["seconds"].get<double>(); };
  std::set<int> taken;
  for (const char* sizes : {"--batch 1 --q-len 4k", "--batch 8 --q-len 512"}) {
    const std::string start = std::string("predict --kernel backward --pass backward --hardware h200_sxm --heads 16 ") +
                              sizes + " --head-dim 128 --format json --tile q=64,kv=128";
    const auto predicted = [&](const std::string& stages) { return json::parse(run_program(start + stages).out); };
    const json two = predicted(",stages=2"), three = predicted(",stages=3"), best = predicted("");
    CHECK(seconds(two) != seconds(three));
    const int faster = seconds(two) < seconds(three) ? 2 : 3;
    CHECK(best["point"]["tile"]["stages"] == faster);
    CHECK(seconds(best) == std::min(seconds(two), seconds(three)));
    taken.insert(faster);
  }
  CHECK(taken.size() == 2);
  const std::string point = " --kernel fused_wgmma --hardware h200_sxm --heads 16 --q-len 4k --head-dim 128 ";
  const Outcome none = run_program("predict" + point + "--tile q=128,kv=64,stages=3");
  CHECK(none.status == 2);
  CHECK(none.err.find("128x64 with 12 warps and 2 stages") != std::string::npos);
  CHECK(run_program("search" + point + "--format csv").out.find(",warps,stages,") != std::string::npos);
  CHECK(run_program("sweep" + point.substr(0, point.find(" --q-len")) + " --head-dim 128 --axis q_len=1k,4k")
            .out.find(",warps,stages,") != std::string::npos);
}

TEST_CASE("stages that no variant states must be those of the kernel") {
  const std::string point = "predict --kernel fused_mma --hardware h200_sxm --heads 4 --q-len 1k --head-dim 128 ";
  CHECK(run_program(point + "--tile stages=2").status == 0);
  CHECK(run_program(point + "--tile stages=7").status == 2);
}

TEST_CASE("validate fails where no row has a tolerance, and says so") {
  const ScratchFolder folder;
  std::ifstream records(TILESCOPE_SOURCE_DIR "/validate/records/h200/h200_drawn_3.jsonl");
  std::string environment, record;
  REQUIRE(std::getline(records, environment));
  REQUIRE(std::getline(records, record));
  std::ofstream(folder / "one.jsonl") << environment << "\n" << record << "\n";
  std::string experiment = content_of(TILESCOPE_SOURCE_DIR "/validate/experiments/quick.yaml");
  const std::string command = "validate --recorded " + folder.path() + " --experiment " + (folder / "quick.yaml");
  std::ofstream(folder / "quick.yaml") << experiment;
  CHECK(run_program(command).status == 0);
  for (std::size_t at = 0; (at = experiment.find("tolerance: 0", at)) != std::string::npos;) {
    const std::size_t end = experiment.find_first_of(",}", at);
    experiment.replace(at, end - at, "tolerance: report");
  }
  std::ofstream(folder / "quick.yaml") << experiment;
  const Outcome shown = run_program(command + " --junit " + (folder / "junit.xml"));
  CHECK(shown.status == 1);
  CHECK(shown.out.find("0 rows have a tolerance") != std::string::npos);
  CHECK(shown.out.find("no row has a tolerance: give an experiment file that states tolerances") != std::string::npos);
  CHECK(content_of(folder / "junit.xml").find("no row is judged") != std::string::npos);
}

}  // namespace cli_shapes_test
