// The pictures' data, from recorded points of the H200.
#include "analysis/pictures/pictures.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "analysis/recorded_points.h"
#include "analysis/report/report.h"
#include "base/test_seed.h"
#include "hardware/derived.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "report/report.h"
#include "search/search.h"

namespace pictures_pictures_test {
namespace {

using namespace tilescope;
using namespace analysis;

const std::filesystem::path kErrors = source_directory / "validate/errors.json";

std::string fused(const std::string& length, const std::string& mask = "none") {
  return "main/fused_mma-fp16-b1-hq16-hkv16-q" + length + "-kv" + length + "-d128-" + mask + "-tq128-tkv64-w8";
}
const std::string kReference = "main/reference-fp16-b1-hq16-hkv16-q4096-kv4096-d128-none-tq128-tkv128-w4";
const std::string kLibrary = "third_party/pytorch_flash2-bf16-b1-hq16-hkv16-q8192-kv8192-d128-none-tq128-tkv64-w4";
const std::string kDecode = "decode/split_kv-fp16-b64-hq32-hkv8-q1-kv8192-d128-none-tq16-tkv64-w4-s3";

double sum(const std::map<std::string, double>& parts) {
  double total = 0;
  for (const auto& [name, seconds] : parts) total += seconds;
  return total;
}

std::vector<Split> splits_of(const Comparison& comparison) {
  return time_splits(picture_records(comparison, h200()), h200());
}

}  // namespace

TEST_CASE("the parts of a predicted time add up to it for every bound, and no hardware unit is busy for longer") {
  const Comparison comparison = compare_points({fused("4096"), fused("2048", "causal"), kReference, kLibrary, kDecode});
  const std::vector<Split> splits = splits_of(comparison);
  REQUIRE(splits.size() == 5);
  for (const Split& split : splits) {
    CAPTURE(split.kernel + " " + split.label);
    CHECK(sum(split.busiest) + split.waits + split.idle + split.launch == doctest::Approx(split.predicted));
    CHECK(split.waits >= 0);
    CHECK(split.idle >= 0);
    for (const auto& [unit, seconds] : split.units) CHECK(seconds <= split.predicted * 1.0001);
  }
}

TEST_CASE("the units of a time's split are what bounds its launches, and one of them is what bounds it all") {
  std::mt19937 random(test_seed() + 9);
  const std::vector<std::string> plans{
      "flash2",      "split-kv", "flash1",     "standard", "flash2-backward-split", "fused_mma",
      "fused_wgmma", "split_kv", "case_study", "backward", "backward_split"},
      gpus{"h100_sxm", "h200_sxm", "l40s", "a100_sxm_80"};
  std::set<std::string> bounds;
  int timed = 0;
  for (int draw = 0; draw < 80; ++draw) {
    const std::string& name = plans[random() % plans.size()];
    const bool kernel = name == "backward" || name.find('_') != std::string::npos;
    const Plan plan =
        kernel ? load_plan_for_kernel(name, source_directory) : load_plan_for_schedule(name, source_directory);
    const HardwareProfile gpu =
        ProfileCatalogue(source_directory / "hardware").find(gpus[random() % gpus.size()], RatesFrom::stated);
    Point point = default_point(plan);
    const auto keys = static_cast<std::int64_t>(100 + random() % 5000), queries = random() % 2 == 0 ? 1 : keys;
    point.workload = {
        1 + static_cast<std::int64_t>(random() % 8), 8, random() % 2 == 0 ? 1 : 8, queries, keys, 128, 128};
    const std::vector<Point> points = search_points(plan, gpu, point, {}, nullptr);
    if (points.empty() || !unsupported_on(plan, gpu).empty()) continue;
    const Prediction prediction = predict(plan, gpu, points[random() % points.size()]);
    if (!prediction.feasible || !prediction.time.modelled) continue;
    CAPTURE(name);
    CAPTURE(gpu.id);
    const TimeSplit split = time_split(prediction, gpu);
    std::set<std::string> of_launches, of_split;
    for (const IslandPrediction& launch : prediction.islands) of_launches.insert(to_string(launch.bound_by));
    for (const auto& [unit, seconds] : split.busiest) of_split.insert(unit);
    CHECK(of_split == of_launches);
    CHECK(of_split.contains(to_string(prediction.time.bound_by)));
    CHECK(sum(split.busiest) + split.waits + split.idle + split.launch == doctest::Approx(prediction.time.total));
    CHECK(split.waits >= 0);
    ++timed, bounds.insert(to_string(prediction.time.bound_by));
  }
  CHECK(timed >= 15);
  CHECK(bounds.size() >= 3);
}

TEST_CASE("a unit's part of time is its work over its rate: tensor cores of fused_mma, memory of decoding") {
  const Comparison comparison = compare_points({fused("4096"), kDecode});
  const std::vector<Split> splits = splits_of(comparison);
  // 4 N^2 d FLOP a head, 16 heads; mma.sync issues 62 % or so of the datasheet's rate, so full rate is a lower bound.
  const double flop = 4.0 * 16 * 4096 * 4096 * 128, hz = comparison.points[0].prediction.time.clock_hz;
  const double full_rate = flop / (h200().tensor_flop_per_cycle.at(Format::fp16).value * 132 * hz);
  const double tensor = splits[0].units.at("tensor");
  CHECK(tensor > full_rate);
  CHECK(tensor < 2 * full_rate);
  // All of K and V once, and little else, at the measured read bandwidth.
  const double bytes = 2.0 * 64 * 8 * 8192 * 128 * 2;
  CHECK(splits[1].kernel == "split_kv");
  CHECK(splits[1].units.at("hbm") == doctest::Approx(bytes / h200().measured->hbm.read->value).epsilon(0.02));
  CHECK(splits[1].busiest.contains("hbm"));
}

TEST_CASE("at most five records of each kernel are split, longest first; short ones only if there is no other") {
  Comparison comparison = compare_points({fused("128"), fused("1024"), fused("4096"), fused("16384")});
  const std::vector<Split> three = splits_of(comparison);
  REQUIRE(three.size() == 3);  // 128 keys take under 20 us
  CHECK(three[0].longest);
  CHECK_FALSE(three[1].longest);
  CHECK(three[0].measured > three[1].measured);
  comparison.points.erase(comparison.points.begin() + 1, comparison.points.end());
  CHECK(splits_of(comparison).size() == 1);
  const ComparedPoint one = compare_points({fused("4096")}).points[0];
  for (int batch = 1; batch <= 9; ++batch) {  // nine records of different names and times
    comparison.points.push_back(one);
    comparison.points.back().record.point.workload.batch = batch;
    for (double& seconds : comparison.points.back().record.steady_seconds) seconds *= batch;
  }
  const std::vector<Split> five = splits_of(comparison);
  REQUIRE(five.size() == 5);
  CHECK(five[0].label.ends_with("B9"));
  CHECK_FALSE(five[4].label.ends_with("B2"));  // the shortest, of batch 1
}

TEST_CASE("a residual has the error bar that predict states for its kernel and regime") {
  const Comparison comparison = compare_points({fused("4096"), kLibrary});
  Pictures data;
  add_residuals(data, picture_records(comparison, h200()), h200(), kErrors);
  REQUIRE(data.residuals.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const ComparedPoint& point = comparison.points[i];
    const Residual& residual = data.residuals[i];
    for (const char* quantity : {"seconds", "hbm_read_bytes"}) {
      const auto stated =
          ErrorBars::load(kErrors).find({"h200_sxm", point.record.point.kernel, quantity, regime_of(point.prediction)});
      REQUIRE(stated);
      CHECK(residual.quantities.at(quantity).bar == stated->p90);
    }
    CHECK(residual.quantities.at("seconds").predicted == point.prediction.time.total);
    CHECK(residual.third_party == (i == 1));
  }
  const auto bar = [&](const std::string& kernel, const std::string& quantity) -> const Bar& {
    for (const Bar& each : data.bars)
      if (each.kernel == kernel && each.quantity == quantity) return each;
    throw std::logic_error("no bar of " + kernel);
  };
  CHECK(bar("all", "seconds").n == 2);
  CHECK(bar("*ours", "seconds").n == 1);
  CHECK_FALSE(bar("*theirs", "seconds").stated);
  CHECK(bar("fused_mma", "seconds").stated);
  CHECK_FALSE(bar("fused_mma", "busy_cycles").stated);  // predict states none
}

TEST_CASE("without a file of errors no bar counts as stated") {
  Pictures data;
  add_residuals(data, picture_records(compare_points({fused("4096")}), h200()), h200(),
                source_directory / "no_such_file.json");
  REQUIRE_FALSE(data.bars.empty());
  for (const Bar& bar : data.bars) CHECK_FALSE(bar.stated);
}

TEST_CASE("a series over length holds records that differ in length alone, with reads and writes of both sides") {
  const Comparison comparison = compare_points(
      {fused("1024"), fused("4096"), fused("16384"), fused("512", "causal"), fused("4096", "causal"), kReference});
  const std::vector<LengthSeries> series = length_series(picture_records(comparison, h200()));
  REQUIRE(series.size() == 1);  // two causal lengths are too few
  const std::vector<LengthPoint>& points = series[0].points;
  REQUIRE(points.size() == 3);
  CHECK(points[0].kv_len == 1024);
  CHECK(points[2].kv_len == 16384);
  const double arrays = 4.0 * 16 * 4096 * 128 * 2, statistics = 16 * 4096 * 4;  // Q, K, V, O; the log-sum-exp
  CHECK(points[1].compulsory == doctest::Approx(arrays + statistics));
  CHECK(points[1].measured == doctest::Approx(arrays + statistics).epsilon(0.01));
  // Without a cache every block of 128 queries reads K and V again.
  CHECK(points[1].no_cache == doctest::Approx(arrays / 2 + 32 * arrays / 2 + statistics).epsilon(0.001));
}

TEST_CASE("clock and power are those of each kernel's longest record, and every long record is counted once") {
  const Comparison comparison = compare_points({fused("512"), fused("4096"), fused("16384"), kReference, kLibrary});
  Pictures data;
  add_clocks(data, picture_records(comparison, h200()), h200());
  REQUIRE(data.clocks.size() == 3);
  CHECK(data.clocks[0].label.ends_with("N16384"));
  CHECK(data.clocks[2].third_party);
  const PowerAgreement& counts = data.power_limit;
  CHECK(counts.both + counts.model_only + counts.gpu_only + counts.neither == 4);  // 512 is short
  for (const ClockRow& row : data.clocks) {
    CHECK(*row.low_hz < *row.high_hz);
    CHECK(*row.high_hz <= 1.98e9);
  }
  CHECK(data.limit_watts == 700);
}

TEST_CASE("the report's JSON has the pictures of its structs, and whole points") {
  const Comparison comparison = compare_points({fused("1024"), fused("4096"), fused("16384"), kLibrary});
  Report report = report_of(comparison, h200(), "revision", "2026-01-02");
  report.pictures = pictures_of(comparison, h200(), kErrors);
  const Json json = to_json(report, comparison, h200());
  CHECK(json["schema"] == "tilescope/report/1");
  CHECK(json["pictures"]["records"] == 4);
  CHECK(json["pictures"]["splits"].size() == report.pictures->splits.size());
  REQUIRE(json["points"].size() == 4);
  CHECK(json["points"][0]["prediction"]["schema"] == "tilescope/prediction/1");
  CHECK(json["points"][0]["measured"]["traffic"][0]["read_bytes"] == *report.points[0].measured->traffic[0].read_bytes);
  CHECK(json["comparison"]["rows"].size() == report.rows.size());
  CHECK(json["derivation"]["terms"].size() == report.derivation->terms.size());
  CHECK(json["tile_map"]["cells"].size() == report.tile_map->cells.size());
}

TEST_CASE("each cell of a tile map is what predict gives for its tile") {
  std::mt19937 random(test_seed());
  const std::filesystem::path source = source_directory;
  const Comparison comparison = compare_points({fused("1024")});
  std::size_t cells = 0, predicted = 0, unbuilt = 0;
  for (const auto& [name, kernel] : {std::pair{"fused_mma", true},
                                     {"fused_wgmma", true},
                                     {"split_kv", true},
                                     {"case_study", true},
                                     {"flash1", false},
                                     {"flash2", false},
                                     {"split-kv", false}}) {
    ComparedPoint shown = comparison.points.front();
    shown.plan = kernel ? load_plan_for_kernel(name, source) : load_plan_for_schedule(name, source);
    shown.point = default_point(shown.plan);
    const auto length = static_cast<std::int64_t>(100 + random() % 900);
    shown.point.workload = {2, 4, 2, random() % 2 == 0 ? 1 : length, length, 128, 128};
    shown.point.l2 = random() % 2 == 0 ? L2Model::walk : L2Model::closed;
    const Plan& plan = shown.plan;
    if (!unsupported_on(plan, h200()).empty()) continue;
    const TileMap map = tile_map_of(shown, h200());
    CAPTURE(name);
    CHECK(!map.cells.empty());
    for (const Tile& cell : map.cells) {
      ++cells;
      if (!cell.built) {
        CHECK(std::none_of(plan.kernel.variants.begin(), plan.kernel.variants.end(), [&](const KernelVariant& variant) {
          return serves(plan, shown.point, variant) && variant.tile("q") == static_cast<std::int64_t>(cell.q) &&
                 variant.tile("kv") == static_cast<std::int64_t>(cell.kv);
        }));
        CHECK(!cell.seconds);
        ++unbuilt;
        continue;
      }
      if (!cell.feasible) continue;
      // The points of the search with the cell's tile, one of which the cell shows.
      std::optional<double> least;
      for (const Point& point : search_points(plan, h200(), shown.point, {}, nullptr)) {
        const int pack = plan.schedule.find_parameter("pack");
        if (static_cast<double>(point.tiles[0]) != cell.q || static_cast<double>(point.tiles[1]) != cell.kv ||
            static_cast<double>(point.warps) != cell.warps ||
            (cell.stages && static_cast<double>(point.stages) != *cell.stages) ||
            (cell.pack && static_cast<double>(point.tiles[static_cast<std::size_t>(pack)]) != *cell.pack))
          continue;
        const double seconds = predict(plan, h200(), point).time.total;
        if (!least || std::abs(seconds - *cell.seconds) < std::abs(*least - *cell.seconds)) least = seconds;
      }
      REQUIRE(least);
      CHECK(*least == *cell.seconds);
      ++predicted;
    }
  }
  CHECK(predicted > 40);
  CHECK(unbuilt > 0);
}

TEST_CASE("predicted numbers of a report's point are those of its prediction's JSON") {
  const Comparison comparison = compare_points({fused("1024"), kReference});
  const Report report = report_of(comparison, h200(), "", "");
  const Json json = to_json(report, comparison, h200());
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const Side& side = report.points[i].predicted;
    const Json& prediction = json["points"][i]["prediction"];
    CHECK(report.points[i].dtype == prediction["point"]["dtypes"]["q"].get<std::string>());
    CHECK(*side.seconds == prediction["time"]["seconds"]);
    CHECK(side.work.size() == prediction["work"].size());
    for (const auto& [name, count] : side.work) CHECK(count == prediction["work"][name].get<double>());
    for (std::size_t level = 0; level < side.traffic.size(); ++level) {
      CHECK(side.traffic[level].level == prediction["traffic"][level]["level"].get<std::string>());
      CHECK(*side.traffic[level].read_bytes == prediction["traffic"][level]["read_bytes"].get<double>());
    }
  }
}

}  // namespace pictures_pictures_test
