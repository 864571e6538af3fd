// Input from outside that is wrong on purpose.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "cli/run_program.h"

namespace hostile_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

const std::string decode_records = TILESCOPE_SOURCE_DIR "/validate/records/h200/decode.jsonl";
const std::string fused_point = " --hardware h200_sxm --kernel fused_mma --heads 16 --head-dim 128";

// The first causal record of `main`, with its environment, changed by sed.
Outcome validate_changed(const std::string& sed) {
  const ScratchFolder folder;
  const std::string records = TILESCOPE_SOURCE_DIR "/validate/records/h200/main.jsonl", file = folder / "r.jsonl";
  REQUIRE(std::system(("{ grep tilescope/environment " + records + "; grep -m 1 '\"mask\":\"causal\"' " + records +
                       " | sed '" + sed + "'; } >" + file)
                          .c_str()) == 0);
  return run_program("validate --recorded " + file);
}

}  // namespace

TEST_CASE("a record with one wrong value is refused by its line, and predicted for no other workload") {
  CHECK(validate_changed("").status == 0);
  const std::pair<const char*, const char*> wrong[] = {
      {R"(s/"heads_kv":16/"heads_kv":32/)", "point.workload: heads_q must be a multiple"},
      {R"(s/"heads_kv":16/"heads_kv":5/)", "point.workload: heads_q must be a multiple"},
      {R"(s/"warps":[0-9]*/"warps":4611686018427387904/)", "point.warps: must be from 0 to 64"},
      {R"(s/"warps":[0-9]*/"warps":1000000000/)", "point.warps: must be from 0 to 64"},
      {R"(s/"steady":\[[^]]*\]/"steady":[0,0,0]/)", "seconds.steady: holds a time of 0 s"},
      {R"(s/"passed":true/"passed":false/)", "correctness.passed: is false"},
      {R"(s/"max_error":[^,]*/"max_error":5/)", "correctness.passed: is true, and max_error is above the tolerance"},
      {R"(s/"tile":{"q":[0-9]*/"tile":{"q":0/)", "point.tile.q: is 0: kernel 'fused_mma' is built for"},
      {R"(s/"kv":64}/"kv":0}/)", "point.tile.kv: is 0: kernel 'fused_mma' is built for"},
      {R"(s/"tile":{"q":[0-9]*/"tile":{"q":96/)", "point: kernel 'fused_mma' has no tile 96x"},
      {R"(s/"warps":[0-9]*/"warps":0/)", "point.warps: is 0: kernel 'fused_mma' is built for"},
      {R"(s/_len":[0-9]*/_len":1099511627776/g)", "point: a count exceeds 2^63 - 1"},
      {R"(s/"experiment":"main"/"experiment":"\\ud800"/)", "is no JSON from here on"},
      {R"(s/"experiment":"main"/"experiment":"..\/main"/)", "experiment: may have letters"}};
  for (const auto& [sed, message] : wrong) {
    CAPTURE(sed);
    const Outcome outcome = validate_changed(sed);
    CAPTURE(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find("r.jsonl:") != std::string::npos);
    CHECK(outcome.err.find(message) != std::string::npos);
  }
}

TEST_CASE("a key of a point that nobody knows, and a zero byte in a line, are refused") {
  Outcome outcome = validate_changed(R"(s/"warps":/"splitz":4,"warps":/)");
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("r.jsonl:2: error: point.splitz: unknown key; did you mean 'splits'?") != std::string::npos);
  outcome = validate_changed(R"(s/"heads_kv":/"batch ":4,"heads_kv":/)");
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("point.workload.batch : unknown key; did you mean 'batch'?") != std::string::npos);
  outcome = validate_changed(R"($s/$/\x00{/)");
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("error: is no JSON from here on") != std::string::npos);
}

