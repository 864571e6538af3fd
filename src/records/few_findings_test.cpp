#include "records/few_findings.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "records/record.h"

namespace tilescope::few_findings_test {

using validate::few_findings;

TEST_CASE("of many files each has one message, of ten files at most, and the others are counted") {
  std::vector<Diagnostic> findings;
  for (int file = 0; file < 30; ++file)
    for (int line = 1; line <= 100; ++line)
      findings.push_back({.file = "f" + std::to_string(file) + ".jsonl", .line = line, .message = "is foreign"});
  const std::vector<Diagnostic> few = few_findings(findings);
  REQUIRE(few.size() == 11);
  CHECK(few[9].file == "f9.jsonl");
  CHECK(few[9].line == 1);
  CHECK(few[10].message.starts_with("3000 findings in 30 files: 2990 are not shown"));
}

TEST_CASE("ten messages of a single file are all shown, and more are counted") {
  std::vector<Diagnostic> findings(10, {.file = "a.jsonl", .message = "is foreign"});
  CHECK(few_findings(findings).size() == 10);
  findings.push_back({.file = "a.jsonl:3", .message = "is foreign"});
  CHECK(few_findings(findings).size() == 11);
  CHECK(few_findings(findings).back().message.starts_with("11 findings in 1 files: 1 are not shown"));
}

TEST_CASE("a folder of foreign JSON Lines is refused in few lines") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tilescope_few_findings_test";
  std::filesystem::create_directories(folder);
  for (int file = 0; file < 12; ++file) {
    std::ofstream stream(folder / ("f" + std::to_string(file) + ".jsonl"));
    for (int line = 0; line < 50; ++line) stream << "{\"schema\": \"other/1\"}\n";
  }
  try {
    validate::for_each_record(folder, [](validate::Record&&) {});
    FAIL("foreign files were read");
  } catch (const InputError& error) {
    CHECK(error.diagnostics().size() == 11);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace tilescope::few_findings_test
