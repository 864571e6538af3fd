#include "report/charts/chart.h"

#include <doctest/doctest.h>

#include <cmath>

#include "report/charts/levels.h"

namespace chart_test {

using namespace tilescope::report;
using nlohmann::json;

namespace {

Report one_point() {
  Report report;
  report.gpus = {{.id = "h200",
                  .name = "H200",
                  .roofs = {{"hbm", "datasheet", 4.8e12}, {"l2", "measured", 1e13}},
                  .peaks = {{"fp16", "tensor", 9.6e14}, {"fp8_e4m3", "tensor", 1.9e15}}}};
  ReportPoint point{.id = "p", .kernel = "k", .label = "point", .dtype = "fp16", .gpu = "h200"};
  point.predicted = {.traffic = {{"hbm", 3000, 1000}, {"l2", 6000, 2000}, {"register", 9000, {}}},
                     .work = {{"tensor_flop", 1e6}},
                     .seconds = 1e-6};
  point.measured = Side{.traffic = {{"hbm", 4000, {}}}, .work = {{"tensor_flop", 1e6}}, .seconds = 2e-6};
  report.points.push_back(point);
  return report;
}

json first_roofline(const Report& report) {
  return roofline_chart(report, roofline_panels(report).front(), roofline_frame(report));
}

}  // namespace

TEST_CASE("A mark of the roofline has the FLOP per byte of its level and the FLOP per second of its point") {
  const json marks = first_roofline(one_point())["datasets"]["marks"];
  REQUIRE(marks.size() == 2);  // hbm and l2; the register level has no roof
  CHECK(marks[0]["level"] == "hbm");
  CHECK(marks[0]["x"].get<double>() == doctest::Approx(250));
  CHECK(marks[0]["y"].get<double>() == doctest::Approx(1e12));
  CHECK(marks[0]["mx"].get<double>() == doctest::Approx(250));
  CHECK(marks[0]["my"].get<double>() == doctest::Approx(5e11));
  CHECK(marks[1]["x"].get<double>() == doctest::Approx(125));
  CHECK_FALSE(marks[1].contains("mx"));
}

TEST_CASE("A sloped roof ends at the ridge under the highest peak of its dtype") {
  const json roofs = first_roofline(one_point())["datasets"]["roofs"];
  REQUIRE(roofs.size() == 2);  // the fastest first
  CHECK(roofs[1]["x2"].get<double>() == doctest::Approx(200));
  CHECK(roofs[1]["y2"].get<double>() == doctest::Approx(9.6e14));
  CHECK(roofs[0]["x2"].get<double>() == doctest::Approx(96));
}

TEST_CASE("Marks that cover one another become one that says how many it stands for") {
  Report report = one_point();
  for (const double seconds : {1.001e-6, 3e-6}) {
    report.points.push_back(report.points[0]);
    report.points.back().predicted.seconds = seconds;
  }
  name_points(report.points);
  const json marks = first_roofline(report)["datasets"]["marks"];
  REQUIRE(marks.size() == 4);
  CHECK(marks[0]["more"] == 1);
  CHECK_FALSE(marks[1].contains("more"));
}

TEST_CASE("Each GPU and format has a roofline of its own, with the same axes and the same look of a level") {
  Report report = one_point();
  report.gpus.push_back({.id = "l4", .name = "L4", .roofs = {{"smem", "datasheet", 9e12}, {"hbm", "measured", 3e11}}});
  report.points.push_back(report.points[0]);
  report.points.back().gpu = "l4";
  report.points.push_back(report.points[0]);
  report.points.back().dtype = "fp8_e4m3";
  const std::vector<RooflinePanel> panels = roofline_panels(report);
  REQUIRE(panels.size() == 3);
  CHECK(panel_title(panels[1]) == "H200, fp8_e4m3");
  CHECK(panel_title(panels[2]) == "L4, fp16");
  const RooflineFrame frame = roofline_frame(report);
  CHECK(frame.levels == std::vector<std::string>{"hbm", "l2", "smem"});
  const json first = roofline_chart(report, panels[0], frame), last = roofline_chart(report, panels[2], frame);
  for (const char* axis : {"x", "y"}) CHECK(first["layer"][0]["encoding"][axis] == last["layer"][0]["encoding"][axis]);
  CHECK(last["datasets"]["marks"].size() == 2);  // its L2 has no roof, and a mark all the same
  CHECK(std::string(level_shape("smem")) == "triangle-up");
}

TEST_CASE("There is no roofline without roofs, without time or without work") {
  Report no_roofs = one_point(), no_time = one_point(), no_work = one_point();
  no_roofs.gpus.front().roofs.clear();
  no_time.points[0].predicted.seconds.reset();
  no_time.points[0].measured.reset();
  no_work.points[0].predicted.work.clear();
  no_work.points[0].measured.reset();
  for (const Report& report : {no_roofs, no_time, no_work}) CHECK(roofline_panels(report).empty());
}

TEST_CASE("Parts of the time and what would help are those of each point, largest first, the rest in one bar") {
  Report report = one_point();
  CHECK(time_chart(report).is_null());
  CHECK(gain_chart(report).is_null());
  ReportPoint& point = report.points[0];
  point.split = TimeSplit{.waits = 3e-7, .idle = 1e-7, .launch = 5e-8, .busiest = {{"tensor", 5e-7}, {"smem", 2e-8}}};
  point.savings = {{"hbm", 0.04}, {"latency", 0.01}, {"power", 0.00005}};
  name_points(report.points);
  const json parts = time_chart(report)["data"]["values"];
  REQUIRE(parts.size() == 5);
  CHECK(parts[0]["what"] == "bound by tensor cores");
  CHECK(parts[0]["share"].get<double>() == doctest::Approx(0.5));
  CHECK(parts[4]["what"] == "rest");
  CHECK(parts[4]["rest"] == "bound by shared memory 2.00 %");
  const json gains = gain_chart(report)["data"]["values"];
  CHECK(gains[0]["what"] == "HBM bandwidth");
  CHECK(gains[1]["what"] == "all latencies");
  CHECK(gains.size() == 2);  // what saves nothing is not drawn
}

TEST_CASE("Levels are listed outermost first and an unmeasured number has no bar") {
  const Report report = one_point();
  CHECK(traffic_levels(report) == std::vector<std::string>{"hbm", "l2", "register"});
  const json hbm = traffic_chart(report, "hbm")["data"]["values"][0];
  CHECK(hbm["pr"] == 3000);
  CHECK(hbm["mr"] == 4000);
  CHECK_FALSE(hbm.contains("mw"));
  CHECK_FALSE(traffic_chart(report, "l2")["data"]["values"][0].contains("mr"));
  CHECK(traffic_chart(report, "tmem").is_null());
}

TEST_CASE("The error chart has one strip a quantity and a band a tolerance, wide enough for the largest error") {
  Report report = one_point();
  CHECK(error_chart(report).is_null());
  report.rows = {
      {.point = "p",
       .kernel = "k",
       .quantity = "read_bytes",
       .level = "hbm",
       .ratio = 1.5,
       .tolerance = 0.03,
       .verdict = tilescope::Verdict::fail},
      {.point = "p", .kernel = "k", .quantity = "seconds", .ratio = 0.5, .verdict = tilescope::Verdict::info}};
  const json spec = error_chart(report);
  CHECK(spec["layer"][0]["data"]["values"] == json::parse(R"([{"name": "HBM read", "low": -0.03, "high": 0.03}])"));
  const json domain = spec["layer"][2]["encoding"]["x"]["scale"]["domain"];
  CHECK(domain[1].get<double>() > 0.5);
  CHECK(domain[0].get<double>() < -0.5);
  CHECK(domain[0].get<double>() > -1);
  CHECK(spec["layer"][2]["encoding"]["y"]["sort"] == json::parse(R"(["HBM read", "time"])"));
}

TEST_CASE("A tile that does not fit says which memory is too small and by how much") {
  Report report = one_point();
  CHECK(tile_chart(report).is_null());
  report.tile_map = TileMap{
      .kernel = "k",
      .cells = {
          {.q = 64, .kv = 32, .seconds = 1e-3, .l2_read_bytes = 2e6},
          {.q = 256, .kv = 256, .feasible = false, .level = "smem", .needed_bytes = 262144, .available_bytes = 232448},
          {.q = 64, .kv = 256, .built = false}}};
  const json cells = tile_chart(report)["data"]["values"];
  CHECK(cells[0]["s"] == "1.000 ms");
  CHECK(cells[0]["b"] == "2.000 MB");
  CHECK(cells[1]["fits"] == "no, shared memory is too small: needs 256 KiB, has 227 KiB");
  CHECK_FALSE(cells[1].contains("seconds"));
  CHECK(cells[2]["built"] == "no");
  CHECK_FALSE(cells[2].contains("seconds"));
}

TEST_CASE("Every chart has a text description for readers who cannot see it") {
  Report report = one_point();
  for (const json& spec : {first_roofline(report), traffic_chart(report, "hbm")})
    CHECK(spec["description"].get<std::string>().size() > 40);
}

}  // namespace chart_test