TEST_CASE("records come from a pipe too") {
  const ScratchFolder folder;
  const std::string records = folder / "few.jsonl", pipe = folder / "pipe";
  REQUIRE(std::system(("head -6 " + decode_records + " >" + records + "; mkfifo " + pipe + "; (cat " + records + " >" +
                       pipe + ") &")
                          .c_str()) == 0);
  const Outcome piped = run_program("validate --recorded " + pipe),
                read = run_program("validate --recorded " + records);
  CHECK(piped.status == 0);
  CHECK(piped.out == read.out);
}

TEST_CASE("records of an experiment without a file have no tolerances: a baseline gates them, and nothing else does") {
  const ScratchFolder folder;
  const std::string records = folder / "mine.jsonl", baseline = folder / "baseline.json";
  REQUIRE(std::system(("head -6 " + decode_records + " | sed 's/\"decode\"/\"mine\"/' >" + records).c_str()) == 0);
  const std::string validate = "validate --recorded " + records;
  const Outcome refused = run_program(validate);
  CHECK(refused.status == 2);
  CHECK(refused.err.starts_with(records + ":"));
  CHECK(refused.err.find("error: experiment: tilescope has no experiment 'mine', so no tolerances: name them with "
                         "--experiment FILE, or gate with --baseline FILE") != std::string::npos);
  CHECK(run_program(validate + " --update-baseline --baseline " + baseline).status == 0);
  CHECK(run_program(validate + " --baseline " + baseline).status == 0);
  CHECK(run_program("report --recorded " + records + " -o " + folder / "report.html").status == 0);
}

TEST_CASE("an L2 of any size that a profile may state takes no more memory or time") {
  for (const char* capacity : {"2 TiB", "100 TiB", "1e18 B"}) {
    CAPTURE(capacity);
    const auto begin = std::chrono::steady_clock::now();
    CHECK(run_program("predict --q-len 2k --set levels.l2.capacity='" + std::string(capacity) + "'" + fused_point)
              .status == 0);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
  }
}

TEST_CASE("what is no file is refused by its name, and endless ones are not read to their end") {
  const ScratchFolder folder;
  const std::string loop = folder / "loop";
  std::filesystem::create_symlink(loop, loop);
  for (const std::string& command :
       {std::string("validate --recorded "), std::string("inspect "), "records convert -o " + folder / "out "}) {
    CAPTURE(command);
    for (const std::string& file :
         {loop, std::string(5000, 'x'), std::string("/dev/zero"), std::string("/dev/null/x")}) {
      const Outcome outcome = run_program(command + file);
      CAPTURE(outcome.err);
      CHECK(outcome.status == 2);
      CHECK(outcome.err.starts_with(file.substr(0, 50)));
      CHECK(outcome.err.find("internal") == std::string::npos);
      CHECK(outcome.err.size() < 1000);
    }
  }
  check_refused("sweep merge /dev/zero -o " + folder / "merged.csv",
                "/dev/zero: error: holds a zero byte: it is damaged");
  if (run_program("--version").out.find("built without CUDA") == std::string::npos)  // else it cannot capture at all
    check_refused("capture -o " + loop + " -- true",
                  loop + "/capture.jsonl: error: cannot be used: Too many levels of symbolic links");
}

TEST_CASE("import refuses a wrong kernel or GPU once, not launch by launch") {
  const std::string trace = TILESCOPE_SOURCE_DIR "/src/import/testdata/torch_trace.json.gz",
                    csv = TILESCOPE_SOURCE_DIR "/src/import/testdata/ncu_raw.csv";
  for (const std::string& words : {"import " + trace + " --kernel", "run --from " + trace + " --kernel",
                                   "validate --import " + csv + " --kernel", "import " + csv + " --hardware"}) {
    CAPTURE(words);
    const Outcome outcome = run_program(words + " nosuch");
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
    CHECK(outcome.err.find("'nosuch'; known: ") != std::string::npos);
  }
}

