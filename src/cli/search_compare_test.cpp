// search ranks no point that cannot run, and compare gives it no time.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_program.h"

namespace search_compare_test {

using namespace tilescope::cli;
using nlohmann::json;

TEST_CASE("search ranks no tile when the GPU has no tensor rate for the dtype, and says so") {
  const Outcome outcome = run_program("search --hardware v100_sxm2 --q-len 1k --dtype bf16 --format json");
  CHECK(outcome.status == 1);
  const json answer = json::parse(outcome.out);
  CHECK(answer["feasible"].empty());
  REQUIRE(!answer["infeasible"].empty());
  for (const json& row : answer["infeasible"]) {
    CHECK(row["level"] == "tensor");
    CHECK(row["needed_bytes"].is_null());
    CHECK(row["largest"] == "v100_sxm2 states no tensor rate for bf16");
  }
  CHECK(run_program("search --hardware h200_sxm --q-len 1k --dtype fp8_e4m3").status == 0);
  CHECK(run_program("search --hardware a100_sxm_80 --q-len 1k --dtype fp8_e4m3").status == 0);  // computed in fp16
}

TEST_CASE("search refuses --tile, because it chooses the tile") {
  check_refused("search --hardware h200_sxm --q-len 1k --tile q=64",
                "error: --tile: search chooses the tile: leave it out, or ask tilescope predict about one tile");
}

TEST_CASE("search says why a kernel cannot run a point with any tile") {
  const std::string search = "search --hardware h200_sxm --q-len 1k --kernel fused_mma ";
  check_refused(search + "--head-dim 96",
                "error: point: kernel 'fused_mma' is not built for head_dim 96; built: 64, 128, 256");
  check_refused(search + "--mask window:16",
                "error: point: kernel 'fused_mma' has no mask 'window'; it has none, causal");
}

TEST_CASE("compare shows no time for a point that does not fit or has no rate") {
  const json fits =
      json::parse(run_program("compare --hardware a100_sxm_80 --q-len 1k --dtype fp16 --format json").out);
  CHECK(fits["schema"] == "tilescope/compare/1");
  REQUIRE(fits["rows"].size() == 1);
  CHECK(fits["rows"][0]["fits"] == "yes");
  CHECK(fits["rows"][0]["runnable"] == "yes");
  CHECK(fits["rows"][0]["microseconds"].is_number());
  const Outcome no_rate_outcome = run_program("compare --hardware v100_sxm2 --q-len 1k --dtype bf16 --format json");
  CHECK(no_rate_outcome.status == 1);  // no row has a time
  const json no_rate = json::parse(no_rate_outcome.out);
  CHECK(no_rate["rows"][0]["no_time"].get<std::string>().find("v100_sxm2 states no tensor rate for bf16") !=
        std::string::npos);
  CHECK(no_rate["rows"][0]["runnable"] == "no");
  CHECK(no_rate["rows"][0]["fits"] == "yes");
  const json too_big =
      json::parse(run_program("compare --hardware a100_sxm_80 --q-len 1k --tile q=4096,kv=4096 --format json").out);
  CHECK(too_big["rows"][0]["fits"] == "no");
  for (const json& row : {no_rate["rows"][0], too_big["rows"][0]})
    for (const char* column : {"microseconds", "bound_by", "model_tflops"})
      CHECK_MESSAGE(row[column].is_null(), column);
}

TEST_CASE("compare names the whole tile and every dtype, also those of a default") {
  const json answer = json::parse(run_program("compare --hardware h200_sxm --q-len 64 --heads 8 --heads-kv 2 --tile "
                                              "q=64,kv=32,pack=4,warps=8 --dtype kv=int8 --format json")
                                      .out);
  REQUIRE(answer["rows"].size() == 1);
  CHECK(answer["rows"][0]["tile"] == "q=64,kv=32,pack=4,warps=8");
  CHECK(answer["rows"][0]["dtype"] == "fp16,k=int8,v=int8");
}

TEST_CASE("compare prints its columns by name, what rows share once, and refuses a column that does not exist") {
  const std::string compare = "compare --hardware l4,l40s --q-len 1k --heads 4 --dtype fp16 --tile q=64,kv=64,warps=4";
  const Outcome text = run_program(compare);
  CHECK(text.status == 0);
  CHECK(
      text.out.starts_with("predicted: batch 1, heads_q 4, heads_kv 4, q_len 1,024, kv_len 1,024, d_qk 64, d_v 64, "
                           "mask none, pass forward; all rows: kernel flash2, dtype fp16, tile"));
  CHECK(text.out.find("no_time") == std::string::npos);  // every row has a time
  CHECK(run_program(compare + " --format csv").out.starts_with("hardware,kernel,dtype,tile,fits,"));
  CHECK(run_program(compare + " --sort microsecond").status == 2);
}

}  // namespace search_compare_test
