// What users ask of the time model itself: one mechanism taken out, the engines, the code of a step.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"

namespace time_model_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

const std::string few = "--recorded " TILESCOPE_SOURCE_DIR "/validate/records/h200/third_party.jsonl";
const std::string point = " --hardware h200_sxm --heads 4 --q-len 512 --head-dim 64";

double mean_error(const nlohmann::json& comparison, const std::string& quantity) {
  double sum = 0;
  int n = 0;
  for (const auto& row : comparison["rows"])
    if (row["quantity"] == quantity)
      sum += std::abs(row["predicted"].get<double>() / row["measured"].get<double>() - 1), ++n;
  return sum / n;
}

// explain --code --timeline of a kernel, whose trace is there and has its schema.
Outcome explained_with_timeline(const std::string& kernel) {
  const std::string file = std::filesystem::temp_directory_path() / ("tilescope_timeline_of_" + kernel + ".json");
  const Outcome explained = run_program("explain --code --kernel " + kernel + " --timeline " + file + point);
  CHECK(explained.status == 0);
  CHECK(nlohmann::json::parse(read_file(file))["schema"] == "tilescope/timeline/1");
  std::filesystem::remove(file);
  return explained;
}

}  // namespace

TEST_CASE("validate without a mechanism judges other times and the same counts") {
  const auto whole = nlohmann::json::parse(run_program("validate --format json " + few).out),
             less = nlohmann::json::parse(run_program("validate --format json --without block-ends " + few).out);
  CHECK(mean_error(whole, "busy_cycles") != mean_error(less, "busy_cycles"));
  CHECK(mean_error(whole, "tensor_flop") == mean_error(less, "tensor_flop"));
}

TEST_CASE("names that no mechanism or engine has are refused, and so are options that do not go together") {
  CHECK(run_program("validate --without first-copies " + few).status == 2);
  CHECK(run_program("validate --engine fast " + few).status == 2);
  CHECK(run_program("validate --engine queues --published " TILESCOPE_SOURCE_DIR "/validate/published").status == 2);
  CHECK(run_program("validate --without each --junit x.xml " + few).status == 2);
}

TEST_CASE("explain --code lists a step of a kernel whose code is known, and --timeline writes it") {
  const Outcome listed = explained_with_timeline("fused_mma");
  CHECK(listed.out.find("HMMA.16816.F32") != std::string::npos);
  CHECK(listed.out.find("stall count") != std::string::npos);
  CHECK(listed.out.find("synthesised") == std::string::npos);
}

TEST_CASE("explain --code lists a synthesised step where no code is known, and says so") {
  const Outcome listed = explained_with_timeline("cudnn_forward");
  CHECK(listed.out.find("HGMMA.64x128x16.F32") != std::string::npos);
  CHECK(listed.out.find("This program is synthesised") != std::string::npos);
}

TEST_CASE("explain --code refuses what has no program") {
  for (const char* of : {"--schedule flash2", "--kernel reference_fp32 --dtype fp32"}) {
    CAPTURE(of);
    const Outcome none = run_program(std::string("explain --code ") + of + point);
    CHECK(none.status == 2);
    CHECK(none.err.find("--code: needs a kernel that multiplies on tensor cores") != std::string::npos);
  }
}

}  // namespace time_model_test
