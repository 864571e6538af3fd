#include "records/record.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "records/example_record.h"

namespace record_test {

using namespace tilescope;
using namespace tilescope::validate;

namespace {

Record example() {
  Record record = example_record();
  record.point = {.kernel = "reference",
                  .mask = "causal",
                  .workload = {1, 16, 4, 1000, 777, 128, 128},
                  .dtype = Format::bf16,
                  .dtypes = {{"kv", Dtype{Format::int4, 32, 2}}},
                  .tile_q = 128,
                  .tile_kv = 64,
                  .warps = 4,
                  .stages = 3,
                  .splits = 5};
  record.counters = {{"dram__bytes_read.sum", 33554432}, {"a.ratio", 0.25}};
  record.counters_with_flush = {{"dram__bytes_write.sum", 33554432}};
  record.flush_bytes = 251658240;
  record.unavailable = {"dram__bytes_op_read.sum"};
  record.steady_seconds = {1.0e-4};
  record.clocks =
      Clocks{.sm_hz = 1.755e9, .memory_hz = 3.2e9, .power_w = 650.5, .temperature_c = 51, .throttle = {"sw_power_cap"}};
  MeasuredLaunch island;
  island.name = "qk";
  island.launch = {.grid = {8, 16, 1},
                   .block = {128, 1, 1},
                   .registers_per_thread = 168,
                   .static_smem = 0,
                   .dynamic_smem = 49152,
                   .local_bytes_per_thread = 8,
                   .blocks_per_unit = 2};
  island.counters = {{"dram__bytes_read.sum", 33554432}};
  record.islands = {island, island};
  record.islands[1].name = "softmax";
  record.islands[1].samples = {{"dram__bytes_read.sum", {33554432, 33554433, 33554431}}};
  return record;
}

std::string problem(const std::string& text) {
  try {
    parse_record(text, "r.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// The example with the value at a JSON pointer replaced, or removed.
std::string changed(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json json = nlohmann::json::parse(to_json(example()));
  const nlohmann::json::json_pointer at(pointer);
  REQUIRE(json.contains(at));
  if (value == "REMOVE") json[at.parent_pointer()].erase(at.back());
  else json[at] = value;
  return json.dump();
}

std::filesystem::path scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "tilescope-record-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  return name;
}

}  // namespace

TEST_CASE("a record that is read back equals the record that was written") {
  const Record a = example();
  const Record b = parse_record(to_json(a), "r.json");
  CHECK(to_json(b) == to_json(a));
  CHECK(b.point == a.point);
  CHECK(b.counters == a.counters);
  CHECK(b.counters_with_flush == a.counters_with_flush);
  CHECK(b.cold_seconds == a.cold_seconds);
  CHECK(b.environment.l2_bytes == a.environment.l2_bytes);
  REQUIRE(b.clocks.has_value());
  CHECK(b.clocks->throttle == a.clocks->throttle);
  REQUIRE(b.islands.size() == 2);
  CHECK(b.islands[1].name == "softmax");
  CHECK(b.islands[0].launch.grid == a.islands[0].launch.grid);
  CHECK(b.islands[1].samples == a.islands[1].samples);
  CHECK(b.islands[0].launch.local_bytes_per_thread == 8);
  CHECK(b.file == "r.json");
}

TEST_CASE("other processes on the GPU are kept where they are known") {
  Record record = parse_record(to_json(example()), "r.json");
  CHECK(!record.clocks->other_processes);
  record.clocks->other_processes = 3;
  CHECK(parse_record(to_json(record), "r.json").clocks->other_processes == 3);
}

TEST_CASE("the spread of samples is that of the middle four fifths") {
  CHECK(spread_of_samples({}) == 0);
  CHECK(spread_of_samples({2}) == 0);
  std::vector<double> samples(21, 1.0);
  samples[3] = 9;  // one outlier
  CHECK(spread_of_samples(samples) == 0);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = 1 + 0.01 * static_cast<double>(i);
  CHECK(spread_of_samples(samples) == doctest::Approx(0.16 / 1.1));
}

TEST_CASE("a record without NVML has no clocks") {
  Record record = example();
  record.clocks.reset();
  CHECK(!parse_record(to_json(record), "r.json").clocks.has_value());
}

TEST_CASE("a record cut short anywhere is refused with one line") {
  const std::string whole = to_json(example());
  for (std::size_t length = 0; length + 1 < whole.size(); length += 97) {
    const std::string message = problem(whole.substr(0, length));
    CHECK(message.find("r.json") == 0);
    CHECK(message.find("cut short") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("a record of another schema is refused by name") {
  CHECK(problem(changed("/schema", "tilescope/record/2"))
            .find("has schema tilescope/record/2; this program reads tilescope/record/1") != std::string::npos);
  CHECK(problem(changed("/schema", 1)).find("has no schema") != std::string::npos);
  CHECK(problem("{}").find("has no schema") != std::string::npos);
  CHECK(problem("[1]").find("not an object") != std::string::npos);
  CHECK(problem(std::string(100000, '[')).find("nested too deep") != std::string::npos);
}

TEST_CASE("a missing field is named") {
  for (const char* pointer :
       {"/experiment", "/environment", "/environment/gpu", "/environment/l2_bytes", "/point", "/point/kernel",
        "/point/workload/kv_len", "/point/tile/q", "/counters", "/counters_with_flush", "/flush_bytes", "/seconds",
        "/seconds/steady", "/correctness/max_error", "/islands", "/islands/0/launch/grid", "/islands/1/counters",
        "/unavailable", "/clocks/power_w"}) {
    CAPTURE(pointer);
    const std::string name = nlohmann::json::json_pointer(pointer).back();
    const std::string message = problem(changed(pointer, "REMOVE"));
    CAPTURE(message);
    CHECK(message.find(name) != std::string::npos);
    CHECK(message.find("is missing") != std::string::npos);
  }
}

TEST_CASE("a value of the wrong type or range is named with what was found") {
  const struct {
    const char* pointer;
    nlohmann::json value;
    const char* expected;
  } wrong[] = {
      {"/counters/dram__bytes_read.sum", -1,
       "counters[\"dram__bytes_read.sum\"]: expected a finite number that is not negative, found -1"},
      {"/counters/dram__bytes_read.sum", nullptr, "found null"},  // a JSON writer turns NaN into null
      {"/counters/dram__bytes_read.sum", "many", "found \"many\""},
      {"/counters", 3, "counters: expected an object of numbers, found 3"},
      {"/seconds/cold/1", -0.5, "seconds.cold[1]: expected a finite number"},
      {"/seconds/cold", "fast", "seconds.cold: expected a list of numbers"},
      {"/point/workload/q_len", 0, "point.workload.q_len: expected an integer of at least 1, found 0"},
      {"/point/workload/q_len", 1.5, "found 1.5"},
      {"/point/workload/q_len", 18446744073709551615ull, "found 18446744073709551615"},
      {"/point/workload/heads_kv", 32, "point.workload: heads_q must be a multiple of heads_kv"},
      {"/point/workload/heads_kv", 5, "found heads_q 16 and heads_kv 5"},
      {"/point/warps", 4611686018427387904, "point.warps: must be from 0 to 64, found 4611686018427387904"},
      {"/point/warps", 1000000000, "point.warps: must be from 0 to 64"},
      {"/point/kernel", "a\x1b[2J", "point.kernel: expected a name of at most 200 printable characters"},
      {"/seconds/steady", {0, 0, 0}, "seconds.steady: holds a time of 0 s"},
      {"/seconds/steady/0", -1e-4, "seconds.steady[0]: expected a finite number"},
      {"/experiment", "../../etc/passwd", "experiment: may have letters, digits"},
      {"/experiment", "m\x1b[31m", "experiment: may have letters, digits"},
      {"/point/mask", "diagonal", "expected none, causal, window:W (W >= 1)"},
      {"/point/dtype", "fp12", "is not a number format: fp12"},
      {"/point", 4, "point: expected an object, found 4"},
      {"/environment/ecc", "yes", "expected true or false"},
      {"/environment/gpu", "", "expected a text"},
      {"/correctness/checked_elements", 0, "at least 1"},
      {"/islands", nlohmann::json::array(), "expected at least one kernel launch"},
      {"/islands", 1, "expected a list of objects"},
      {"/islands/0", 1, "islands[0]: expected an object"},
      {"/islands/0/launch/grid", {1, 2}, "expected three positive integers"},
      {"/islands/1/samples/dram__bytes_read.sum/2", -1,
       "islands[1].samples.dram__bytes_read.sum[2]: expected a finite number"},
      {"/islands/1/samples/dram__bytes_read.sum", 5, "expected a list of numbers"},
      {"/unavailable", {1}, "unavailable[0]: expected a text"},
      {"/clocks/throttle", true, "expected a list of texts"},
  };
  for (const auto& [pointer, value, expected] : wrong) {
    CAPTURE(pointer);
    const std::string message = problem(changed(pointer, value));
    CAPTURE(message);
    CHECK(message.find(expected) != std::string::npos);
  }
}

TEST_CASE("all findings of a record are reported together") {
  nlohmann::json json = nlohmann::json::parse(to_json(example()));
  json["flush_bytes"] = -1;
  json["passes"] = 0;
  try {
    parse_record(json.dump(), "r.json");
    FAIL("expected InputError");
  } catch (const InputError& error) {
    CHECK(error.diagnostics().size() == 2);
  }
}

TEST_CASE("records are written below their experiment's folder and read back in order") {
  const std::filesystem::path folder = scratch();
  Record record = example();
  const std::filesystem::path first = record_path(folder, record.experiment, record.point);
  CHECK(first.filename() ==
        "reference-bf16_kv_int4g32b2-b1-hq16-hkv4-q1000-kv777-d128-causal-tq128-tkv64-w4-s3-splits5.json");
  write_record(record, first);
  record.point.kernel = "fused_mma";
  write_record(record, record_path(folder, record.experiment, record.point));
  const std::vector<Record> records = read_records(folder);
  REQUIRE(records.size() == 2);
  CHECK(records[0].point.kernel == "fused_mma");
  write_file(folder / "main" / "broken.json", "{");
  write_file(folder / "main" / "worse.json", "");
  try {
    read_records(folder);
    FAIL("expected InputError");
  } catch (const InputError& error) {
    CHECK(error.diagnostics().size() == 2);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("a directory without records is reported") {
  const std::filesystem::path folder = scratch();
  CHECK_THROWS_WITH_AS(read_records(folder), doctest::Contains("holds no record"), InputError);
  std::filesystem::remove_all(folder);
  CHECK_THROWS_WITH_AS(read_records(folder), doctest::Contains("no such file"), InputError);
}

TEST_CASE("a record that cannot be written is an input error") {
  CHECK_THROWS_AS(write_record(example(), "/proc/nowhere/r.json"), InputError);
  CHECK_THROWS_AS(write_record(example(), "/dev/full"), InputError);
}

namespace {

// JSON pointers of every value of the example record, objects and lists included.
void pointers_of(const nlohmann::json& json, const nlohmann::json::json_pointer& at,
                 std::vector<nlohmann::json::json_pointer>& out) {
  if (!at.empty()) out.push_back(at);
  if (json.is_object())
    for (const auto& [key, value] : json.items()) pointers_of(value, at / key, out);
  if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i) pointers_of(json[i], at / i, out);
}

}  // namespace

TEST_CASE("every field of a record that is absent, or of another type, is refused with its name") {
  const nlohmann::json whole = nlohmann::json::parse(to_json(example()));
  std::vector<nlohmann::json::json_pointer> pointers;
  pointers_of(whole, nlohmann::json::json_pointer(), pointers);
  REQUIRE(pointers.size() > 60);
  for (const auto& pointer : pointers) {
    const nlohmann::json& value = whole[pointer];
    const std::string text = pointer.to_string();
    CAPTURE(text);
    const bool named = pointer.back().find_first_not_of("0123456789") != std::string::npos;
    const bool metrics = text.find("counters") != std::string::npos || text.find("samples") != std::string::npos;
    const bool free = metrics && whole[pointer.parent_pointer()].is_object() && !value.is_object();
    // A machine without NVML has no clocks. A point may leave these fields to the kernel. Older records lack the
    // groups.
    const bool optional = text == "/clocks" || text == "/environment/l2_groups" || text.starts_with("/point/dtypes") ||
                          text == "/point/stages" || text == "/point/splits";
    if (named && !free && !optional) {
      const std::string message = problem(changed(text, "REMOVE"));
      CHECK(
          message.find(text == "/schema" ? "has no schema" : pointer.back() + ": is missing; the file is incomplete") !=
          std::string::npos);
    }
    for (const nlohmann::json& wrong :
         {nlohmann::json(nullptr), nlohmann::json(true), nlohmann::json("text"), nlohmann::json(-1.5),
          nlohmann::json::array({nullptr}), nlohmann::json::object({{"a", nullptr}})}) {
      const bool same_kind = value.type() == wrong.type() || (value.is_number() && wrong.is_number() && wrong >= 0);
      const bool any_text = value.is_string() && wrong.is_string();
      if ((same_kind && (value.is_boolean() || value.is_object())) || any_text) continue;
      const std::string message = problem(changed(text, wrong));
      CAPTURE(wrong);
      CHECK_MESSAGE(message.starts_with("r.json: error: "), message);
    }
  }
}

TEST_CASE("every number of a record that is negative or too large is refused with its name") {
  const nlohmann::json whole = nlohmann::json::parse(to_json(example()));
  std::vector<nlohmann::json::json_pointer> pointers;
  pointers_of(whole, nlohmann::json::json_pointer(), pointers);
  int numbers = 0;
  for (const auto& pointer : pointers) {
    if (!whole[pointer].is_number()) continue;
    ++numbers;
    const std::string text = pointer.to_string();
    CAPTURE(text);
    CHECK(problem(changed(text, -1)).find(", found -1") != std::string::npos);
    // 1e999 is not finite; JSON has no other way to write it.
    nlohmann::json json = whole;
    json[pointer] = "HUGE";
    std::string huge = json.dump();
    huge.replace(huge.find("\"HUGE\""), 6, "1e999");
    CHECK(problem(huge).starts_with("r.json: error: "));
  }
  CHECK(numbers > 30);
}

TEST_CASE("a key given twice in a record is refused, in whichever object it stands") {
  const std::string text = nlohmann::json::parse(to_json(example())).dump();
  int keys = 0;
  for (std::size_t begin = text.find('"'); begin != std::string::npos;) {
    const std::size_t end = text.find('"', begin + 1) + 1;  // no string of the example has an escape
    if (text[end] == ':') {
      const std::string key = text.substr(begin, end - begin), name = key.substr(1, key.size() - 2);
      CAPTURE(key);
      CHECK(problem(text.substr(0, begin) + key + ":0," + text.substr(begin))
                .find("key '" + name + "' is given twice in one object") != std::string::npos);
      ++keys;
    }
    begin = text.find('"', end);
  }
  CHECK(keys > 60);
  CHECK(problem(text.substr(0, 1) + "\"\":1,\"\":{}," + text.substr(1)).find("key '' is given twice") !=
        std::string::npos);
}

TEST_CASE("colons and brackets in a text are no structure") {
  CHECK(problem(changed("/environment/gpu", "a: {\"b\": [[" + std::string(100, '{'))) == "");
}

}  // namespace record_test
