// A point that cannot run has no time, whatever the command and the format.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_program.h"

namespace infeasible_test {

using namespace tilescope::cli;
using nlohmann::json;

namespace {

// Too large for HBM, for shared memory, and without a tensor rate.
const std::vector<std::string> infeasible_points{
    " --hardware h200_sxm --heads 16 --q-len 1m --head-dim 128 --schedule standard",
    " --hardware b200_sxm --heads 16 --q-len 2m --head-dim 128 --schedule standard --mask causal",
    " --hardware a100_sxm_80 --heads 4 --q-len 1k --head-dim 128 --tile q=4096,kv=4096",
    " --hardware v100_sxm2 --heads 4 --q-len 1k --head-dim 64 --dtype bf16",
    " --hardware mi300x --heads 64 --q-len 1m --head-dim 64 --schedule standard"};

bool is_time(const std::string& key) {
  for (const char* part :
       {"seconds", "clocks", "cycles", "watts", "joules", "clock_hz", "flops", "energy", "times_fastest", "time_ratio"})
    if (key.find(part) != std::string::npos) return true;
  return key == "bound_by";
}

// Every key that names a time, a clock, a power or a rate over time is null or has an empty list.
void check_no_time(const json& value, const std::string& key, std::size_t& keys) {
  if (is_time(key) || key == "resources" || key == "saved_by_10_percent") {
    ++keys;
    CHECK_MESSAGE((value.is_null() || value.empty()), key << ": " << value.dump());
  }
  if (value.is_object())
    for (const auto& [name, inner] : value.items()) check_no_time(inner, name, keys);
  if (value.is_array())
    for (const json& inner : value) check_no_time(inner, "", keys);
}

// Columns of times are empty in every row of the table; returns their number.
std::size_t check_no_time_in_csv(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> columns = csv_cells(line);
  std::size_t times = 0;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = csv_cells(line);
    REQUIRE(cells.size() == columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (is_time(columns[i])) {
        ++times;
        CHECK_MESSAGE(cells[i].empty(), columns[i] << ": " << cells[i]);
      }
  }
  return times;
}

// The cells of a row of a table in Markdown or text, whose columns are at least two spaces apart.
std::vector<std::string> table_cells(const std::string& line) {
  static const std::regex between(R"(\s*\|\s*|\s{2,})");
  return {std::sregex_token_iterator(line.begin(), line.end(), between, -1), std::sregex_token_iterator()};
}

// No line gives a time, a clock, a power or a rate; a table's column of times has dashes alone.
void check_no_time_in_text(const std::string& text) {
  static const std::regex amount(R"((\d ?(us|ms|s|MHz|GHz|W|J|uJ)\b)|FLOP/s|run after run|SM cycles|predicted \d)");
  std::istringstream lines(text);
  std::string line;
  std::size_t column = std::string::npos;
  while (std::getline(lines, line)) {
    CHECK_MESSAGE(!std::regex_search(line, amount), line);
    const std::vector<std::string> cells = table_cells(line);
    if (const auto found = std::find(cells.begin(), cells.end(), "microseconds"); found != cells.end()) {
      column = static_cast<std::size_t>(found - cells.begin());
      continue;
    }
    if (line.empty()) column = std::string::npos;
    if (column < cells.size()) CHECK_MESSAGE(cells[column].find_first_of("0123456789") == std::string::npos, line);
  }
}

}  // namespace

TEST_CASE("an infeasible point has no time in any command and any format") {
  for (const std::string& point : infeasible_points) {
    CAPTURE(point);
    for (const std::string command : {"predict", "explain", "sweep --axis batch=1,2", "compare"}) {
      CAPTURE(command);
      const Outcome printed = run_program(command + point + " --format json");
      CHECK(printed.status == 1);
      std::size_t keys = 0;
      std::istringstream lines(printed.out);
      if (command.starts_with("sweep"))
        for (std::string line; std::getline(lines, line);) check_no_time(json::parse(line), "", keys);
      else check_no_time(json::parse(printed.out), "", keys);
      CHECK(keys >= (command == "compare" ? 4 : 12));
      const Outcome csv = run_program(command + point + " --format csv");
      CHECK(csv.status == 1);
      const std::size_t columns = check_no_time_in_csv(csv.out);
      CHECK((columns > 0 || command == "explain"));  // explain's CSV is of terms
      for (const std::string format : {"text", "md"}) {
        const Outcome text = run_program(command + point + " --format " + format);
        CHECK(text.status == 1);
        if (!command.starts_with("sweep")) check_no_time_in_text(text.out);
      }
    }
  }
}

TEST_CASE("model gives no time to a row whose weights and caches do not fit, and says why") {
  const std::string command = "model llama-3-70b --hardware l4,h200_sxm --context 8k --batch 4 --phase decode";
  const json answer = json::parse(run_program(command + " --format json").out);
  REQUIRE(answer["rows"].size() == 2);
  const json &small = answer["rows"][0], &large = answer["rows"][1];
  CHECK(small["fits"] == false);
  CHECK(small["reason"] == "weights and caches need 151.8 GB of 24 GB");
  for (const json& row : {small, large})
    for (const char* key : {"attention_seconds", "tokens_per_second", "joules_per_token", "bound_by"})
      CHECK_MESSAGE(row[key].is_null(), key);
  const json fits = json::parse(run_program(command + " --tp 8 --format json").out);
  CHECK(fits["rows"][1]["attention_seconds"].is_number());
  CHECK(run_program("model llama-3-70b --hardware l4 --context 8k --batch 4 --phase decode").status == 1);
}

TEST_CASE("search and sensitivity give no time where nothing fits") {
  const std::string untiled = infeasible_points[0];
  const Outcome search = run_program("search --format json" + untiled);
  CHECK(search.status == 1);
  CHECK(json::parse(search.out)["feasible"].empty());
  for (const std::string format : {"text", "md", "csv"}) {
    const Outcome text = run_program("search --format " + format + untiled);
    CHECK(text.status == 1);
    CHECK(text.out.find("42462") == std::string::npos);
  }
  const Outcome sensitivity = run_program("sensitivity --numbers levels --format json" + untiled);
  CHECK(sensitivity.status == 1);
  std::size_t keys = 0;
  check_no_time(json::parse(sensitivity.out), "", keys);
  CHECK(keys > 0);
}

TEST_CASE("a lower bound says so in the first line of sensitivity, and its JSON names the model") {
  for (const std::string gpu : {"mi300x", "a100_sxm_80"}) {
    const std::string command = "sensitivity --numbers levels.hbm --q-len 1k --head-dim 64 --hardware " + gpu;
    const bool bound =
        json::parse(
            run_program("predict --q-len 1k --head-dim 64 --format json --hardware " + gpu).out)["time"]["model"] ==
        "bound";
    CHECK(bound == (gpu == "mi300x"));
    const std::string text = run_program(command).out, line = text.substr(0, text.find('\n'));
    CHECK((line.find("at least") != std::string::npos && line.find("a lower bound") != std::string::npos) == bound);
    CHECK(line.starts_with("ideal kernel of schedule flash2 on " + gpu));
    const json object = json::parse(run_program(command + " --format json").out);
    CHECK(object["model"] == (bound ? "bound" : "blocks"));
    CHECK(object["basis"].is_string());
  }
}

TEST_CASE("a report ranks predicted times alone, and bounds where there is no other") {
  const auto sentence = [](const std::string& gpus) {
    return run_program("report --q-len 1k --head-dim 128 --heads 16 --format md --hardware " + gpus).out;
  };
  const auto after = [](const std::string& text, const std::string& words) {
    const std::size_t at = text.find(words);
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('.', text.find(" on ", text.find("; the ", at))) - at);
  };
  const std::string mixed = after(sentence("mi300x,l40s,a100_sxm_80"), "The shortest time: ");
  CHECK(mixed.find("MI300X") == std::string::npos);
  CHECK(mixed.find("at least") == std::string::npos);
  CHECK(mixed.find("ideal flash2") != std::string::npos);
  CHECK(after(sentence("mi300x,mi355x"), "The lowest bound: ").find("at least") != std::string::npos);
  CHECK(sentence("mi300x,l40s").find("The only predicted time: ") != std::string::npos);
}

TEST_CASE("compare and search name ideal kernels, and compare no size that the diagram lacks") {
  const std::string ideal = run_program("compare --hardware l4,l40s --q-len 1k --head-dim 128").out;
  CHECK(ideal.find("flash2 is a hypothetical kernel of that schedule; use --kernel auto") != std::string::npos);
  const std::string kernel = run_program("compare --hardware l4,l40s --q-len 1k --head-dim 128 --kernel fused_mma").out;
  CHECK(kernel.find("ideal") == std::string::npos);
  const std::string words = "search --hardware l4 --q-len 1k --head-dim 128 --l2 closed";
  CHECK(run_program(words).out.find("of a hypothetical kernel of schedule 'flash2'; use") != std::string::npos);
  CHECK(run_program(words + " --kernel fused_mma").out.find("ideal") == std::string::npos);
  const std::string own = run_program("compare --hardware l4,l40s --schedule matmul").out;
  CHECK(own.starts_with("predicted: a 4,096, b 4,096, c 4,096, "));
}

}  // namespace infeasible_test
