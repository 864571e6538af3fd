// Many points as a program: the same bytes on any number of threads, in any locale and time zone; forms by file name.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cli/run_program.h"

namespace many_points_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

const std::string points = "sweep --hardware h200_sxm --schedule flash2 --heads 16 --head-dim 128 --l2 closed ";

std::string answered(const std::string& words, const std::string& environment = "") {
  CAPTURE(words);
  const ScratchFolder folder;
  const std::string out = folder / "out";
  const std::string command = environment + " timeout 120 '" TILESCOPE_BINARY "' " + words + " >" + out + " 2>&1";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) <= 2);
  return content_of(out);
}

}  // namespace

TEST_CASE("the answer is the same on one thread and on 2 or 7") {
  const ScratchFolder folder;
  std::size_t turn = 0;
  const std::string records = TILESCOPE_SOURCE_DIR "/validate/records/h200/decode.jsonl";
  for (const std::string& words : std::vector<std::string>{
           points + "--axis q_len=1:3k:+19 --tile first",
           points + "--axis q_len=1k,2k --axis mask=none,causal --format json",
           "sweep --heads 4 --head-dim 64 --axis q_len=256:2k:+256 --axis hardware=h200_sxm,l40s --axis tile_q=64,128",
           "search --hardware h200_sxm --heads 16 --q-len 2k --head-dim 128 --format json",
           "compare --hardware h200_sxm,l40s,a100_sxm_80 --dtype fp16,bf16 --heads 8 --q-len 1k --head-dim 64 --format "
           "csv",
           "derive attention --heads 4 --q-len 1k --head-dim 64 --format json",
           "validate --recorded " + records + " --format json", "report --recorded " + records + " --format json"}) {
    const std::string one = answered(words + " --threads 1");
    CHECK(one.size() > 100);
    const std::string several = turn++ % 3 == 0 ? " --threads 2" : " --threads 7";
    CAPTURE(several);
    CHECK(answered(words + several) == one);
  }
}

TEST_CASE("an error in the middle ends at the same point on any number of threads") {
  const std::string words = points + "--axis q_len=1k:2k:+1 --axis batch=1,1099511627776";
  const std::string one = answered(words + " --threads 1");
  CHECK(one.find("error: --axis: at q_len=1024, batch=1099511627776: a count exceeds 2^63 - 1") != std::string::npos);
  for (const std::string threads : {"2", "7"}) CHECK(answered(words + " --threads " + threads + "") == one);
}

TEST_CASE("neither locale nor time zone changes a byte") {
  const ScratchFolder folder;
  // A locale with a decimal comma, made where the system has its source.
  const std::string made = "localedef -i de_DE -f UTF-8 " + (folder / "de_DE.UTF-8") + " >/dev/null";
  const bool german = std::system(made.c_str()) == 0;
  const std::string elsewhere = german ? "LOCPATH=" + folder.path() + " LC_ALL=de_DE.UTF-8 TZ=Asia/Kathmandu"
                                       : std::string("LC_ALL=C.UTF-8 TZ=Asia/Kathmandu");
  for (const std::string& words : std::vector<std::string>{
           points + "--axis q_len=1k,2k",
           "predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128",
           "predict --hardware h200_sxm --heads 16 --q-len 4k --head-dim 128 --format json",
           "validate --recorded " TILESCOPE_SOURCE_DIR "/validate/records/h200/decode.jsonl --format md",
           "report --format md --recorded " TILESCOPE_SOURCE_DIR "/src/fuzz/corpus/record/causal.jsonl",
           "hardware show h200_sxm", "derive attention --heads 4 --q-len 1k --head-dim 64"})
    CHECK(answered(words, "LC_ALL=C TZ=UTC") == answered(words, elsewhere));
}

TEST_CASE("the name of a sweep's file chooses its form") {
  const ScratchFolder folder;
  const std::string words = points + "--axis q_len=1k,2k --columns q_len,seconds -o ";
  const auto written = [&](const std::string& name) {
    CHECK(run_program(words + (folder / name)).status == 0);
    return content_of(folder / name);
  };
  CHECK(written("a.csv").starts_with("q_len,seconds\n1024,"));
  CHECK(written("a.md").starts_with("| q_len |"));
  CHECK(written("a.sqlite").starts_with("SQLite format 3"));
  CHECK(written("a.other").starts_with("q_len,seconds\n"));
  CHECK(run_program(points + "--axis q_len=1k,2k -o " + (folder / "a.jsonl")).status == 0);
  CHECK(content_of(folder / "a.jsonl").starts_with("{\"schema\":\"tilescope/prediction/1\""));
  CHECK(run_program(words + (folder / "b.parquet")).err.find("FILE.csv") != std::string::npos);
  CHECK(run_program(words + (folder / "b.sqlite") + " --format csv").status == 2);
  CHECK(folder.entries() == 5);
}

