// Tests `sweep` as a program: axes behave like options, and points that cannot run stay in the answer.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cli/run_program.h"

namespace sweep_test {

using namespace tilescope;
using namespace tilescope::cli;
using nlohmann::json;

namespace {

using Row = std::map<std::string, std::string>;  // value by column

std::vector<Row> rows_of(const Outcome& outcome) {
  std::vector<std::string> lines = split(outcome.out, '\n');
  REQUIRE(lines.size() >= 2);
  REQUIRE(lines.back() == "");
  lines.pop_back();
  const std::vector<std::string> columns = split(lines[0], ',');
  std::vector<Row> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = csv_cells(lines[i]);
    REQUIRE(cells.size() == columns.size());
    Row row;
    for (std::size_t c = 0; c < cells.size(); ++c) row[columns[c]] = cells[c];
    rows.push_back(row);
  }
  return rows;
}

const std::string sweep = "sweep --hardware h200_sxm ";

std::vector<Row> swept(const std::string& words, int status = 0) {
  CAPTURE(words);
  const Outcome outcome = run_program(sweep + words);
  CHECK(outcome.err == "");
  CHECK(outcome.status == status);
  return rows_of(outcome);
}

}  // namespace

TEST_CASE("with a block mask no axis of a sweep may change the lengths, because the mask has one shape") {
  const ScratchFolder folder;
  const std::string file = folder / "m.yaml", mask = "--mask block-sparse:" + file;
  write_file(file,
             "schema: tilescope/mask/1\nblock_q: 64\nblock_kv: 64\nrows: [\"1000\", \"1100\", \"0110\", \"0011\"]\n");
  for (const std::string axis : {"q_len", "kv_len", "seqlen"})
    check_refused(sweep +
                      (axis == "q_len"    ? "--kv-len 256 "
                       : axis == "kv_len" ? "--q-len 256 "
                                          : "") +
                      mask + " --axis " + axis + "=64,2000,100000",
                  fmt::format("error: --axis: '{}' changes the lengths, and mask 'block-sparse:{}' is drawn for one "
                              "q_len and kv_len; sweep another axis or use another mask",
                              axis, file));
  CHECK(swept("--q-len 256 " + mask + " --axis tile_q=64,128 --axis batch=1,2").size() == 4);
}

TEST_CASE("a swept size also sets the size that follows it, as the option does") {
  for (const Row& row : swept("--q-len 64 --axis heads_q=4,8")) CHECK(row.at("heads_kv") == row.at("heads_q"));
  for (const Row& row : swept("--axis q_len=64,128")) CHECK(row.at("kv_len") == row.at("q_len"));
  for (const Row& row : swept("--q-len 64 --axis head_dim=64,128")) CHECK(row.at("d_v") == row.at("d_qk"));
}

TEST_CASE("a swept size does not change the size that follows it when an option, a workload or an axis gives that") {
  for (const Row& row : swept("--q-len 64 --heads-kv 2 --axis heads_q=4,8")) CHECK(row.at("heads_kv") == "2");
  for (const Row& row : swept("--kv-len 32 --axis q_len=64,128")) CHECK(row.at("kv_len") == "32");
  for (const Row& row : swept("--q-len 64 --v-head-dim 32 --axis head_dim=64,128")) CHECK(row.at("d_v") == "32");
  const Row base = swept("--workload llama3-70b-decode --tile q=64,kv=64 --axis batch=1").front();
  for (const Row& row : swept("--workload llama3-70b-decode --tile q=64,kv=64 --axis q_len=1,2 --axis heads_q=64,128 "
                              "--axis head_dim=64")) {
    CHECK(row.at("kv_len") == base.at("kv_len"));
    CHECK(row.at("heads_kv") == base.at("heads_kv"));
    CHECK(row.at("d_v") == "64");
  }
  std::set<std::string> shapes;
  for (const Row& row :
       swept("--axis q_len=64,128 --axis kv_len=32,256 --axis head_dim=16,32 --axis v_head_dim=64,128"))
    shapes.insert(row.at("q_len") + " " + row.at("kv_len") + " " + row.at("d_qk") + " " + row.at("d_v"));
  CHECK(shapes.size() == 16);
}

TEST_CASE("a point of a sweep has the numbers that predict gives for its options") {
  const Row row = swept("--axis heads_q=8 --axis q_len=1000 --tile q=64,kv=128 --mask causal").front();
  const json predicted = json::parse(run_program("predict --hardware h200_sxm --heads 8 --q-len 1000 --tile "
                                                 "q=64,kv=128 --mask causal --format json")
                                         .out);
  for (const json& level : predicted["traffic"])
    for (const std::string direction : {"read", "write"})
      CHECK(row.at(level["level"].get<std::string>() + "_" + direction + "_bytes") ==
            level[direction + "_bytes"].dump());
  CHECK(std::stod(row.at("seconds")) == doctest::Approx(predicted["time"]["seconds"].get<double>()));
  CHECK(row.at("bound_by") == predicted["time"]["bound_by"].get<std::string>());
}

