#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/test_seed.h"
#include "compare/compare.h"
#include "records/record.h"

namespace tilescope::compare_measured_test {
namespace {

// Samples of back-to-back runs around `seconds`, all within `part` of it.
std::vector<double> samples_around(double seconds, double part, std::mt19937& random) {
  std::uniform_real_distribution<double> off(-part, part);
  std::vector<double> samples(10);
  for (double& sample : samples) sample = seconds * (1 + off(random));
  return samples;
}

validate::Record run_record(std::size_t launches, std::vector<double> steady, double cold) {
  validate::Record record;
  record.islands.resize(launches);
  record.steady_seconds = std::move(steady);
  record.cold_seconds = {cold};
  return record;
}

bool has(const std::vector<ComparisonRow>& rows, std::string_view quantity) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.quantity == quantity; });
}

}  // namespace

TEST_CASE("a time is the host's where its samples lie apart or an empty L2 does not slow it, and no launch is long") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  for (int i = 0; i < 200; ++i) {
    const std::size_t launches = 1 + random() % 3;
    const double n = static_cast<double>(launches), by_gpu = n * draw(2e-6, 6e-6), by_host = n * draw(3.7e-6, 6e-6);
    CAPTURE(launches);
    CAPTURE(by_gpu);
    CAPTURE(by_host);
    // Queued: the samples of the microbenchmarks spread over less than 0.4 %.
    CHECK(!paced_by_host(run_record(launches, samples_around(by_gpu, 0.004, random), 1.3 * by_gpu)));
    std::vector<double> apart(10);  // half of them 4 % slower than the others
    for (std::size_t k = 0; k < apart.size(); ++k) apart[k] = by_host * (k % 2 ? 1 : 1.04);
    CHECK(paced_by_host(run_record(launches, apart, 1.3 * by_host)));
    CHECK(paced_by_host(run_record(launches, samples_around(by_gpu, 0.001, random), 0.9 * by_gpu)));
    // Launches that take longer than any host: other load and clocks move those.
    const double longer = n * draw(10.5e-6, 1e-3);
    for (double& sample : apart) sample *= longer / by_host;
    CHECK(!paced_by_host(run_record(launches, apart, 0.9 * longer)));
  }
  CHECK(!paced_by_host(validate::Record{}));
}

TEST_CASE("a time that is the host's is shown beside the larger of both predictions, without judgement or error bar") {
  const std::filesystem::path source = TILESCOPE_SOURCE_DIR;
  std::vector<validate::Record> records = validate::read_records(source / "validate/records/h100/h100_drawn_3.jsonl");
  std::erase_if(records, [](const validate::Record& record) { return record.point.kernel != "split_kv_int8"; });
  validate::Experiment judged;
  for (const std::string_view quantity : {std::string_view("seconds"), host_seconds_quantity}) {
    validate::Tolerance& tolerance = judged.tolerances.emplace_back();
    tolerance.quantity = quantity, tolerance.tolerance = 0.01;
  }
  std::size_t of_host = 0;
  for (const validate::Record& record : records) {
    const bool host = paced_by_host(record);
    const Comparison one =
        compare_records({record}, source, [&](const std::string&) -> const validate::Experiment& { return judged; });
    of_host += host;
    CHECK(has(one.rows, host_seconds_quantity) == host);
    CHECK(has(one.rows, "seconds") != host);
    for (const ComparisonRow& row : one.rows) {
      if (row.quantity == "seconds") CHECK(row.verdict != Verdict::info);
      if (row.quantity != host_seconds_quantity) continue;
      CHECK(row.verdict == Verdict::info);
      CHECK(row.reason.starts_with("not judged: the host"));
      const TimePrediction& time = one.points.front().prediction.time;
      CHECK(row.predicted == std::max(time.total, time.host));
    }
  }
  CHECK(of_host == 1);
  CHECK(records.size() > of_host);
}

}  // namespace tilescope::compare_measured_test