TEST_CASE("more points than anybody waits for are refused with numbers, and so are shards that are none") {
  const Outcome many = run_program(points + "--axis q_len=1:10000:+1 --axis batch=1:10000:+1");
  CHECK(many.status == 2);
  CHECK(many.out == "");
  CHECK(many.err.find("the axes have 100,000,000 points, about ") != std::string::npos);
  const ScratchFolder folder;
  for (const std::string shard : {"0/3", "4/3", "3", "1/0", "a/b", "1/3/4"})
    CHECK(run_program(points + "--axis q_len=1k -o " + (folder / "a.csv") + " --shard " + shard)
              .err.find("expected NUMBER/OF") != std::string::npos);
  check_refused(points + "--axis q_len=1k --shard 1/2",
                "error: --shard: needs -o FILE, the file that sweep merge will write");
  CHECK(run_program("sweep merge").status == 2);
  CHECK(run_program("sweep merge -o " + (folder / "none.csv")).err.find("there is no file") != std::string::npos);
  CHECK(run_program("sweep mrege").status == 2);
}

TEST_CASE("shards between which a named file was changed are not merged, and the older one is predicted again") {
  const ScratchFolder folder;
  const std::string gpu = folder / "gpu.yaml", file = folder / "a.csv";
  const auto write_gpu = [&](const char* sed) {
    REQUIRE(std::system(
                ("sed '" + std::string(sed) + "' " TILESCOPE_SOURCE_DIR "/hardware/l40s.yaml >" + gpu).c_str()) == 0);
  };
  const std::string words = "sweep --schedule flash2 --heads 16 --head-dim 128 --l2 closed --axis hardware=h200_sxm," +
                            gpu + " --axis q_len=1k,2k --columns hardware,q_len,seconds -o " + file + " --shard ";
  write_gpu("");
  CHECK(run_program(words + "1/2").status == 0);
  write_gpu("s/value: 142/value: 71/");
  CHECK(run_program(words + "2/2").status == 0);
  const Outcome merged = run_program("sweep merge -o " + file);
  CAPTURE(merged.err);
  CHECK(merged.status == 2);
  CHECK(merged.err.find("read other files: ") != std::string::npos);
  CHECK(run_program(words + "1/2").err.find("is there already") == std::string::npos);
  CHECK(run_program("sweep merge -o " + file).status == 0);
  CHECK(run_program(words + "1/2").err.find("is there already") != std::string::npos);
}

TEST_CASE("a changed shard is refused with its name, whatever was changed") {
  const ScratchFolder folder;
  const std::string words = points + "--axis q_len=1k,2k --columns q_len,seconds --shard 1/1 -o " + (folder / "a.csv"),
                    file = folder / "a.csv.shard-0001-of-0001";
  REQUIRE(run_program(words).status == 0);
  const std::string whole = content_of(file);
  const auto refused = [&](const std::string& part, const std::string& instead, const std::string& message) {
    std::string changed = whole;
    changed.replace(changed.find(part), part.size(), instead);
    write_file(file, changed);
    const Outcome outcome = run_program("sweep merge -o " + (folder / "b.csv") + " " + file);
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find(file) != std::string::npos);
    CHECK(outcome.err.find(message) != std::string::npos);
  };
  refused("\n[1024,", "\n[}", "a line is no row");
  refused("\n[1024,", "\n[1024,7,", "a line is no row");
  refused("\n[1024,", "\n[1025,", "rows and checksum differ");
  refused("\"of\":1", "\"of\":4611686018427387904", "at most 1000000 are possible");
  for (const std::string of : {"-1", "1e308", "1.5", "\"1\""}) refused("\"of\":1", "\"of\":" + of, "is no shard");
  refused("{\"end\"", "{\"no_end\"", "a line is no row");
  refused(whole.substr(whole.find("{\"end\"")), "", "is cut off");
}

}  // namespace many_points_test
