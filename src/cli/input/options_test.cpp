// Tests every option of every command with wrong, missing, duplicate, negative, huge, non-numeric and empty values.
// Checks the exact error line and the exit status.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/text.h"
#include "cli/run_program.h"
#include "diagram/mask.h"
#include "schedule/schedule.h"

namespace options_test {

using namespace tilescope::cli;

namespace {

const std::filesystem::path root = TILESCOPE_SOURCE_DIR;
const std::string gpus = tilescope::join(tilescope::shipped_names(root / "hardware"), ", ");
const std::string schedules = tilescope::join(tilescope::shipped_names(root / "models" / "schedules"), ", ");

std::string kernels() {
  constexpr std::string_view ending = ".kernel.yaml";
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root / "kernels")) {
    const std::string name = file.path().filename().string();
    if (name == "kernel.yaml") names.push_back(file.path().parent_path().filename().string());
    else if (name.ends_with(ending)) names.push_back(name.substr(0, name.size() - ending.size()));
  }
  std::sort(names.begin(), names.end());
  return tilescope::join(names, ", ");
}

// A command that answers, without the option under test.
struct Base {
  std::string command, words = {};
  bool takes_point = true;
  std::string without(const std::string& option) const {
    std::string kept = command;
    if (!takes_point) return kept;
    if (option != "hardware") kept += " --hardware h200_sxm";
    if (option != "workload") kept += " --workload gpt2-medium";
    if (!words.empty()) kept += " " + words;
    return kept;
  }
};

const std::vector<Base> point_commands{{"predict", ""}, {"explain", ""}, {"search", ""}, {"sweep", "--axis warps=4"}};

// Errors of every option with one value: no value, an empty value, two values.
void check_single_value(const Base& base, const std::string& option, const std::string& good) {
  const std::string words = base.without(option) + " --" + option;
  check_refused(words, fmt::format("error: --{}: needs a value, as in --{} VALUE; see tilescope {} --help", option,
                                   option, base.command));
  check_refused(words + " ''", fmt::format("error: --{}: is empty, expected a value", option));
  check_refused(fmt::format("{} {} --{} {}", words, good, option, good),
                fmt::format("error: --{}: given 2 times, expected once", option));
}

}  // namespace

TEST_CASE("every size option of every point command refuses what is not an integer in range") {
  const std::vector<std::string> all{"0",
                                     "-1",
                                     "abc",
                                     "1.5",
                                     "010",
                                     "0x10",
                                     "+4",
                                     "' 4'",
                                     "4k5",
                                     "k",
                                     "1099511627777",
                                     "1048577m",
                                     "99999999999999999999"};
  // One function reads the options of all commands, so all values are tried on one command and one on the others.
  const std::vector<std::string> one{"0"};
  for (const Base& base : point_commands)
    for (const std::string option : {"batch", "heads-q", "heads-kv", "q-len", "kv-len", "head-dim", "v-head-dim"}) {
      const bool first = base.command == point_commands.front().command;
      if (first || option == "kv-len") check_single_value(base, option, "16");
      for (const std::string& value : first ? all : one) {
        const std::string shown = value == "' 4'" ? value : "'" + value + "'";
        check_refused(fmt::format("{} --{} {}", base.without(option), option, value),
                      fmt::format("error: --{}: expected an integer from 1 to 1099511627776, found {}", option, shown));
      }
    }
}

