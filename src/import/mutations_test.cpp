// Damaged files: a result or an InputError, whatever was changed.
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.h"
#include "base/files.h"
#include "base/test_seed.h"
#include "import/make_records.h"
#include "import/read_tool_file.h"
#include "records/record_lines.h"

namespace mutations_test {

using namespace tilescope;
using namespace tilescope::imported;

namespace {

namespace fs = std::filesystem;

const fs::path samples = fs::path(TILESCOPE_SOURCE_DIR) / "src" / "import" / "testdata";

class MutationFolder {
 public:
  MutationFolder() {
    std::string name = (fs::temp_directory_path() / "tilescope-mutations-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~MutationFolder() { fs::remove_all(path_); }
  fs::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }
  fs::path at(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string unpacked(const fs::path& file) {
  gzFile stream = gzopen(file.c_str(), "rb");
  std::string text(4 << 20, '\0');
  text.resize(static_cast<std::size_t>(gzread(stream, text.data(), static_cast<unsigned>(text.size()))));
  gzclose(stream);
  return text;
}

std::string packed(const std::string& text, const fs::path& file) {
  gzFile stream = gzopen(file.c_str(), "wb");
  gzwrite(stream, text.data(), static_cast<unsigned>(text.size()));
  gzclose(stream);
  return read_file(file);
}

std::string database(const fs::path& file) {
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &connection) == SQLITE_OK);
  REQUIRE(sqlite3_exec(connection, read_file(samples / "nsys.sql").c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(connection);
  return read_file(file);
}

// The events of two calls: a trace of 10 KB.
std::string small_trace() {
  const std::string whole = unpacked(samples / "torch_trace.json.gz");
  const std::size_t head = whole.find("\"traceEvents\": [") + 16;
  std::string text = whole.substr(0, head);
  std::size_t at = head;
  while (at < whole.size() && at != std::string::npos) {
    const std::size_t end = whole.find("},\n", at);
    const std::string event = whole.substr(at, end == std::string::npos ? end : end + 1 - at);
    const bool kept = event.find("\"ts\": 0.") == std::string::npos && event.find("flash") != std::string::npos &&
                      event.find("_flash_attention_") == std::string::npos;
    const bool call = event.find("\"External id\": 530") != std::string::npos ||
                      event.find("\"External id\": 519") != std::string::npos ||
                      event.find("\"External id\": 18,") != std::string::npos ||
                      event.find("\"External id\": 17,") != std::string::npos;
    if (kept || call) text += (text.back() == '[' ? "" : ",\n") + event;
    if (end == std::string::npos) break;
    at = end + 3;
  }
  while (text.ends_with("}]}")) text.resize(text.size() - 2);
  return text + "]}";
}

std::string mutated(const std::string& text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  static const std::vector<std::string> pieces{"-1",
                                               "0",
                                               "1e308",
                                               "9223372036854775807",
                                               "99999999999999999999999",
                                               "\"",
                                               "[[[[[[",
                                               "{}",
                                               "null",
                                               "nan",
                                               ",",
                                               "\n",
                                               std::string("\0", 1),
                                               "\xff\xfe",
                                               "\\ud800",
                                               "1.5",
                                               "true",
                                               "%s",
                                               "\x1b[31m"};
  std::string changed = text;
  for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
    const std::size_t at = below(changed.size());
    switch (below(6)) {
      case 0:
        if (!changed.empty()) changed[at] = static_cast<char>(random());
        break;
      case 1:
        changed.erase(at, 1 + below(40));
        break;
      case 2:
        changed.insert(at, pieces[below(pieces.size())]);
        break;
      case 3:
        changed.insert(at, changed.substr(below(changed.size()), 1 + below(200)));
        break;
      case 4: {  // another number in place of one
        const std::size_t digit = changed.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = std::min(changed.find_first_not_of("0123456789.", digit), changed.size());
        changed.replace(digit, end - digit, pieces[below(5)]);
        break;
      }
      default:
        if (below(8) == 0) changed.resize(at);
    }
  }
  return changed;
}

struct Outcomes {
  int good = 0, refused = 0;
};

// Anything but a result or an InputError fails the test.
void import_all(const fs::path& file, const Asked& asked, bool whole, Outcomes& outcomes) {
  static const ImportTables tables = load_tables({});
  try {
    const ToolFile read = read_tool_file(file, tables);
    if (whole) {
      const HardwareProfile hardware = hardware_of(read, "h100_sxm");
      std::vector<FoundRun> runs = recognise(read, tables.operators, hardware, asked);
      validate::to_lines(make_records(read, runs, {.experiment = "test", .hardware = hardware.id, .caches = {}}));
    }
    ++outcomes.good;
  } catch (const InputError& error) {
    CHECK_FALSE(error.diagnostics().empty());
    ++outcomes.refused;
  }
}

void import_mutations(const std::string& name, const std::string& text, const Asked& asked, int count) {
  const MutationFolder folder;
  std::mt19937 random(test_seed());
  Outcomes whole, outcomes;
  import_all(folder.write(name, text), asked, true, whole);
  CHECK(whole.good == 1);
  for (int i = 0; i < count; ++i) {
    CAPTURE(i);
    import_all(folder.write(name, mutated(text, random)), asked, i % 20 == 0, outcomes);
  }
  CHECK(outcomes.good + outcomes.refused == count);
  CHECK(outcomes.refused > count / 20);
}

Asked asked_point(const std::string& name) {
  return {.hardware = "h100_sxm",
          .kernel = {},
          .points = {parse_given_point(name + " batch=2 heads_q=16 q_len=2k head_dim=128 mask=causal dtype=bf16")}};
}

}  // namespace

TEST_CASE("random edits of a PyTorch trace give a result or an InputError") {
  import_mutations("t.json", small_trace(), {}, 2000);
}

TEST_CASE("random edits of a packed trace give a result or an InputError") {
  const MutationFolder folder;
  import_mutations("t.json.gz", packed(small_trace(), folder.at("whole.gz")), {}, 1000);
}

TEST_CASE("random edits of ncu's CSV give a result or an InputError") {
  import_mutations("n.csv", read_file(samples / "ncu_raw.csv"), asked_point("name=flash_fwd_kernel"), 1000);
  import_mutations("n.csv", read_file(samples / "ncu_long.csv"), asked_point(""), 1000);
}

TEST_CASE("random edits of an SQLite export give a result or an InputError") {
  const MutationFolder folder;
  import_mutations("s.sqlite", database(folder.at("whole.sqlite")), {}, 1500);
}

TEST_CASE("empty, foreign and cut files are refused with one line that names the remedy") {
  const MutationFolder folder;
  const auto problem = [&](const std::string& name, std::string_view bytes) -> std::string {
    try {
      read_tool_file(folder.write(name, bytes), load_tables({}));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(problem("a.json", "").find("is empty") != std::string::npos);
  CHECK(problem("a.json", "{}").find("has no kernel of a GPU") != std::string::npos);
  CHECK(problem("a.json", "[]").find("has no kernel of a GPU") != std::string::npos);
  CHECK(problem("a.json", "{\"traceEvents\": [").find("is cut short") != std::string::npos);
  CHECK(problem("a.json", std::string(100000, '[')).find("nested deeper") != std::string::npos);
  CHECK(problem("a.json", std::string("{\0\"\0a\0", 6)).find("UTF-8") != std::string::npos);
  CHECK(problem("a.csv", std::string("\xff\xfe\"\0I\0D\0", 8)).find("UTF-8") != std::string::npos);
  CHECK(problem("a.csv", "ID,Name\n1,2\n").find("Kernel Name") != std::string::npos);
  CHECK(problem("a.csv", "hello\n").find("ncu --csv") != std::string::npos);
  CHECK(problem("a.sqlite", "SQLite format 3").find("export it again") != std::string::npos);
  CHECK(problem("a.nsys-rep", "xxxx").find("nsys export --type sqlite") != std::string::npos);
  CHECK(problem("a.ncu-rep", "xxxx").find("ncu --import") != std::string::npos);
  const std::string whole = packed(small_trace(), folder.at("whole.gz"));
  for (const std::size_t left : {whole.size() - 4, whole.size() - 9, whole.size() / 2, std::size_t{12}})
    CHECK(problem("a.json.gz", std::string_view(whole).substr(0, left)).find("gzip") != std::string::npos);
}

TEST_CASE("a packed file that unpacks to far more than a trace could is refused before it fills the memory") {
  const MutationFolder folder;
  const fs::path file = folder.at("bomb.json.gz");
  gzFile stream = gzopen(file.c_str(), "wb");
  const std::string spaces(1 << 20, ' ');
  for (int i = 0; i < 80; ++i) gzwrite(stream, spaces.data(), static_cast<unsigned>(spaces.size()));
  gzclose(stream);
  CHECK_THROWS_WITH_AS(read_tool_file(file, load_tables({})), doctest::Contains("250 times"), InputError);
}

}  // namespace mutations_test
