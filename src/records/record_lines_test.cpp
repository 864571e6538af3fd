// Records as lines: written, read, converted, and kept while an experiment is measured.
#include "records/record_lines.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "base/files.h"
#include "base/test_seed.h"
#include "records/convert.h"
#include "records/example_record.h"
#include "records/record_store.h"

namespace record_lines_test {

using namespace tilescope;
using namespace tilescope::validate;

namespace {

namespace fs = std::filesystem;

const fs::path bundled = fs::path(TILESCOPE_SOURCE_DIR) / "validate" / "records";

class LinesFolder {
 public:
  LinesFolder() : path_((fs::temp_directory_path() / "tilescope-lines-XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~LinesFolder() { fs::remove_all(path_); }
  LinesFolder(const LinesFolder&) = delete;
  LinesFolder& operator=(const LinesFolder&) = delete;
  fs::path operator/(const std::string& name) const { return fs::path(path_) / name; }

 private:
  std::string path_;
};

Record measured(const std::string& kernel, const std::string& revision = "abc") {
  Record record = example_record();
  record.environment.revision = revision;
  record.point.kernel = kernel;
  MeasuredLaunch first, second;
  first.name = "qk";
  first.launch.dynamic_smem = 49152;
  first.counters = {{"a.sum", 3}, {"b.sum", 0.1}};
  second.name = "pv";
  second.counters = {{"a.sum", 4}, {"b.sum", 0.2}};
  record.islands = {first, second};
  record.counters = {{"a.sum", 7}, {"b.sum", 0.1 + 0.2}};
  return record;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Returns the findings of reading `text`. `records` receives the records that were read.
std::vector<std::string> read_findings(const std::string& text, std::vector<Record>* records = nullptr) {
  const LinesFolder folder;
  write_file(folder / "main.jsonl", text);
  std::vector<Diagnostic> findings;
  const auto keep = [&](Record&& record) {
    if (records != nullptr) records->push_back(std::move(record));
  };
  read_lines(folder / "main.jsonl", keep, findings);
  std::vector<std::string> lines;
  for (const Diagnostic& finding : findings) {
    const std::string line = to_string(finding);
    lines.push_back(line.substr(line.find("main.jsonl")));
  }
  return lines;
}

bool starts(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

}  // namespace

TEST_CASE("records are read back from lines with every value, sorted by point; each environment is written once") {
  const Record a = measured("reference"), b = measured("fused_mma"), c = measured("zeta", "def");
  const std::string text = to_lines({a, b, c});
  CHECK(text == to_lines({c, a, b}));
  const std::vector<std::string> lines = split_lines(text);
  REQUIRE(lines.size() == 5);  // two environments
  CHECK(nlohmann::json::parse(lines[0])["schema"] == "tilescope/environment/1");
  CHECK(nlohmann::json::parse(lines[1])["schema"] == "tilescope/environment/1");
  std::vector<Record> records;
  CHECK(read_findings(text, &records).empty());
  REQUIRE(records.size() == 3);
  CHECK(to_json(records[0]) == to_json(b));
  CHECK(to_json(records[1]) == to_json(a));
  CHECK(to_json(records[2]) == to_json(c));
  CHECK(records[2].file.ends_with("main.jsonl:5"));
}

TEST_CASE("counters that are the sum of the launches are left out of a line; other counters are written") {
  Record record = measured("reference");
  CHECK_FALSE(nlohmann::json::parse(record_line(record)).contains("counters"));
  record.counters["a.sum"] = 8;  // for example, a tool that counted the whole call
  const std::string text = to_lines({record});
  CHECK(nlohmann::json::parse(record_line(record)).at("counters").at("a.sum") == 8);
  std::vector<Record> records;
  CHECK(read_findings(text, &records).empty());
  REQUIRE(records.size() == 1);
  CHECK(records[0].counters == record.counters);
}

TEST_CASE("a broken line is reported with its number, and all other lines are still read") {
  std::vector<std::string> lines = split_lines(to_lines({measured("a"), measured("b"), measured("c"), measured("d")}));
  REQUIRE(lines.size() == 5);
  lines[1].resize(lines[1].size() / 2);
  lines[2].replace(lines[2].find("\"passes\":7"), 10, "\"passes\":0");
  lines[3].replace(lines[3].find("record/2"), 8, "record/9");
  std::vector<Record> records;
  const std::vector<std::string> found = read_findings(joined(lines), &records);
  REQUIRE(found.size() == 3);
  CHECK(found[0] == fmt::format("main.jsonl:2:{}: error: is not complete JSON (cut short); measure the point again",
                                lines[1].size()));
  CHECK(found[1] == "main.jsonl:3: error: passes: expected an integer of at least 1, found 0");
  CHECK(found[2] ==
        "main.jsonl:4: error: has schema tilescope/record/9; this program reads tilescope/record/2, "
        "tilescope/environment/1 and tilescope/record/1");
  REQUIRE(records.size() == 1);
  CHECK(records[0].point.kernel == "d");
}

TEST_CASE("a file cut short anywhere is refused") {
  const std::string whole = to_lines({measured("a")});
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t length = first + 1; length + 1 < whole.size(); length += 31) {
    const std::vector<std::string> found = read_findings(whole.substr(0, length));
    REQUIRE(found.size() == 1);
    CHECK(found[0].starts_with("main.jsonl:2:"));
    CHECK(found[0].find(": error: is not complete JSON") != std::string::npos);
  }
}

TEST_CASE(
    "an environment that no line names is reported once; a point that appears twice is reported with both lines") {
  std::vector<std::string> lines = split_lines(to_lines({measured("a"), measured("b")}));
  std::vector<std::string> found = read_findings(lines[1] + "\n" + lines[2] + "\n");
  REQUIRE(found.size() == 1);
  CHECK(starts(found[0], "main.jsonl:1: error: environment: '" + environment_name(measured("a").environment) +
                             "' is not named by a line of schema tilescope/environment/1 above"));
  lines.push_back(lines[1]);
  found = read_findings(joined(lines));
  REQUIRE(found.size() == 1);
  CHECK(found[0] == "main.jsonl:4: error: point: " + point_id(measured("a").point) +
                        " stands on line 2 already; keep one of the two");
}

TEST_CASE("each absent key of a line is refused by name, except for those that the reader adds up") {
  const std::vector<std::string> lines = split_lines(to_lines({measured("a")}));
  for (std::size_t i = 0; i < 2; ++i) {
    const nlohmann::json whole = nlohmann::json::parse(lines[i]);
    CHECK(whole.size() >= 10);
    for (const auto& [key, value] : whole.items()) {
      if (key == "l2_groups") continue;  // known of a device or not
      nlohmann::json cut = whole;
      cut.erase(key);
      std::vector<std::string> changed = lines;
      changed[i] = cut.dump();
      CAPTURE(key);
      const std::vector<std::string> found = read_findings(joined(changed));
      REQUIRE(!found.empty());
      CHECK(found[0].find(key == "schema" ? "has no schema" : key + ": is missing") != std::string::npos);
      CHECK(starts(found[0], "main.jsonl:" + std::to_string(i + 1) + ": error: "));
    }
  }
}

TEST_CASE("a line may hold a whole record of version 1") {
  std::string text = to_json(measured("a"));
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::vector<Record> records;
  CHECK(read_findings(text + "\n\n", &records).empty());
  REQUIRE(records.size() == 1);
  CHECK(to_json(records[0]) == to_json(measured("a")));
}

TEST_CASE("no file of bundled records is larger than 1 MiB") {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(bundled)) {
    if (entry.path().extension() != ".jsonl") continue;
    CAPTURE(entry.path());
    CHECK(entry.file_size() < std::size_t{1} << 20);
    ++files;
  }
  CHECK(files > 0);
}

// Files of bundled records in a random order, up to some number of records: all of them take ten seconds.
std::vector<fs::path> drawn_files(std::size_t records) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(bundled))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::sort(files.begin(), files.end());  // folders come in any order
  std::shuffle(files.begin(), files.end(), std::mt19937(test_seed()));
  std::size_t taken = 0;
  for (std::size_t held = 0; taken < files.size() && held < records; ++taken) {
    const std::string text = read_file(files[taken]);
    held += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  files.resize(taken);
  return files;
}

TEST_CASE("bundled records have the same bytes after conversion from lines to files and back to lines") {
  const LinesFolder folder;
  const std::vector<fs::path> drawn = drawn_files(1500);
  for (const fs::path& file : drawn) {
    const fs::path copy = fs::path(folder / "drawn") / fs::relative(file, bundled);
    fs::create_directories(copy.parent_path());
    fs::copy_file(file, copy);
  }
  const Conversion files = convert_records(folder / "drawn", folder / "files", RecordForm::files);
  CHECK(files.records > 1000);  // of 1500 lines, some of which are of environments
  CHECK(files.files == files.records);
  const Conversion lines = convert_records(folder / "files", folder / "lines", RecordForm::lines);
  CHECK(lines.records == files.records);
  CHECK(lines.files == drawn.size());
  for (const fs::path& file : drawn) {
    CAPTURE(file);
    CHECK(read_file(file) == read_file(folder / "lines" / fs::relative(file, bundled)));
  }
}

TEST_CASE("converting refuses to replace a file, and writes nothing when a record is damaged") {
  const LinesFolder folder;
  write_file(folder / "main.jsonl", to_lines({measured("a"), measured("b")}));
  const fs::path from = folder / "main.jsonl", to = folder / "to";
  CHECK(convert_records(from, to, RecordForm::files).files == 2);
  CHECK_THROWS_WITH_AS(convert_records(from, to, RecordForm::files), doctest::Contains("exists already"), InputError);
  write_file(from, to_lines({measured("a")}) + "{\n");
  CHECK_THROWS_WITH_AS(convert_records(from, folder / "other", RecordForm::files),
                       doctest::Contains("main.jsonl:3:1: error: is not complete JSON"), InputError);
  CHECK(!fs::exists(folder / "other"));
}

TEST_CASE("a point in both forms, or in two files of an experiment, is reported") {
  const LinesFolder folder;
  const Record record = measured("a");
  write_file(folder / "main.jsonl", to_lines({record}));
  write_record(record, record_path(folder / "", "main", record.point));
  CHECK_THROWS_WITH_AS(read_records(folder / ""), doctest::Contains("too; remove one of the two"), InputError);
}

TEST_CASE("a copy of a record in another folder is reported, another run of its point is not") {
  const LinesFolder folder;
  const Record record = measured("a");
  Record again = record;
  again.environment.date = "2026-11-30T00:00:00Z";
  fs::create_directories(folder / "below/copies");
  write_file(folder / "main.jsonl", to_lines({record}));
  write_file(folder / "below/main.jsonl", to_lines({again}));
  CHECK(read_records(folder / "").size() == 2);
  again = record;
  again.steady_seconds.push_back(1);
  write_file(folder / "below/main.jsonl", to_lines({again}));
  CHECK(read_records(folder / "").size() == 2);
  write_file(folder / "below/copies/main.jsonl", to_lines({record}));
  CHECK_THROWS_WITH_AS(read_records(folder / ""), doctest::Contains("main.jsonl:2 too; remove one of the two"),
                       InputError);
}

TEST_CASE("a line that is damaged before its end is no JSON, one that ends too early is cut short") {
  const auto found = [](const std::string& line) { return read_findings(line + "\n").front(); };
  for (const char* damaged : {R"({"a": NaN})", R"({// c)", "{\"a\": \"\xff\"}", R"({"a": 1,})", R"({"a" 1})"})
    CHECK(found(damaged).find("is no JSON from here on") != std::string::npos);
  CHECK(starts(found(R"({"a": NaN})"), "main.jsonl:1:"));
  for (const char* cut : {"{", R"({"a": "b)", R"({"a": tr)", R"({"a": [1, 2)", R"({"a":   )"})
    CHECK(found(cut).find("is not complete JSON (cut short)") != std::string::npos);
}

TEST_CASE("a store keeps records sorted and complete after every point, and knows which points are done") {
  const LinesFolder folder;
  const Record a = measured("a"), b = measured("b"), c = measured("c");
  {
    RecordStore store(folder / "out", "main");
    CHECK_FALSE(store.holds(b.point));
    store.put(b);
    CHECK(store.holds(b.point));
    CHECK(read_file(folder / "out/main.jsonl") == to_lines({b}));
    store.put(a);
    CHECK(read_file(folder / "out/main.jsonl") == to_lines({a, b}));
  }
  write_record(c, record_path(folder / "out", "main", c.point));  // the older form counts as done
  RecordStore store(folder / "out", "main");
  CHECK(store.holds(a.point));
  CHECK(store.holds(c.point));
  CHECK_FALSE(store.holds(measured("d").point));
  Record again = measured("c", "new");
  store.put(again);
  CHECK(read_file(folder / "out/main.jsonl") == to_lines({a, b, again}));
  CHECK_FALSE(fs::exists(record_path(folder / "out", "main", c.point)));
  store.put(measured("c"));  // the environment of the replaced record is removed
  CHECK(read_file(folder / "out/main.jsonl") == to_lines({a, b, c}));
}

TEST_CASE("a point is done when its result is right and of this GPU, driver and revision") {
  const LinesFolder folder;
  Record wrong = measured("w");
  wrong.correctness->passed = false;
  const Record right = measured("r");
  RecordStore store(folder / "out", "main");
  store.put(wrong), store.put(right);
  const Environment now = right.environment;
  CHECK(store.is_done(right.point, now));
  CHECK_FALSE(store.is_done(wrong.point, now));
  CHECK_FALSE(store.is_done(measured("other").point, now));
  for (std::string Environment::*field : {&Environment::gpu, &Environment::driver, &Environment::revision}) {
    Environment other = now;
    other.*field += " 2";
    CHECK_FALSE(store.is_done(right.point, other));
  }
}

TEST_CASE("a store does not touch a file with a damaged record") {
  const LinesFolder folder;
  write_file(folder / "main.jsonl", to_lines({measured("a")}) + "{\"schema\":\n");
  CHECK_THROWS_WITH_AS(RecordStore(folder / "", "main"), doctest::Contains("main.jsonl:3:10: error:"), InputError);
}

}  // namespace record_lines_test