TEST_CASE("every other point option of every command refuses a wrong value") {
  const struct {
    std::string option, good, wrong, message;
  } table[] = {
      {"hardware", "h200_sxm", "h20O_sxm", "error: hardware: unknown GPU 'h20O_sxm'; did you mean 'h200_sxm'?"},
      {"hardware", "h200_sxm", "1234567890", "error: hardware: unknown GPU '1234567890'; known: " + gpus},
      {"schedule", "flash2", "flash", "error: --schedule: no schedule or file 'flash'; did you mean 'flash1'?"},
      {"schedule", "flash2", "-1", "error: --schedule: no schedule or file '-1'; known: " + schedules},
      {"kernel", "fused_mma", "fusedmma",
       "error: --kernel: no kernel or descriptor file 'fusedmma'; did you mean 'fused_mma'?"},
      {"kernel", "fused_mma", "1234567890",
       "error: --kernel: no kernel or descriptor file '1234567890'; known: " + kernels()},
      {"workload", "gpt2-medium", "gpt2-mediun",
       "error: --workload: no workload or file 'gpt2-mediun'; did you mean 'gpt2-medium'?"},
      {"mask", "causal", "causual",
       "error: --mask: expected " + tilescope::mask_spellings() +
           ", found 'causual'; did you mean "
           "'causal'?"},
      {"mask", "causal", "-1", "error: --mask: expected " + tilescope::mask_spellings() + ", found '-1'"},
      {"mask", "causal", "block-sparse:/nowhere", "/nowhere: error: no such file; check the path"},
      {"dtype", "fp16", "fp17",
       "error: --dtype: expected a format, or one with scales as in int8:g64:b2, found 'fp17'; did you mean 'fp16'? "
       "known: " +
           tilescope::join(tilescope::dtype_names(), ", ")},
      {"dtype", "fp16", "zz=fp16", "error: --dtype: no array takes the key 'zz'; known: kv, q, k, v, s, p, o, l"},
      {"dtype", "fp16", "=fp16", "error: --dtype: expected ARRAY=FORMAT, as in kv=int8, found '=fp16'"},
      {"dtype", "fp16", "fp16,bf16", "error: --dtype: more than one format for all arrays in 'fp16,bf16'"},
      {"dtype", "fp16", "q=fp16,q=bf16", "error: --dtype: 'q' is given twice in 'q=fp16,q=bf16'"},
      {"tile", "q=64", "q",
       "error: --tile: expected NAME=SIZE[,NAME=SIZE...] with positive sizes, as in q=128,kv=64, found 'q'"},
      {"tile", "q=64", "z=4", "error: --tile: schedule 'flash2' has no tile 'z'; known: warps, stages, q, kv, pack"},
      {"tile", "q=64", "q=64,q=128", "error: --tile: 'q' is given twice in 'q=64,q=128'"},
      {"tile", "q=64", "warps=65", "error: --tile: warps must be from 1 to 64, found 65"},
      {"pass", "forward", "backwards",
       "error: --pass: expected forward or backward, found 'backwards'; did you mean 'backward'?"},
      {"pass", "forward", "1234567890", "error: --pass: expected forward or backward, found '1234567890'"},
      {"diagram", "attention", "attentoin",
       "error: diagram: no diagram or file 'attentoin'; did you mean 'attention'?"},
      {"format", "json", "xml", "error: --format: expected text, json, csv or md, found 'xml'; did you mean 'md'?"},
      {"output", "-", "/proc/none/file",
       "/proc/none/file: error: cannot be written: directory '/proc/none' does not exist; make it or choose another "
       "path"}};
  std::string last;
  for (const Base& base : point_commands)
    for (const auto& [option, good, wrong, message] : table) {
      const bool first = base.command == point_commands.front().command;  // as above
      if (option == last && !first) continue;
      if (option != last && (first || option == "kernel")) check_single_value(base, option, good);
      last = option;
      check_refused(fmt::format("{} --{} {}", base.without(option), option, wrong), message);
    }
}