TEST_CASE("what is quoted from the command line is one short line without control characters") {
  const std::string escape = "\"$(printf '\\033[2J\\nx')\"", long_word = "$(head -c 100000 /dev/zero | tr '\\0' a)";
  for (const std::string& words :
       {"predict --mask " + escape + fused_point, "predict --dtype " + escape + fused_point,
        "predict --tile q=" + escape + fused_point, escape, "predict " + escape + fused_point, "derive " + escape,
        "inspect " + escape, "validate --recorded " + escape, "predict --format " + escape + fused_point,
        "predict -o /none/" + escape + fused_point, "predict --mask " + long_word + fused_point,
        "sweep --axis " + long_word + "=1" + fused_point, long_word, "predict --kernel " + long_word}) {
    CAPTURE(words);
    const Outcome outcome = run_program(words);
    CAPTURE(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    CHECK(outcome.err.find('\x1b') == std::string::npos);
    CHECK(outcome.err.size() < 4000);
  }
  check_refused("predict --hardware \"$(printf '\\355\\240\\200')\"",
                "error: command line: word 3 is not UTF-8, found '\\xed\\xa0\\x80'");
}

TEST_CASE("bytes that are not UTF-8 in a YAML file are refused with their place") {
  const ScratchFolder folder;
  write_file(folder / "gpu.yaml", "schema: tilescope/hardware/1\nname: \"a\xED\xA0\x80\"\n");
  const Outcome outcome = run_program("predict --format json --q-len 1k --hardware " + folder / "gpu.yaml");
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("gpu.yaml:2:9: error: is not UTF-8") != std::string::npos);
}

TEST_CASE("a signal ends the program within a second and leaves no file") {
  for (const char* signal : {"INT", "TERM", "HUP"}) {
    CAPTURE(signal);
    const ScratchFolder folder;
    const std::string words =
        "sweep --axis batch=1:10000000:1 --yes --tile first -q -o " + folder / "out.csv" + fused_point + " --q-len 4k";
    const auto begin = std::chrono::steady_clock::now();
    // A background job of a shell without job control ignores SIGINT; timeout's child does not.
    const int status = std::system(
        ("timeout -s " + std::string(signal) + " 1 '" TILESCOPE_BINARY "' " + words + " 2>/dev/null").c_str());
    CHECK(status != 0);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2500));
    CHECK(folder.entries() == 0);
  }
}

TEST_CASE("a signal removes temporary folders too") {
  const ScratchFolder folder, temporary;
  write_file(folder / "slow", "#!/bin/sh\ntouch " + folder / "started" + "\nsleep 20\n");
  std::filesystem::permissions(folder / "slow", std::filesystem::perms::owner_all);
  const std::string words =
      "timeout -s INT 1 '" TILESCOPE_BINARY "' inspect " TILESCOPE_SOURCE_DIR "/src/kernel/code/testdata/";
  for (const auto& entry : std::filesystem::directory_iterator(TILESCOPE_SOURCE_DIR "/src/kernel/code/testdata")) {
    if (entry.path().extension() != ".cubin") continue;
    const std::string place = "NVDISASM='" + folder / "slow" + "' TMPDIR='" + temporary.path() + "' ";
    CHECK(std::system((place + words + entry.path().filename().string() + " >/dev/null 2>&1").c_str()) != 0);
    CHECK(std::filesystem::exists(folder / "started"));
    CHECK(temporary.entries() == 0);
    break;
  }
}

