// The pictures' data, from recorded points of the H200.
#include "cli/report_pictures.h"

#include <doctest/doctest.h>

#include "cli/recorded_points.h"
#include "cli/report_data.h"
#include "report/report.h"

namespace {

using namespace tilescope;
using cli::compare_points, cli::h200;

const std::filesystem::path kErrors = cli::source_directory / "validate/errors.json";

std::string fused(const std::string& length, const std::string& mask = "none") {
  return "main/fused_mma-fp16-b1-hq16-hkv16-q" + length + "-kv" + length + "-d128-" + mask + "-tq128-tkv64-w8";
}
const std::string kTheirs = "third_party/pytorch_flash2-bf16-b1-hq16-hkv16-q8192-kv8192-d128-none-tq128-tkv64-w4";
const std::string kDecode = "decode/split_kv-fp16-b64-hq32-hkv8-q1-kv8192-d128-none-tq16-tkv64-w4-s3";

double sum(const Json& parts) {
  double total = 0;
  for (const auto& [name, seconds] : parts.items()) total += seconds.get<double>();
  return total;
}

}  // namespace

TEST_CASE("the parts of a predicted time add up to it, whatever bounds the kernel, and no unit is busy for longer") {
  const Comparison comparison =
      compare_points({fused("4096"), fused("2048", "causal"), cli::reference_point, kTheirs, kDecode});
  const Json splits = cli::picture_splits(cli::picture_records(comparison, h200()), h200());
  REQUIRE(splits.size() == 5);
  for (const Json& split : splits) {
    CAPTURE(split["kernel"].get<std::string>() + " " + split["label"].get<std::string>());
    const double predicted = split["predicted"], waits = split["waits"], idle = split["idle"], launch = split["launch"];
    CHECK(sum(split["busiest"]) + waits + idle + launch == doctest::Approx(predicted));
    CHECK(waits >= 0);
    CHECK(idle >= 0);
    for (const auto& [unit, seconds] : split["units"].items()) CHECK(seconds.get<double>() <= predicted * 1.0001);
  }
}

TEST_CASE("a unit's part of time is its work over its rate: tensor cores of fused_mma, memory of decoding") {
  const Comparison comparison = compare_points({fused("4096"), kDecode});
  const Json splits = cli::picture_splits(cli::picture_records(comparison, h200()), h200());
  // 4 N^2 d FLOP a head, 16 heads; mma.sync issues 62 % or so of the datasheet's rate, so full rate is a lower bound.
  const double flop = 4.0 * 16 * 4096 * 4096 * 128, hz = comparison.points[0].prediction.time.clock_hz;
  const double full_rate = flop / (h200().tensor_flop_per_cycle.at(Format::fp16).value * 132 * hz);
  const double tensor = splits[0]["units"]["tensor"];
  CHECK(tensor > full_rate);
  CHECK(tensor < 2 * full_rate);
  // All of K and V once, and little else, at the measured read bandwidth.
  const double bytes = 2.0 * 64 * 8 * 8192 * 128 * 2;
  CHECK(splits[1]["kernel"] == "split_kv");
  CHECK(splits[1]["units"]["hbm"].get<double>() ==
        doctest::Approx(bytes / h200().measured->hbm.read->value).epsilon(0.02));
  CHECK(splits[1]["busiest"].contains("hbm"));
}

TEST_CASE(
    "of each kernel at most five records are split, the longest first, and short ones only where there is no other") {
  Comparison comparison = compare_points({fused("128"), fused("1024"), fused("4096"), fused("16384")});
  const auto splits = [&] { return cli::picture_splits(cli::picture_records(comparison, h200()), h200()); };
  const Json three = splits();
  REQUIRE(three.size() == 3);  // 128 keys take under 20 us
  CHECK(three[0]["longest"] == true);
  CHECK(three[1]["longest"] == false);
  CHECK(three[0]["measured"] > three[1]["measured"]);
  comparison.points.erase(comparison.points.begin() + 1, comparison.points.end());
  CHECK(splits().size() == 1);
  const ComparedPoint one = compare_points({fused("4096")}).points[0];
  for (int batch = 1; batch <= 9; ++batch) {  // nine records of different names and times
    comparison.points.push_back(one);
    comparison.points.back().record.point.workload.batch = batch;
    for (double& seconds : comparison.points.back().record.steady_seconds) seconds *= batch;
  }
  const Json five = splits();
  REQUIRE(five.size() == 5);
  CHECK(five[0]["label"].get<std::string>().ends_with("B9"));
  CHECK_FALSE(five[4]["label"].get<std::string>().ends_with("B2"));  // the shortest, of batch 1
}