TEST_CASE("a tile, window width, dtype scale or --top that is negative, zero, huge or no number is refused") {
  const std::string predict = "predict --hardware h200_sxm --workload gpt2-medium ";
  for (const std::string value : {"q=", "q=abc", "q=1.5", "q=010", "q=99999999999999999999"})
    check_refused(predict + "--tile " + value,
                  "error: --tile: expected NAME=SIZE[,NAME=SIZE...] with positive sizes, as in q=128,kv=64, found '" +
                      value + "'");
  const std::pair<const char*, const char*> outside[] = {
      {"q=-1", "q must be from 1 to 1099511627776, found -1"},
      {"q=0", "q must be from 1 to 1099511627776, found 0"},
      {"q=1099511627777", "q must be from 1 to 1099511627776, found 1099511627777"},
      {"warps=0", "warps must be from 1 to 64, found 0"}};
  for (const auto& [tile, message] : outside)
    check_refused(predict + "--tile " + tile, std::string("error: --tile: ") + message);
  for (const std::string value : {"window:", "window:0", "window:-1", "window:abc", "window:1.5"})
    check_refused(predict + "--mask " + value, "error: --mask: expected " + tilescope::mask_spellings() + ", found '" +
                                                   value + "'; did you mean 'window:W'?");
  check_refused(predict + "--mask window:99999999999999999999", "error: --mask: expected " +
                                                                    tilescope::mask_spellings() +
                                                                    ", found "
                                                                    "'window:99999999999999999999'");
  for (const std::string value : {"", "int8:g0:b2", "int8:g-1:b2", "int8:gabc:b2", "int8:g99999999999999999999:b2"})
    check_refused(predict + "--dtype q=" + value,
                  "error: --dtype: expected a format, or one with scales as in int8:g64:b2, found '" + value +
                      "'; known: " + tilescope::join(tilescope::dtype_names(), ", "));
  check_refused(predict + "--dtype fp7",
                "error: --dtype: expected a format, or one with scales as in int8:g64:b2, "
                "found 'fp7'; did you mean 'fp32'? known: " +
                    tilescope::join(tilescope::dtype_names(), ", "));
  const Base search{"search", ""};
  check_single_value(search, "top", "5");
  for (const std::string value : {"0", "-1", "abc", "1.5", "100001", "99999999999999999999"})
    check_refused(search.without("") + " --top " + value,
                  "error: --top: expected an integer from 1 to 100000, found '" + value + "'");
}

TEST_CASE("compare takes lists and refuses empty and unknown items") {
  const std::string shape = " --workload gpt2-medium";
  check_refused("compare" + shape,
                "error: --hardware: is missing: give GPUs to compare, as in --hardware h100_sxm,h200_sxm, or all");
  check_refused("compare --hardware h200_sxm," + shape, "error: --hardware: holds an empty value: 'h200_sxm,'");
  check_refused("compare --hardware ''" + shape, "error: --hardware: holds an empty value: ''");
  check_refused("compare --hardware l4,l41" + shape, "error: hardware: unknown GPU 'l41'; did you mean 'l4'?");
  check_refused("compare --hardware l4 --dtype ''" + shape, "error: --dtype: holds an empty value: ''");
  check_refused("compare --hardware l4 --dtype 'fp16;;bf16'" + shape,
                "error: --dtype: holds an empty value: 'fp16;;bf16'");
  check_refused("compare --hardware l4 --dtype" + shape.substr(0, 0),
                "error: --dtype: needs a value, as in --dtype VALUE; see tilescope compare --help");
  check_refused("compare --hardware l4 --kernel ''" + shape, "error: --kernel: holds an empty value: ''");
  check_refused("compare --hardware l4 --schedule flash" + shape,
                "error: --schedule: no schedule or file 'flash'; did you mean 'flash1'?");
  check_refused("compare --hardware l4 --q-len 0" + shape,
                "error: --q-len: expected an integer from 1 to 1099511627776, found '0'");
  check_refused("compare --hardware l4",
                "error: --q-len: is missing: give --q-len (and --kv-len, --heads-q, --head-dim, ...) or --workload");
}