TEST_CASE("points of any size are answered within ten seconds, and the walk that is left out is named") {
  const auto answered = [](const std::string& words) {
    const auto begin = std::chrono::steady_clock::now();
    Outcome outcome = run_program(words);
    CHECK_MESSAGE(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30),
                  words);  // 10 s on a quiet machine
    CHECK(outcome.status < 2);
    return outcome;
  };
  answered(
      "predict --hardware h200_sxm --schedule flash1 --heads 16 --q-len 4k --kv-len 1000000000 --head-dim 128 "
      "--mask causal --l2 closed");
  const std::string said = "L2 by its closed form";
  CHECK(answered("predict --hardware h200_sxm --kernel backward --batch 64 --heads 64 --q-len 8k --head-dim 128")
            .out.find(said) != std::string::npos);
  CHECK(answered("predict --hardware h200_sxm --kernel split_kv --batch 9775 --heads 32 --q-len 1 --kv-len 8k "
                 "--head-dim 128 --splits 8")
            .out.find(said) != std::string::npos);
  answered(
      "predict --hardware a100_sxm_80 --schedule flash1 --batch 421 --heads 341 --head-dim 490 --mask causal "
      "--q-len 2716254 --kv-len 34000");
  // Nearly all keys are before the window of the first query.
  answered(
      "search --hardware h200_sxm --schedule flash1-backward --head-dim 64 --mask window:1000 --q-len 4k "
      "--kv-len 560000000000");
  // Few steps of tiles of gigabytes, and what does not fit anyway.
  answered(
      "predict --hardware v100_sxm2 --schedule split-kv --batch 2 --heads 2 --head-dim 15450821 "
      "--mask window:56818 --tile q=1 --q-len 2048 --kv-len 447772");
  answered(
      "predict --hardware v100_sxm2 --schedule flash2-backward --heads 8 --head-dim 256 --dtype fp32 "
      "--tile q=66300,kv=128,warps=32 --q-len 1062882");
  check_refused(
      "predict --hardware v100_sxm2 --schedule split-kv --batch 2 --heads 2 --head-dim 15450821 --orders "
      "--mask window:56818 --tile q=1 --q-len 2048 --kv-len 447772",
      "error: --orders: the walk of this point would take too long, and the closed form knows no orders; give "
      "smaller tiles, a smaller batch, fewer heads or shorter lengths");
  CHECK(answered("predict --q-len 4k" + fused_point).out.find(said) == std::string::npos);
}

TEST_CASE("a time whose samples spread widely is named") {
  const ScratchFolder folder;
  const std::string record = read_file(TILESCOPE_SOURCE_DIR "/src/fuzz/corpus/record/causal.jsonl");
  const std::size_t steady = record.find("\"steady\":[");
  REQUIRE(steady != std::string::npos);
  const auto validated = [&](const std::string& samples) {
    write_file(folder / "r.jsonl",
               std::string(record).replace(steady, record.find(']', steady) - steady, "\"steady\":[" + samples));
    return run_program("validate --recorded " + folder / "r.jsonl").out;
  };
  const std::string said = "have samples whose middle half spreads";
  CHECK(validated("3e-5,3e-5,3e-5,3e-5,3e-5,3.1e-5,6e-5").find(said) == std::string::npos);  // one outlier
  CHECK(validated("3e-5,3e-5,3e-5,4e-5,4e-5,4e-5,4e-5").find(said) != std::string::npos);
  CHECK(validated("3e-5,4e-5").find(said) == std::string::npos);  // too few to say
}

TEST_CASE("a point that was measured beside other programs is named") {
  const ScratchFolder folder;
  const std::string record = read_file(TILESCOPE_SOURCE_DIR "/src/fuzz/corpus/record/causal.jsonl"),
                    key = "\"throttle\":";
  const std::size_t at = record.find(key);
  REQUIRE(at != std::string::npos);
  const auto validated = [&](const std::string& others) {
    write_file(folder / "r.jsonl", std::string(record).insert(at, "\"other_processes\":" + others + ","));
    return run_program("validate --recorded " + folder / "r.jsonl");
  };
  const std::string said = "1 points were measured while other programs computed on the GPU";
  CHECK(validated("0").out.find(said) == std::string::npos);
  CHECK(validated("2").out.find(said) != std::string::npos);
  CHECK(validated("-1").status == 2);
}

}  // namespace hostile_test