TEST_CASE("a line of sweep's JSON is predict's object without terms and bounds") {
  const std::string kernel =
      " --hardware h200_sxm --kernel fused_mma --head-dim 128 --tile q=128,kv=64,warps=8 --format json";
  json predicted = json::parse(run_program("predict --heads 16 --q-len 4k" + kernel).out);
  for (const char* only_there : {"terms", "bounds"}) CHECK(predicted.erase(only_there) == 1);
  CHECK(json::parse(run_program("sweep --axis heads_q=16 --axis q_len=4k" + kernel).out) == predicted);
}

TEST_CASE("an axis alone gives its size, and two sources of one size are refused") {
  CHECK(swept("--axis q_len=64:128:x2").size() == 2);
  CHECK(swept("--axis seqlen=64:128:x2").size() == 2);
  CHECK(swept("--axis heads_q=8,16 --axis heads_kv=8 --axis q_len=64").size() == 2);
  check_refused(sweep + "--axis batch=1,2",
                "error: --q-len: is missing: give --q-len (and --kv-len, --heads-q, --head-dim, ...) or --workload");
  check_refused(
      sweep + "--kv-len 64 --axis seqlen=64",
      "error: --axis: 'seqlen' sets kv_len, which --kv-len holds fixed; sweep q_len instead or leave out --kv-len");
  check_refused(sweep + "--q-len 64 --axis tile_q=64 --axis tile-q=32",
                "error: --axis: axes 'tile_q' and 'tile_q' both set tile_q; give one");
}

TEST_CASE("a violation inside a sweep names the axis values of its point") {
  const Outcome odd = run_program(sweep + "--q-len 64 --heads 4 --axis batch=1,2 --axis heads_kv=4,3");
  CHECK(odd.status == 2);
  CHECK(odd.err ==
        "error: --axis: at batch=1, heads_kv=3: heads_q must be a multiple of heads_kv so that every KV head serves "
        "equally many query heads, "
        "found heads_q 4 and heads_kv 3\n");
  const Outcome huge = run_program(sweep + "--q-len 1m --l2 closed --axis batch=1,1024m");
  CHECK(huge.status == 2);
  CHECK(huge.err == "error: --axis: at batch=1073741824: a count exceeds 2^63 - 1; use smaller sizes\n");
}

TEST_CASE("a point the kernel is not built for stays in the sweep without numbers") {
  const std::string words = "--q-len 1k --kernel fused_mma --axis head_dim=64,96,128";
  const std::vector<Row> rows = swept(words);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("feasible") == "true");
  CHECK(rows[1].at("feasible") == "false");
  CHECK(rows[1].at("d_qk") == "96");
  for (const char* number :
       {"hbm_read_bytes", "register_write_bytes", "compulsory_bytes", "tensor_flop", "exp", "seconds", "bound_by"}) {
    CHECK(rows[0].at(number) != "");
    CHECK(rows[1].at(number) == "");
  }
  CHECK(rows[2].at("feasible") == "true");  // the tile is the kernel's variant for head_dim 128
  const std::vector<std::string> lines = split(run_program(sweep + words + " --format json").out, '\n');
  REQUIRE(lines.size() == 4);
  const json first = json::parse(lines[0]), second = json::parse(lines[1]);
  CHECK(second["schema"] == first["schema"]);
  CHECK(second["feasible"] == false);
  CHECK(second["unsupported"] == json::array({"kernel 'fused_mma' is not built for head_dim 96; built: 64, 128, 256"}));
  for (const auto& [key, value] : first["point"].items()) CHECK_MESSAGE(second["point"].contains(key), key);
}

TEST_CASE("what an axis changes is a column of its rows, and no column stays the same without being asked for") {
  const std::string point = "--l2 closed --q-len 256 --head-dim 64 ";
  std::set<std::string> seen;
  for (const Row& row : swept("--schedule matmul --l2 closed --axis size.a=64,128 --axis size.b=32,96")) {
    CHECK(row.contains("diagram") == false);
    seen.insert(row.at("sizes"));
  }
  CHECK(seen ==
        std::set<std::string>{"a=64;b=32;c=4096", "a=64;b=96;c=4096", "a=128;b=32;c=4096", "a=128;b=96;c=4096"});
  seen.clear();
  for (const Row& row : swept("--q-len 256 --head-dim 64 --axis l2=walk,closed")) seen.insert(row.at("l2"));
  CHECK(seen == std::set<std::string>{"walk", "closed"});
  seen.clear();
  for (const Row& row : swept(point + "--axis diagram=attention,attention_softcap_alibi"))
    seen.insert(row.at("diagram"));
  CHECK(seen == std::set<std::string>{"attention", "attention_softcap_alibi"});
  for (const Row& row : swept(point + "--axis batch=1,2")) CHECK_FALSE(row.contains("sizes"));
  for (const Row& row : swept(point + "--axis batch=1,2 --columns batch,l2,sizes")) CHECK(row.at("l2") == "closed");
}