TEST_CASE("sweep refuses bad axes") {
  const std::string sweep = "sweep --hardware h200_sxm --workload gpt2-medium";
  const std::string axis = "error: --axis: ";
  check_refused(sweep, axis + "is missing: give at least one axis to sweep, as in --axis seqlen=1k:128k:x2");
  check_refused(sweep + " --axis", "error: --axis: needs a value, as in --axis VALUE; see tilescope sweep --help");
  for (const std::string value : {"", "q_len"})
    check_refused(sweep + " --axis '" + value + "'",
                  axis + "expected NAME=VALUES, as in q_len=1k:128k:x2, found '" + value + "'");
  check_refused(sweep + " --axis q_lem=4", axis + "unknown axis 'q_lem'; did you mean 'q_len'?");
  for (const std::string range : {"1:2", "1:2:3:4", "1:4:"})
    check_refused(sweep + " --axis q_len=" + range,
                  axis + "expected FIRST:LAST:xFACTOR or FIRST:LAST:+STEP or a list A,B,C, found '" + range + "'");
  for (const std::string value : {"0", "-1", "abc", "1.5", "1099511627777", "99999999999999999999"})
    check_refused(sweep + " --axis q_len=" + value,
                  fmt::format("{}expected integers from 1 to 2^40, found '{}' in '{}'", axis, value, value));
  check_refused(sweep + " --axis q_len=1,,2", axis + "expected integers from 1 to 2^40, found '' in '1,,2'");
  check_refused(sweep + " --axis q_len=1:4:+0", axis + "expected integers from 1 to 2^40, found '0' in '1:4:+0'");
  check_refused(sweep + " --axis q_len=1:4:x1", axis + "a factor must be at least 2");
  check_refused(sweep + " --axis q_len=4:1:x2", axis + "'4:1:x2' is an empty range: FIRST is above LAST");
  check_refused(sweep + " --axis q_len=1:1m:1", axis + "'1:1m:1' gives 1,048,576 values; write --yes to take them all");
  check_refused(sweep + " --axis q_len=1 --axis q-len=2", axis + "axes 'q_len' and 'q_len' both set q_len; give one");
  check_refused(sweep + " --axis seqlen=1 --axis kv_len=2",
                axis + "axes 'seqlen' and 'kv_len' both set kv_len; give one");
  check_refused(sweep + " --axis warps=4,65", axis + "warps must be from 1 to 64, found 65");
}

TEST_CASE("commands that read records refuse wrong options") {
  for (const std::string command : {"validate", "report"}) {
    for (const std::string option : {"recorded", "experiment", "format", "output"})
      check_single_value({.command = command, .takes_point = false}, option, "x");
    check_refused(command + " --recorded /nowhere", "/nowhere: error: no such file; check the path");
    check_refused(command + " --experiment nowhere.yaml", "nowhere.yaml: error: no such file; check the path");
  }
  check_refused("validate --q-len 4", "error: --q-len: 'validate' has no such option; see tilescope validate --help");
  check_refused("report --q-len 4 --hardware h200_sxm --recorded x",
                "error: --recorded: is of a report of records; leave it out, or leave out the point");
  check_refused("report --q-len 4",
                "error: --hardware: is missing: give GPUs to compare, as in --hardware "
                "h100_sxm,h200_sxm, or all");
  check_refused("validate --format xml",
                "error: --format: expected text, json, csv or md, found 'xml'; did you mean 'md'?");
}

TEST_CASE("an option that says something of another one is refused where that one has no part") {
  const std::string point = "--hardware h200_sxm --q-len 256";
  const std::pair<std::string, std::string> lone[] = {
      {"report --seed 3 " + point, "error: --seed: is of --random N; leave it out"},
      {"report --random 3 " + point, "error: --random: is of --axis NAME=VALUES; leave it out"},
      {"report --where 'q_len > 1' " + point, "error: --where: is of --axis NAME=VALUES; leave it out"},
      {"report --phase decode " + point, "error: --phase: is of --model CONFIG; leave it out"},
      {"report --point x " + point, "error: --point: is of --from FILE; leave it out"},
      {"report --from x.csv --q-len 256",
       "error: --from: is a capture or another tool's file; leave out the options of a point, --axis and --model"},
      {"model gpt2 --hardware h200_sxm --phase decode --chunk 512",
       "error: --chunk: is of the phase prefill, found --phase decode; leave it out"},
      {"model gpt2 --hardware h200_sxm --phase prefill --speculative 4",
       "error: --speculative: is of the phase decode, found --phase prefill; leave it out"},
      {"explain --schedule flash2 --why-not kv:group --code",
       "error: --code: has no meaning for --why-not, which asks about loops; leave out one of them"},
      {"explain --kernel fused_mma --head-dim 128 --code --format json " + point,
       "error: --code: is a listing: expected --format text or md"}};
  for (const auto& [command, message] : lone) {
    CAPTURE(command);
    check_refused(command, message);
  }
}

