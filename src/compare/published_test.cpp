// Compares predictions with published times: ranks, scores, and tables with a known answer.
#include "compare/published.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "compare/errors.h"

namespace tilescope::compare_published_test {
namespace {

const std::filesystem::path source = TILESCOPE_SOURCE_DIR;

validate::PublishedRow row(const std::string& kernel, std::int64_t q_len, double seconds, std::int64_t tile_q = 0) {
  validate::MeasurePoint point{.kernel = kernel, .workload = {4, 16, 16, q_len, q_len, 128, 128}};
  point.tile_q = tile_q, point.tile_kv = tile_q > 0 ? 64 : 0;
  return {.points = {point}, .seconds = seconds, .line = 7};
}

validate::PublishedTable table(std::vector<validate::PublishedRow> rows) {
  validate::PublishedTable out;
  out.name = "t", out.hardware = "h200_sxm", out.file = "t.yaml", out.rows_file = "t.csv", out.rows = std::move(rows);
  return out;
}

double predicted(const validate::PublishedRow& which, std::vector<std::string> copies = {}) {
  validate::PublishedTable one = table({which, which});
  one.copies = std::move(copies);
  return compare_published({one}, source)[0].rows[0].predicted;
}

// Rank correlation by its definition from rank differences, without ties: 1 - 6 sum d^2 / (n (n^2 - 1)).
double by_distances(const std::vector<double>& a, const std::vector<double>& b) {
  const auto rank = [](const std::vector<double>& all, double value) {
    return static_cast<double>(std::count_if(all.begin(), all.end(), [&](double other) { return other < value; }));
  };
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(rank(a, a[i]) - rank(b, b[i]), 2);
  const auto n = static_cast<double>(a.size());
  return 1 - 6 * sum / (n * (n * n - 1));
}

}  // namespace

TEST_CASE("rank correlation equals the formula of rank differences; ties take their mean rank") {
  const std::vector<double> up{1, 2, 3, 4, 5}, down{9, 7, 5, 3, 1}, mixed{2, 1, 40, 3, 5};
  CHECK(rank_correlation(up, up) == doctest::Approx(1));
  CHECK(rank_correlation(up, down) == doctest::Approx(-1));
  CHECK(rank_correlation(up, mixed) == doctest::Approx(by_distances(up, mixed)));
  const std::vector<double> a{1, 2, 2, 3}, b{1, 2, 3, 4};
  CHECK(rank_correlation(a, b) == doctest::Approx(3 / std::sqrt(10.0)));  // ranks 0, 1.5, 1.5, 3: 4.5 / sqrt(4.5 * 5)
  CHECK(rank_correlation(std::vector<double>{1, 1, 1}, std::vector<double>{1, 2, 3}) == 0);
}

TEST_CASE("published rows that were printed give the error bars of the predicted ones") {
  std::vector<PublishedResult> results =
      compare_published({table({row("fused_mma", 512, 1e-4), row("fused_mma", 1024, 2e-4)})}, source);
  results[0].rows[1].excess = 2;  // does not fit: no time is judged
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tilescope_published_test.json";
  std::ofstream(file) << to_json(results);
  const std::vector<PublishedResult> read = read_published_results(file);
  CHECK(to_json(error_bars(observed_errors({}, read))) == to_json(error_bars(observed_errors({}, results))));
  CHECK(error_bars(observed_errors({}, read)).rows().size() > 0);
  std::ofstream(file) << "{}";
  CHECK_THROWS_WITH_AS(read_published_results(file), doctest::Contains("has printed: key 'tables' not found"),
                       InputError);
  std::ofstream(file) << "{\n  \"tables\": [}";
  CHECK_THROWS_WITH_AS(read_published_results(file), doctest::Contains("json:2:14: error: is no JSON from here on"),
                       InputError);
  std::filesystem::remove(file);
}

TEST_CASE(
    "a table of the model's own times has error 0; the bars of a table limit its mean error and its rank correlation") {
  std::vector<validate::PublishedRow> rows{row("fused_mma", 512, 1), row("fused_mma", 1024, 1),
                                           row("fused_mma", 4096, 1)};
  for (validate::PublishedRow& each : rows) each.seconds = predicted(each);
  validate::PublishedTable own = table(rows);
  own.mape = 0, own.rank = 1;
  const PublishedResult same = compare_published({own}, source)[0];
  CHECK(same.model.error.mean == doctest::Approx(0));
  CHECK(same.model.rank == doctest::Approx(1));
  CHECK(same.passed());
  for (validate::PublishedRow& each : own.rows) each.seconds *= 1.25;  // predictions are a fifth too low
  const PublishedResult slower = compare_published({own}, source)[0];
  CHECK(slower.model.error.mean == doctest::Approx(0.2));
  CHECK(slower.model.bias == doctest::Approx(-0.2));
  CHECK(slower.model.rank == doctest::Approx(1));
  CHECK_FALSE(slower.passed());
  std::swap(own.rows[0].seconds, own.rows[2].seconds);
  own.mape = 10;
  CHECK_FALSE(compare_published({own}, source)[0].passed());  // reversed order
}

TEST_CASE("the roofline is FLOP over the peak rate, or compulsory bytes over the bandwidth") {
  const PublishedResult result =
      compare_published({table({row("fused_mma", 4096, 1), row("fused_mma", 64, 1)})}, source)[0];
  CHECK(result.rows[0].roofline == doctest::Approx(4.0 * 4 * 16 * 4096 * 4096 * 128 / (4096.0 * 132 * 1830e6)));
  const double bytes = 4.0 * 4 * 16 * 64 * 128 * 2 + 4.0 * 16 * 64 * 4;  // Q, K, V, O and the log-sum-exps
  CHECK(result.rows[1].roofline == doctest::Approx(bytes / 4800e9));
}

TEST_CASE("arrays that the call copies are read and written once by a separate launch") {
  const double without = predicted(row("fused_mma", 4096, 1)), with = predicted(row("fused_mma", 4096, 1), {"K", "V"});
  const double bytes = 2.0 * 2 * 4 * 16 * 4096 * 128 * 2;
  CHECK(with - without == doctest::Approx(1.396e-6 + bytes / 4247e9));
}

TEST_CASE("times of several kernels in one row are added") {
  validate::PublishedRow both = row("fused_mma", 1024, 1);
  both.points.push_back(row("flash1", 1024, 1).points[0]);
  CHECK(predicted(both) == doctest::Approx(predicted(row("fused_mma", 1024, 1)) + predicted(row("flash1", 1024, 1))));
}

TEST_CASE("a tile that does not fit has no time and ranks last; of two, the one that needs more memory ranks lower") {
  std::vector<validate::PublishedRow> rows;
  for (const auto& [tile_q, tile_kv, ms] :
       {std::tuple(64, 64, 1.8), {64, 128, 2.0}, {128, 64, 14.0}, {128, 128, 15.0}}) {
    validate::PublishedRow each = row("case_study", 4096, ms / 1e3);
    each.points[0].workload = {4, 8, 8, 4096, 4096, 256, 256};
    each.points[0].tile_q = tile_q, each.points[0].tile_kv = tile_kv, each.points[0].warps = 4;
    rows.push_back(each);
  }
  const PublishedResult result = compare_published({table(rows)}, source)[0];
  CHECK(result.model.error.n == 2);
  CHECK(result.roofline.error.n == 4);
  CHECK_FALSE(result.rows[2].fits());
  CHECK(result.rows[3].excess > result.rows[2].excess);
  CHECK(result.model.rank >= 0.8);
  CHECK(to_json({result})["tables"][0]["rows"][3]["predicted"].is_null());
}

TEST_CASE("a row that a kernel cannot run is refused with its line") {
  const auto message = [](const validate::PublishedTable& wrong) {
    try {
      compare_published({wrong}, source);
      return std::string("accepted");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  CHECK(message(table({row("fused_mma", 512, 1, 48), row("fused_mma", 512, 1)}))
            .starts_with("t.csv:7: error: kernel 'fused_mma' has no variant for fused_mma-fp16-b4"));
  validate::PublishedTable old = table({row("fused_wgmma", 512, 1), row("fused_wgmma", 512, 1)});
  old.hardware = "a100_sxm_80";
  CHECK(message(old).starts_with("t.csv:7: error: "));
  validate::PublishedTable copies = table({row("fused_mma", 512, 1), row("fused_mma", 512, 1)});
  copies.copies = {"W"};
  CHECK(message(copies) == "t.csv:7: error: t.yaml: copies: kernel 'fused_mma' has no array 'W'");
}

}  // namespace tilescope::compare_published_test
