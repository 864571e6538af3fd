// --diagram, --size, --splits and --pass in every command that takes a point, and every schedule through every command.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/text.h"
#include "cli/run_program.h"

namespace plan_options_test {

using namespace tilescope;
using namespace tilescope::cli;
using nlohmann::json;

namespace {

const std::string gpu = " --hardware h200_sxm ";
const std::vector<std::string> attention_schedules{
    "standard", "flash1",          "flash1-printed",  "flash2",
    "split-kv", "flash1-backward", "flash2-backward", "flash2-backward-split"};
// Commands and what each needs beside the point.
const std::vector<std::string> commands_with_a_point{"predict", "explain", "search", "compare", "sweep --axis batch=1"};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

json answered(const std::string& words) {
  CAPTURE(words);
  const Outcome outcome = run_program(words + " --format json");
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE("every schedule goes through every command, in text and JSON, without a null or a doubled row") {
  for (const std::string& schedule : attention_schedules) {
    const std::string point = gpu + "--schedule " + schedule + " --q-len 512 --heads 4 --head-dim 64";
    for (const std::string& command : commands_with_a_point) {
      CAPTURE(command);
      CAPTURE(schedule);
      const Outcome plain = run_program(command + point), objects = run_program(command + point + " --format json");
      CHECK(plain.status == 0);
      CHECK(objects.status == 0);
      CHECK(!plain.out.empty());
      CHECK_NOTHROW(
          json::parse(split(objects.out, '\n').front() == "{" ? objects.out : split(objects.out, '\n').front()));
    }
    const json prediction = answered("predict" + point);
    CHECK(prediction["point"]["pass"] == (has(schedule, "backward") ? "backward" : "forward"));
    std::vector<std::string> seen;
    for (const json& term : prediction["terms"]) {
      const std::string key = fmt::format("{}|{}|{}|{}|{}", term["island"].get<std::string>(),
                                          term["boundary"].get<std::string>(), term["array"].get<std::string>(),
                                          term["direction"].get<std::string>(), term["kind"].get<std::string>());
      CHECK_MESSAGE(!contains(seen, key), key);
      seen.push_back(key);
    }
    double seconds = 0;
    for (const json& kernel : prediction["kernels"]) seconds += kernel["seconds"].get<double>();
    CHECK(seconds == doctest::Approx(prediction["time"]["seconds"].get<double>()));
  }
}

TEST_CASE("--pass backward alone is the shipped backward schedule, and must agree with a given one") {
  const json backward = answered("predict" + gpu + "--pass backward --q-len 512");
  CHECK(backward["point"]["schedule"] == "flash2-backward");
  CHECK(backward["point"]["pass"] == "backward");
  CHECK(backward["point"]["diagram"] == "attention_backward");
  for (const char* key : {"q", "k", "v", "o", "do", "dq", "dk", "dv", "l", "acc"})
    CHECK_MESSAGE(backward["point"]["dtypes"].contains(key), key);
  CHECK(answered("predict" + gpu + "--pass forward --q-len 512")["point"]["schedule"] == "flash2");
  CHECK(answered("predict" + gpu + "--pass backward --schedule flash1-backward --q-len 512")["point"]["schedule"] ==
        "flash1-backward");
  CHECK(answered("predict" + gpu + "--diagram attention_backward --q-len 512")["point"]["schedule"] ==
        "flash2-backward");
  for (const std::string& command : commands_with_a_point) {
    check_refused(command + gpu + "--pass backward --schedule flash2 --q-len 512",
                  "error: --pass: expected forward, as schedule 'flash2' is, found 'backward'; leave --pass out or "
                  "choose another schedule");
    check_refused(command + gpu + "--pass backward --kernel fused_mma --q-len 512",
                  "error: --pass: expected forward, as kernel 'fused_mma' is, found 'backward'; leave --pass out or "
                  "choose another kernel");
    check_refused(command + gpu + "--pass forward --schedule flash1-backward --q-len 512",
                  "error: --pass: expected backward, as schedule 'flash1-backward' is, found 'forward'; leave --pass "
                  "out or choose another schedule");
  }
}

TEST_CASE("the gradients' formats are set one by one, and only where the diagram has them") {
  const std::string tile = " --q-len 512 --tile q=64,kv=64,warps=4";
  const auto bytes_of = [](const json& prediction, const std::string& array, const std::string& direction) {
    std::int64_t bytes = 0;
    for (const json& term : prediction["terms"])
      if (term["boundary"] == "l2" && term["array"] == array && term["direction"] == direction)
        bytes += term["bytes"].get<std::int64_t>();
    return bytes;
  };
  const json half = answered("predict" + gpu + "--pass backward" + tile),
             whole = answered("predict" + gpu + "--pass backward --dtype do=fp32,dk=fp32,acc=fp16" + tile);
  CHECK(bytes_of(whole, "dO", "read") == 2 * bytes_of(half, "dO", "read"));
  CHECK(bytes_of(whole, "dK", "write") == 2 * bytes_of(half, "dK", "write"));
  CHECK(2 * bytes_of(whole, "dQ_acc", "read") == bytes_of(half, "dQ_acc", "read"));
  CHECK(bytes_of(whole, "dV", "write") == bytes_of(half, "dV", "write"));
  check_refused("predict" + gpu + "--q-len 512 --dtype dv=fp16",
                "error: --dtype: no array takes the key 'dv'; did you mean 'kv'?");
  check_refused("predict" + gpu + "--schedule matmul --dtype zz=fp16",
                "error: --dtype: no array takes the key 'zz'; known: a, b, c");
}

TEST_CASE("--splits is the tile of that name, alone it leaves the other tiles to the search") {
  const std::string point = gpu + "--schedule split-kv --heads 8 --heads-kv 2 --q-len 1 --kv-len 4k";
  const json seven = answered("predict" + point + " --splits 7");
  CHECK(seven["point"]["tile"]["splits"] == 7);
  CHECK(seven ==
        answered("predict" + point + " --splits 7 --tile q=" + std::to_string(seven["point"]["tile"]["q"].get<int>()) +
                 ",kv=" + std::to_string(seven["point"]["tile"]["kv"].get<int>()) +
                 ",pack=" + std::to_string(seven["point"]["tile"]["pack"].get<int>()) +
                 ",warps=" + std::to_string(seven["point"]["tile"]["warps"].get<int>())));
  CHECK(answered("predict" + point + " --tile splits=3")["point"]["tile"]["splits"] == 3);
  const json searched = answered("search" + point + " --splits 7");
  for (const json& row : searched["feasible"]) CHECK(row["tile_splits"] == 7);
  CHECK(!searched["feasible"].empty());
  CHECK(has(answered("compare" + point + " --splits 7")["rows"][0]["tile"].get<std::string>(), "splits=7"));
  const json swept = json::parse(run_program("sweep" + point + " --splits 7 --axis batch=1 --format json").out);
  CHECK(swept["point"]["tile"] == seven["point"]["tile"]);
  check_refused(
      "predict" + gpu + "--q-len 512 --splits 4",
      "error: --splits: schedule 'flash2' does not split an axis; choose one that does, as in --schedule split-kv");
  check_refused("predict" + point + " --splits 4 --tile splits=2",
                "error: --splits: 'splits' is given twice, here and in --tile");
  for (const std::string value : {"0", "-1", "abc", "1.5"})
    check_refused("predict" + point + " --splits " + value,
                  "error: --splits: expected an integer from 1 to 1099511627776, found '" + value + "'");
}

TEST_CASE("--diagram applies the schedule to another diagram, and says in one line when it does not fit") {
  const json paged =
      answered("predict" + gpu + "--diagram attention_paged --size pages=64 --heads 4 --q-len 1 --kv-len 1k");
  CHECK(paged["point"]["diagram"] == "attention_paged");
  CHECK(paged["point"]["sizes"]["pages"] == 64);
  const json plain = answered("predict" + gpu + "--heads 4 --q-len 1 --kv-len 1k");
  CHECK(plain["point"]["sizes"].empty());
  CHECK(paged["compulsory_bytes"].get<std::int64_t>() - plain["compulsory_bytes"].get<std::int64_t>() ==
        64 * 4);  // int32 places of 64 pages
  const std::string file = TILESCOPE_SOURCE_DIR "/models/diagrams/mla_expanded.yaml";
  CHECK(answered("predict" + gpu + "--diagram " + file + " --heads 4 --q-len 512")["point"]["diagram"] ==
        "mla_expanded");
  CHECK(
      has(run_program("predict" + gpu + "--diagram mla_expanded --size d_nope=64,d_rope=32 --heads 4 --q-len 512").out,
          "d_nope 64, d_rope 32"));
  for (const std::string& command : commands_with_a_point) {
    check_refused(command + gpu + "--diagram nothing --q-len 512",
                  run_program("predict" + gpu + "--diagram nothing --q-len 512")
                      .err.substr(0, run_program("predict" + gpu + "--diagram nothing --q-len 512").err.size() - 1));
    check_refused(command + gpu + "--diagram matmul",
                  "error: --diagram: schedule 'flash2' does not fit diagram 'matmul': islands[0].loops[1].axis: 'k' is "
                  "not an axis of diagram 'matmul'; known: a, b, "
                  "c; give another --schedule");
    check_refused(command + gpu + "--diagram attention --kernel fused_mma --q-len 512",
                  "error: --diagram: give --kernel or --diagram, not both: a kernel computes its schedule's diagram; "
                  "use --schedule");
  }
}

TEST_CASE("--size sets the diagram's own sizes, once or in a list") {
  const json list = answered("predict" + gpu + "--schedule matmul --size a=2k,b=1k,c=512"),
             repeated = answered("predict" + gpu + "--schedule matmul --size a=2k --size b=1k,c=512");
  CHECK(list == repeated);
  CHECK(list["point"]["sizes"] == json{{"a", 2048}, {"b", 1024}, {"c", 512}});
  CHECK(list["work"]["model_flop"] == 2LL * 2048 * 1024 * 512);
  CHECK(list["compulsory_bytes"] == 2LL * (2048 * 1024 + 1024 * 512 + 2048 * 512));
  const std::string expected =
      "error: --size: expected NAME=SIZE[,NAME=SIZE...] with positive sizes, as in a=1024,b=2k, found '";
  for (const std::string value : {"a", "a=", "a=0", "a=-1", "a=x", "=4", "a=1099511627777"})
    check_refused("predict" + gpu + "--schedule matmul --size " + value, expected + value + "'");
  check_refused("predict" + gpu + "--schedule matmul --size ''", expected + "'");
  check_refused("predict" + gpu + "--schedule matmul --size a=1,a=2", "error: --size: 'a' is given twice");
  check_refused("predict" + gpu + "--schedule matmul --size a=1 --size a=2", "error: --size: 'a' is given twice");
  check_refused("predict" + gpu + "--diagram attention_paged --size page=4 --q-len 512",
                "error: --size: diagram 'attention_paged' has no size 'page'; did you mean 'pages'?");
  check_refused("predict" + gpu + "--size a=4 --q-len 512",
                "error: --size: diagram 'attention' has no size 'a'; its axes are sized by the workload");
}

TEST_CASE("a command of one GPU says what takes several") {
  for (const std::string command : {"predict --q-len 1k", "sweep --axis batch=1,2 --q-len 1k", "search --q-len 1k"})
    check_refused(command + " --hardware l4,l40s",
                  "error: --hardware: expected one GPU, found 'l4,l40s'; compare takes several, and sweep as in --axis "
                  "hardware=h100_sxm,h200_sxm");
  check_refused("sweep --axis hardware=l4,l40s --set compute.units=20 --q-len 1k",
                "error: --set: changes the GPU of --hardware; of an axis of GPUs as in --axis set.compute.units=160");
}

TEST_CASE("a diagram without queries and keys needs no workload and takes no attention options") {
  CHECK(run_program("predict" + gpu + "--schedule matmul").status == 0);
  for (const std::string option : {"batch", "heads-q", "heads-kv", "q-len", "kv-len", "head-dim", "v-head-dim"})
    for (const std::string& words : {"predict" + gpu + "--schedule matmul", std::string("derive matmul"),
                                     "sweep" + gpu + "--schedule matmul --axis size.a=64,128"})
      check_refused(words + " --" + option + " 4",
                    fmt::format("error: --{}: diagram 'matmul' has no axis of that size; its sizes: --size a, "
                                "--size b, --size c",
                                option));
  for (const std::string& words : {"predict" + gpu + "--schedule matmul", std::string("derive matmul")})
    check_refused(words + " --workload gpt2-medium",
                  "error: --workload: diagram 'matmul' has no size that a workload gives; its sizes: --size a, "
                  "--size b, --size c");
  check_refused("derive matmul --size a=1,a=2", "error: --size: 'a' is given twice");
  check_refused("predict" + gpu + "--schedule matmul --mask causal",
                "error: --mask: diagram 'matmul' has no queries and keys to mask, found 'causal'");
  CHECK(has(run_program("predict" + gpu + "--schedule matmul").out, "fp16, a 4096, b 4096, c 4096, tile a="));
}

TEST_CASE("explain compares the schedule with every lower bound, and shows level, bytes and feature of each line") {
  const std::string words = "explain" + gpu + "--q-len 4k --heads 4 --head-dim 64";
  const std::string text = run_program(words).out, markdown = run_program(words + " --format md").out;
  for (const std::string part : {"lower bounds (of bytes read and written at a level)", "Saha & Ye, arXiv 2402.07443",
                                 "load K[b, k, x, d]", "l2 -> smem", "matrix instructions m16n8k16", "allocate smem"}) {
    CHECK_MESSAGE(has(text, part), part);
    CHECK_MESSAGE(has(markdown, part), part);
  }
  CHECK(has(markdown, "```\nkernel forward:"));
  const json object = answered(words);
  REQUIRE(object["bounds"].size() >= 3);
  for (const json& bound : object["bounds"]) {
    CHECK(bound["times"].get<double>() >= 1);
    CHECK(bound["times"].get<double>() ==
          doctest::Approx(bound["moved_bytes"].get<double>() / bound["bytes"].get<double>()));
  }
  CHECK(has(run_program("explain" + gpu + "--schedule standard --q-len 4k").out,
            "Saha & Ye, arXiv 2402.07443, lemmas 2.8 and 3.3"));
}

TEST_CASE("each point of a sweep takes its best tile; --tile first keeps the first point's, --tile any that is given") {
  const std::string axes = "--pass backward --head-dim 128 --axis seqlen=1k:4k:x2";
  const Outcome outcome = run_program("sweep" + gpu + axes);
  CHECK(outcome.status == 0);
  CHECK(!has(outcome.out, ",false,"));
  const auto tiles = [&](const std::string& words) {
    std::vector<json> found;
    std::istringstream lines(run_program("sweep" + gpu + words + " --format json").out);
    for (std::string line; std::getline(lines, line);) found.push_back(json::parse(line)["point"]["tile"]);
    return found;
  };
  const std::string decode = "--schedule split-kv --heads 8 --heads-kv 1 --q-len 1 --axis kv_len=1k:64k:x8";
  const std::vector<json> best = tiles(decode), first = tiles(decode + " --tile first");
  REQUIRE(best.size() == 3);
  REQUIRE(first.size() == 3);
  CHECK(first[0] == best[0]);
  CHECK(first[2] == first[0]);
  CHECK(best[2] != best[0]);
  const Outcome fixed =
      run_program("sweep" + gpu + "--pass backward --head-dim 128 --tile q=64,kv=128 --axis seqlen=1k:4k:x2");
  CHECK(fixed.status == 1);
  CHECK(fixed.err == "");
}

TEST_CASE("search answers for every schedule and tries at most its limit of points") {
  for (const std::string words : {"--schedule split-kv --q-len 1 --kv-len 8k --heads 32 --heads-kv 8",
                                  "--pass backward --q-len 1k", "--schedule matmul", "--schedule flash1 --q-len 1k"}) {
    const json answer = answered("search" + gpu + words + " --top 100000");
    CHECK(answer["points"] == answer["feasible"].size() + answer["infeasible"].size());
    CHECK(answer["points"].get<std::int64_t>() > 50);
    CHECK(answer["points"].get<std::int64_t>() <= answer["most_points"].get<std::int64_t>());
    CHECK(answer["thinned"] == false);
    for (const json& row : answer["infeasible"]) CHECK(row["too_many_bytes"].get<std::int64_t>() > 0);
    double last = 0;
    json model;
    for (const json& row : answer["feasible"]) {
      if (std::exchange(model, row["l2"]) != row["l2"]) last = 0;  // the best are walked, the others follow them
      CHECK(row["busy_microseconds"].get<double>() >= last);
      last = row["busy_microseconds"].get<double>();
    }
  }
  CHECK(has(run_program("search" + gpu + "--schedule matmul").out, " more; --format json lists them all\n"));
}

}  // namespace plan_options_test