TEST_CASE("measure names what is missing before it looks for a device") {
  for (const std::string option : {"experiment", "output"}) {
    check_refused(
        "measure --" + option,
        fmt::format("error: --{}: needs a value, as in --{} VALUE; see tilescope measure --help", option, option));
  }
  check_refused("measure",
                "error: --experiment: is missing: give an experiment file, as in validate/experiments/quick.yaml");
  check_refused("measure --experiment ''", "error: --experiment: is empty, expected a value");
  check_refused("measure --experiment a --experiment b", "error: --experiment: given 2 times, expected once");
  check_refused("model llama-3-8 --hardware l4",
                "error: model: no file, and no name in models/networks: 'llama-3-8'; did you mean 'llama-3-8b'?");
  check_refused("measure --experiment nowhere.yaml", "nowhere.yaml: error: no such file; check the path");
  check_refused("measure --again=1", "error: --again: takes no value; see tilescope measure --help");
}

TEST_CASE("hardware has five verbs") {
  const std::string usage =
      "error: hardware: expected list, show ID, check [ID|FILE ...], costs or measure -o FILE, found ";
  check_refused("hardware", usage + "''");
  check_refused("hardware lst", usage + "'lst'; did you mean 'list'?");
  check_refused("hardware list x", usage + "'list x'");
  check_refused("hardware show", usage + "'show'");
  check_refused("hardware show l4 l40s", usage + "'show l4 l40s'");
  check_refused("hardware show l41", "error: hardware: unknown GPU 'l41'; did you mean 'l4'?");
  check_refused("hardware check 1234567890", "error: hardware: unknown GPU '1234567890'; known: " + gpus);
  check_refused("hardware list --quick", "error: --quick: is an option of hardware measure; leave it out");
  check_refused("hardware measure", "error: --output: is missing: give the profile to write, as in -o my_h200.yaml");
  check_refused("hardware measure x -o y.yaml", usage + "'measure x'");
  check_refused("hardware measure -o My-GPU.yaml",
                "error: --output: the profile's id is its file name: expected lower-case letters, "
                "digits and '_' before '.yaml', found 'My-GPU.yaml'");
  check_refused("hardware measure -o gpu.txt",
                "error: --output: the profile's id is its file name: expected lower-case letters, "
                "digits and '_' before '.yaml', found 'gpu.txt'");
  check_refused(
      "hardware measure -o no/such/gpu.yaml",
      "no/such/gpu.yaml: error: cannot be written: directory 'no/such' does not exist; make it or choose another path");
  check_refused(
      "hardware measure -o gpu.yaml --record none/gpu.json",
      "none/gpu.json: error: cannot be written: directory 'none' does not exist; make it or choose another path");
  check_refused("hardware list --format zz", "error: --format: expected text, json, csv or md, found 'zz'");
}

TEST_CASE("unknown commands, options and stray words are named with the nearest known") {
  check_refused("predic", "error: command: unknown command 'predic'; did you mean 'predict'?");
  check_refused(
      "''",
      "error: command: unknown command ''; known: hardware, predict, explain, derive, search, compare, sensitivity, "
      "sweep, model, measure, validate, records, report, capture, inspect, describe, run, import, list, help, "
      "completion, man");
  check_refused("predict --hardwar l4", "error: --hardwar: 'predict' has no such option; did you mean '--hardware'?");
  check_refused("predict --1234567890",
                "error: --1234567890: 'predict' has no such option; see tilescope predict --help");
  for (const std::string command :
       {"predict", "explain", "search", "compare", "sweep", "measure", "validate", "report"}) {
    check_refused(command + " stray",
                  "error: stray: unexpected word; options start with --, see tilescope " + command + " --help");
    check_refused(command + " --quiet=yes", "error: --quiet: takes no value; see tilescope " + command + " --help");
  }
}

}  // namespace options_test
