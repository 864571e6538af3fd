#include "compare/recorded.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/catalogue.h"
#include "compare/compare.h"
#include "predict/predict.h"

namespace tilescope::recorded_test {

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

TEST_CASE("a record is predicted for the SMs of the device that measured it, where its environment states them") {
  const std::filesystem::path source = TILESCOPE_SOURCE_DIR;
  std::optional<validate::Record> found;  // 8 blocks, which the profile's order of SMs puts on one side of the L2
  validate::for_each_record(source / "validate/records/h100/h100_drawn_8.jsonl", [&](validate::Record&& record) {
    if (record.point.kernel == "flash1" && record.point.workload.q_len == 14336) found = std::move(record);
  });
  REQUIRE(found);
  Catalogue catalogue{.data_directory = source, .plans = {}, .profiles = {}};
  CHECK(&catalogue.profile(*found) == &catalogue.profile("h100_sxm"));
  const auto hbm_read = [&] {
    const Plan& plan = catalogue.plan("flash1");
    const Prediction predicted = predict(plan, catalogue.profile(*found), model_point(*found, plan, source));
    return static_cast<double>(predicted.traffic[LevelId::hbm][0]);
  };
  const double of_profile = hbm_read();
  found->environment.l2_groups = "4a 4b 62a 62b";
  const double halves = hbm_read();
  found->environment.l2_groups = "8a 58b 58a 8b";
  CHECK(hbm_read() == doctest::Approx(of_profile).epsilon(0.1));
  CHECK(halves < of_profile / 4);
  for (const char* wrong : {"66a", "66a 66c", "x"}) {
    found->environment.l2_groups = wrong;
    CHECK_THROWS_WITH_AS(catalogue.profile(*found), doctest::Contains("environment.l2_groups"), InputError);
  }
}

}  // namespace tilescope::recorded_test