TEST_CASE("a sweep without any point that can run answers no") {
  for (const Row& row : swept("--q-len 1k --head-dim 72 --kernel fused_mma --axis batch=1,2", 1))
    CHECK(row.at("outside") == "kernel 'fused_mma' is not built for head_dim 72; built: 64, 128, 256");
  CHECK(swept("--q-len 1k --head-dim 128 --kernel fused_mma --axis tile_q=7,9", 1).size() == 2);
  const std::vector<Row> big = swept("--q-len 1k --axis tile_q=4096", 1);
  CHECK(big.front().at("feasible") == "false");
  CHECK(big.front().at("hbm_read_bytes") != "");
  CHECK(big.front().at("seconds") == "");
  CHECK(big.front().at("bound_by") == "");
}

TEST_CASE("sweep's CSV tells rows apart by schedule, kernel, every dtype and every tile parameter") {
  const std::string words = "--q-len 1k --axis batch=1 ";
  const Row flash = swept(words).front(), mixed = swept(words + "--dtype fp16,kv=int8:g64:b2").front(),
            standard = swept(words + "--schedule standard").front();
  CHECK(flash.at("schedule") == "flash2");
  CHECK(standard.at("schedule") == "standard");
  CHECK(flash.at("dtype") == "fp16");
  CHECK(mixed.at("dtype") == "fp16;k=int8:g64:b2;v=int8:g64:b2");
  CHECK(swept(words + "--dtype q=fp8_e4m3,l=fp16").front().at("dtype") == "fp16;q=fp8_e4m3;l=fp16");
  CHECK(swept(words + "--kernel fused_mma --dtype bf16").front().at("dtype") == "bf16");
  for (const auto& [schedule, row] : {std::pair<std::string, Row>{"flash2", flash}, {"standard", standard}}) {
    const json point =
        json::parse(run_program(sweep + words + "--schedule " + schedule + " --format json").out)["point"];
    for (const auto& [parameter, value] : point["tile"].items())
      CHECK(row.at(parameter == "warps" ? parameter : "tile_" + parameter) == value.dump());
    CHECK(static_cast<std::size_t>(std::count_if(row.begin(), row.end(), [](const auto& cell) {
            return cell.first.starts_with("tile_");
          })) == point["tile"].size() - 1);
  }
}

TEST_CASE("--columns chooses the columns of a sweep in its order") {
  const auto unfused =
      swept("--schedule standard --heads 2 --axis seqlen=1k,2k --l2 closed --columns memory_bytes,q_len");
  REQUIRE(unfused.size() == 2);
  REQUIRE(unfused[0].size() == 2);
  CHECK(unfused[1].at("q_len") == "2048");
  // Q, K, V and O of 64 values a row, S and P, in 2 bytes.
  for (const Row& row : unfused) {
    const std::int64_t n = std::stoll(row.at("q_len"));
    CHECK(std::stoll(row.at("memory_bytes")) >= 2 * 2 * (4 * n * 64 + 2 * n * n));
    CHECK(std::stoll(row.at("memory_bytes")) <= 2 * 2 * (4 * n * 64 + 2 * n * n) + 2 * 2 * 4 * n);  // and statistics
  }
  CHECK(run_program(sweep + "--axis seqlen=1k --columns q_len,memory").err.find("did you mean") != std::string::npos);
  CHECK(run_program(sweep + "--axis seqlen=1k --columns q_len --format json").status == 2);
}

TEST_CASE("a sweep into a file says that no point can run, and so does its merge") {
  const ScratchFolder folder;
  const std::string sweep =
      "sweep --hardware h200_sxm --kernel fused_mma --axis q_len=1k,2k --head-dim 72 -o " + folder / "rows.csv";
  for (const std::string& words : {sweep, "sweep merge -o " + folder / "rows.csv"}) {
    CAPTURE(words);
    const Outcome outcome = run_program(words);
    CHECK(outcome.status == 1);
    CHECK(outcome.err == "note: no point can run\n");
    if (words == sweep)
      for (const char* shard : {" --shard 1/2", " --shard 2/2"}) CHECK(run_program(sweep + shard).status == 0);
  }
}

TEST_CASE("rows that share cells with the row before have those of a sweep of their point alone") {
  const std::string rest = " --heads 8 --head-dim 64 --tile q=64,kv=64,warps=4 --l2 closed ";
  const Outcome outcome = run_program(
      "sweep --axis hardware=h200_sxm,mi300x --axis dtype=fp16,nvfp4 --axis mask=none,causal --axis q_len=100:4k:+100 "
      "--random 16 --seed 5" +
      rest);
  const std::vector<Row> rows = rows_of(outcome);
  REQUIRE(rows.size() == 16);
  std::set<std::string> hardware, bases;
  for (const Row& row : rows) {
    hardware.insert(row.at("hardware")), bases.insert(row.at("basis"));
    const Outcome alone =
        run_program(fmt::format("sweep --hardware {} --dtype {} --mask {} --axis q_len={}{}", row.at("hardware"),
                                row.at("dtype"), row.at("mask"), row.at("q_len"), rest));
    CHECK(rows_of(alone) == std::vector<Row>{row});
  }
  CHECK(hardware.size() == 2);
  CHECK(bases.size() > 1);
}

}  // namespace sweep_test