TEST_CASE("a residual carries the bar that predict states for its kernel and regime") {
  const Comparison comparison = compare_points({fused("4096"), kTheirs});
  const Json data = cli::picture_residuals(cli::picture_records(comparison, h200()), h200(), kErrors);
  REQUIRE(data["residuals"].size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const ComparedPoint& point = comparison.points[i];
    const Json& residual = data["residuals"][i];
    for (const char* quantity : {"seconds", "hbm_read_bytes"}) {
      const auto stated =
          recorded_error(kErrors, "h200_sxm", point.record.point.kernel, quantity, regime_of(point.prediction));
      REQUIRE(stated);
      CHECK(residual[quantity]["bar"].get<double>() == stated->p90);
    }
    CHECK(residual["seconds"]["predicted"].get<double>() == point.prediction.time.total);
    CHECK(residual["third_party"] == (i == 1));
  }
  const auto bar = [&](const std::string& kernel, const std::string& quantity) -> const Json& {
    for (const Json& each : data["bars"])
      if (each["kernel"] == kernel && each["quantity"] == quantity) return each;
    throw std::logic_error("no bar of " + kernel);
  };
  CHECK(bar("all", "seconds")["n"] == 2);
  CHECK(bar("*ours", "seconds")["n"] == 1);
  CHECK(bar("*theirs", "seconds")["stated"] == false);
  CHECK(bar("fused_mma", "seconds")["stated"] == true);
  CHECK(bar("fused_mma", "busy_cycles")["stated"] == false);  // predict states none
}

TEST_CASE("without a file of errors no bar counts as stated") {
  const Json data = cli::picture_residuals(cli::picture_records(compare_points({fused("4096")}), h200()), h200(),
                                           cli::source_directory / "no_such_file.json");
  for (const Json& bar : data["bars"]) CHECK(bar["stated"] == false);
}

TEST_CASE("a series over length holds records that differ in length alone, with reads and writes of both sides") {
  const Comparison comparison = compare_points({fused("1024"), fused("4096"), fused("16384"), fused("512", "causal"),
                                                fused("4096", "causal"), cli::reference_point});
  const Json series = cli::picture_lengths(cli::picture_records(comparison, h200()));
  REQUIRE(series.size() == 1);  // two causal lengths are too few
  const Json& points = series[0]["points"];
  REQUIRE(points.size() == 3);
  CHECK(points[0]["kv_len"] == 1024);
  CHECK(points[2]["kv_len"] == 16384);
  const double arrays = 4.0 * 16 * 4096 * 128 * 2, statistics = 16 * 4096 * 4;  // Q, K, V, O; the log-sum-exp
  CHECK(points[1]["compulsory"].get<double>() == doctest::Approx(arrays + statistics));
  CHECK(points[1]["measured"].get<double>() == doctest::Approx(arrays + statistics).epsilon(0.01));
  // Without a cache every block of 128 queries reads K and V again.
  CHECK(points[1]["no_cache"].get<double>() ==
        doctest::Approx(arrays / 2 + 32 * arrays / 2 + statistics).epsilon(0.001));
}

TEST_CASE("clock and power are those of each kernel's longest record, and every long record is counted once") {
  const Comparison comparison =
      compare_points({fused("512"), fused("4096"), fused("16384"), cli::reference_point, kTheirs});
  const Json data = cli::picture_clocks(cli::picture_records(comparison, h200()), h200());
  REQUIRE(data["clocks"].size() == 3);
  CHECK(data["clocks"][0]["label"].get<std::string>().ends_with("N16384"));
  CHECK(data["clocks"][2]["third_party"] == true);
  const Json& counts = data["power_limit"];
  CHECK(counts["both"].get<int>() + counts["model_only"].get<int>() + counts["gpu_only"].get<int>() +
            counts["neither"].get<int>() ==
        4);  // 512 is short
  for (const Json& row : data["clocks"]) {
    CHECK(row["low_hz"] < row["high_hz"]);
    CHECK(row["high_hz"] <= 1.98e9);
  }
  CHECK(data["limits"]["watts"] == 700);
}

TEST_CASE("the report's data with its pictures is what the renderer reads") {
  const Comparison comparison = compare_points({fused("1024"), fused("4096"), fused("16384"), kTheirs});
  Json data = cli::report_data(comparison, h200(), "revision", "2026-01-02");
  data["pictures"] = cli::pictures(comparison, h200(), kErrors);
  CHECK(data["pictures"]["records"] == 4);
  const std::string text = render_markdown(nlohmann::json::parse(data.dump()));
  for (const char* title :
       {"## DRAM bytes over sequence length", "## Error bars", "## Where the time goes", "## Clock and power"})
    CHECK_MESSAGE(text.find(title) != std::string::npos, title);
}
