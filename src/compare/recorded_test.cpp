#include "compare/recorded.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"

namespace tilescope {

TEST_CASE("a report covers the GPU with the most records; without records it is refused") {
  Comparison comparison;
  CHECK_THROWS_WITH_AS(hardware_with_most_records(comparison), doctest::Contains("no record"), InputError);
  for (const char* hardware : {"l4", "h200_sxm", "h200_sxm"}) {
    comparison.points.emplace_back();
    comparison.points.back().record.environment.hardware = hardware;
  }
  CHECK(hardware_with_most_records(comparison) == "h200_sxm");
}

TEST_CASE("records that are read again when their turn comes are compared as those that stay in memory") {
  const std::filesystem::path source = TILESCOPE_SOURCE_DIR, file = source / "validate/records/h100/h100_family.jsonl";
  const auto compared = [&](std::size_t at_once, std::size_t threads) {
    std::size_t calls = 0;
    const Comparison comparison = compare_recorded(
        file, source, Keep::rows, {},
        [&](std::size_t done, std::size_t all) {
          CHECK(done == ++calls);
          CHECK(done <= all);
        },
        {}, {}, threads, at_once);
    CHECK(calls == comparison.records.size() + comparison.skipped.size());
    return to_json(comparison).dump();
  };
  const std::string whole = compared(4096, 1);
  CHECK(whole.size() > 10'000);
  CHECK(compared(4096, 3) == whole);
  CHECK(compared(7, 2) == whole);
}

TEST_CASE("a record of a wrong result is refused by file, line and field, and so is every other one") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("tilescope_{}", getpid());
  std::filesystem::create_directories(folder);
  const std::filesystem::path source = TILESCOPE_SOURCE_DIR, file = folder / "decode.jsonl";
  std::ifstream from(source / "validate/records/h200/decode.jsonl");
  std::ofstream to(file);
  std::string line;
  std::vector<int> records;  // lines; the others are environments
  for (int number = 1; records.size() < 3 && std::getline(from, line); ++number) {
    const std::string passed = "\"passed\":true";
    if (const std::size_t at = line.find(passed); at != std::string::npos) {
      records.push_back(number);
      if (records.size() != 2) line.replace(at, passed.size(), "\"passed\":false");
    }
    to << line << "\n";
  }
  to.close();
  std::string message;
  try {
    compare_recorded(folder, source, Keep::rows, {}, {}, {});
  } catch (const InputError& error) {
    message = error.what();
  }
  CAPTURE(message);
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < records.size(); ++i)
    CHECK((message.find(fmt::format("decode.jsonl:{}: error: correctness.passed: is false", records[i])) !=
           std::string::npos) == (i != 1));
  std::filesystem::remove_all(folder);
}

}  // namespace tilescope
