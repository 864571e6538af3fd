#include "compare/ablation.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/files.h"
#include "compare/recorded.h"
#include "predict/point/mechanisms.h"

namespace ablation_test {

using namespace tilescope;

namespace {

// The first records of a shipped file that contain a text, with its environments.
class FewRecords {
 public:
  explicit FewRecords(std::size_t most, const std::string& file_name = "tiles.jsonl", const std::string& text = "")
      : directory_(std::filesystem::temp_directory_path() / fmt::format("tilescope_few_{}", ::getpid())) {
    std::filesystem::create_directories(directory_);
    std::istringstream lines(read_file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/records/h200/" + file_name));
    std::ofstream file(directory_ / "few.jsonl");
    std::size_t records = 0;
    for (std::string line; std::getline(lines, line) && records < most;) {
      const bool record = line.find("tilescope/record/") != line.npos;
      if (record && line.find(text) == line.npos) continue;
      file << line << '\n';
      records += record;
    }
  }
  ~FewRecords() { std::filesystem::remove_all(directory_); }
  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

const AblationRow& row_of(const std::vector<AblationRow>& rows, const std::string& choice) {
  return *std::find_if(rows.begin(), rows.end(),
                       [&](const AblationRow& row) { return row.choice == choice && row.kernel == "all"; });
}

}  // namespace

TEST_CASE("a mechanism taken out alone changes what the whole model gives without it, and nothing else") {
  const FewRecords few(6);
  const std::filesystem::path data = TILESCOPE_SOURCE_DIR;
  const std::vector<AblationRow> rows = ablations(few.directory(), data, Ablations::mechanisms);
  const AblationRow& whole = row_of(rows, "all");
  CHECK(whole.changed == 0);
  for (const Mechanism mechanism : {Mechanism::power, Mechanism::block_ends, Mechanism::launch_gaps}) {
    const AblationRow& row = row_of(rows, to_string(mechanism));
    double sum = 0;
    std::size_t n = 0, changed = 0;
    const Comparison with = compare_recorded(few.directory(), data, Keep::rows),
                     taken = compare_recorded(few.directory(), data, Keep::rows, {}, {}, RatesFrom::stated,
                                              without(mechanism));
    REQUIRE(with.rows.size() == taken.rows.size());
    for (std::size_t i = 0; i < taken.rows.size(); ++i) {
      if (taken.rows[i].quantity == "seconds") changed += taken.rows[i].predicted != with.rows[i].predicted;
      if (taken.rows[i].quantity == "seconds" && taken.rows[i].measured >= 20e-6)
        sum += taken.rows[i].relative_error(), ++n;
    }
    CHECK(row.n == n);
    CHECK(row.changed >= changed);
    if (n > 0) CHECK(row.seconds_mean == doctest::Approx(sum / static_cast<double>(n)));
  }
}

TEST_CASE("SM cycles of launches under 20 us are not judged with the others, also where the host set the time") {
  const FewRecords few(1, "h200_drawn.jsonl", "\"kv_len\":1130");
  const std::filesystem::path data = TILESCOPE_SOURCE_DIR;
  const Comparison compared = compare_recorded(few.directory(), data, Keep::rows);
  const auto of_host = [](const ComparisonRow& row) {
    return row.quantity == "seconds_by_host" && row.measured < 20e-6;
  };
  REQUIRE(std::any_of(compared.rows.begin(), compared.rows.end(), of_host));
  const std::vector<AblationRow> rows = ablations(few.directory(), data, Ablations::engines);
  CHECK(row_of(rows, "all").n == 0);
  CHECK(row_of(rows, "all").cycles_worst == 0);
}

TEST_CASE("engines are compared kernel by kernel, and `best` is one of them") {
  const FewRecords few(6);
  const std::vector<AblationRow> rows = ablations(few.directory(), TILESCOPE_SOURCE_DIR, Ablations::engines);
  for (const AblationRow& row : rows) {
    if (row.choice != "all" || row.kernel == "all") continue;
    const auto same = [&](const AblationRow& other) {
      return other.choice != "all" && other.kernel == row.kernel && other.cycles_mean == row.cycles_mean;
    };
    CHECK(std::any_of(rows.begin(), rows.end(), same));
  }
}

TEST_CASE("the page of the model says what each mechanism is worth, and names no other") {
  const std::string page = read_file(std::string(TILESCOPE_SOURCE_DIR) + "/docs/model.md");
  std::size_t rows = 0;
  for (const auto& row : EnumTable<Mechanism>::rows) {
    const std::string cells = fmt::format("\n| `{}` | {} | ", row.name, row.meaning);
    CHECK_MESSAGE(page.find(cells) != page.npos, "the page lacks " << cells);
    ++rows;
  }
  std::size_t listed = 0;
  const std::size_t start = page.find("\n| mechanism | says |"), end = page.find("\n\n", start);
  for (std::size_t at = start; (at = page.find("\n| `", at + 1)) < end;) ++listed;
  CHECK(listed == rows);
}

}  // namespace ablation_test
