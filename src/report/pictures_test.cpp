// Numbers here are chosen for the tests, not measured.
#include <doctest/doctest.h>

#include <set>

#include "report/charts/chart.h"
#include "report/model.h"
#include "report/page/sections.h"
#include "report/report.h"
#include "report/test_text.h"

namespace report_pictures_test {

using namespace tilescope::report;
using nlohmann::json;

namespace {

Report two_kernels() {
  Report report;
  Pictures& pictures = report.pictures.emplace();
  pictures.records = 2, pictures.kernels = 2, pictures.experiments = {"main"};
  pictures.residuals = {
      {.kernel = "k",
       .label = "a",
       .quantities = {{"seconds", {2e-3, 1e-3, 0.2}}, {"hbm_read_bytes", {99, 100, 0.02}}}},
      {.kernel = "lib", .label = "b", .third_party = true, .quantities = {{"seconds", {9.1234567e-5, 1e-4, 0.1}}}}};
  pictures.bars = {{.kernel = "k",
                    .quantity = "seconds",
                    .regime = "compute",
                    .low = 1e-3,
                    .high = 1e-3,
                    .p90 = 0.2,
                    .n = 1,
                    .stated = true},
                   {.kernel = "all", .quantity = "seconds", .low = 1e-4, .high = 1e-3, .p90 = 3, .n = 2}};
  pictures.splits = {{.kernel = "k",
                      .label = "a",
                      .longest = true,
                      .measured = 1e-3,
                      .predicted = 2e-3,
                      .waits = 4e-4,
                      .idle = 1e-4,
                      .launch = 0,
                      .busiest = {{"tensor", 1.5e-3}},
                      .units = {{"tensor", 1.5e-3}, {"xu", 2e-4}, {"fma", 0}}}};
  pictures.lengths = {
      {.kernel = "k", .label = "d64", .points = {{1000, 110, 100, 90, 400}, {8192, 1100, 1000, 900, 40000}}}};
  pictures.clocks = {{.kernel = "k",
                      .label = "a",
                      .reports_cap = true,
                      .seconds = 1e-3,
                      .predicted_hz = 1.7e9,
                      .nvml_hz = 1.8e9,
                      .predicted_watts = 690,
                      .nvml_watts = 300,
                      .low_hz = 1.5e9,
                      .high_hz = 1.6e9},
                     {.kernel = "lib",
                      .label = "b",
                      .third_party = true,
                      .seconds = 1e-3,
                      .predicted_hz = 1.9e9,
                      .nvml_hz = 1.9e9,
                      .predicted_watts = 400,
                      .nvml_watts = 200}};
  pictures.limit_watts = 700, pictures.highest_hz = 1.98e9;
  pictures.power_limit = {.both = 1, .model_only = 2, .gpu_only = 3, .neither = 4};
  return report;
}

}  // namespace

TEST_CASE("Residuals are one row a record, a quantity that was not counted is absent") {
  const json data = residual_data(two_kernels());
  CHECK(data["columns"] ==
        json::parse(
            R"(["kernel", "label", "ours", "hbm_read_bytes_predicted", "hbm_read_bytes_measured", "hbm_read_bytes_bar",
                                           "busy_cycles_predicted", "busy_cycles_measured", "busy_cycles_bar",
                                           "seconds_predicted", "seconds_measured", "seconds_bar"])"));
  CHECK(data["rows"][0] == json::parse(R"(["k", "a", true, 99, 100, 0.02, null, null, null, 0.002, 0.001, 0.2])"));
  CHECK(data["rows"][1] ==
        json::parse(R"(["lib", "b", false, null, null, null, null, null, null, 9.12346e-05, 0.0001, 0.1])"));
  CHECK(residual_chart(two_kernels(), "busy_cycles").is_null());
}

TEST_CASE("An error bar spans the sizes of its records, that of a group the whole chart, and none exceeds the chart") {
  const json spec = residual_chart(two_kernels(), "seconds");
  const json bars = spec["layer"][0]["data"]["values"];
  const json domain = spec["layer"][0]["encoding"]["y"]["scale"]["domain"];
  REQUIRE(bars.size() == 2);
  CHECK(bars[0]["high"].get<double>() == doctest::Approx(0.2));
  CHECK(bars[0]["low"].get<double>() == doctest::Approx(-0.2));
  CHECK(bars[0]["from"].get<double>() < 1e-3);
  CHECK(bars[0]["from"].get<double>() > 1e-4);
  CHECK(bars[0]["basis"] == "stated by predict");
  CHECK(bars[1]["high"] == domain[1]);  // 300 % is outside
  CHECK(bars[1]["text"] == "± 300.0 %");
  CHECK(bars[1]["from"].get<double>() < 1e-4);
  CHECK(bars[1]["to"].get<double>() > 1e-3);
  CHECK(bars[1]["basis"] == "holds nine of ten of 2 records");
}

TEST_CASE("DRAM over length draws every number and its axes hold them all") {
  const Report report = two_kernels();
  const json spec = length_chart(report.pictures->lengths[0], length_frame(*report.pictures));
  const json values = spec["data"]["values"];
  REQUIRE(values.size() == 2);
  CHECK(values[0] == json::parse(R"({"n": 1000, "predicted": 110, "measured": 100, "compulsory": 90, "no_cache": 400,
                                     "p": "110 B", "m": "100 B", "e": "+10.0 %", "c": "90 B", "w": "400 B"})"));
  const json x = spec["layer"][0]["encoding"]["x"]["scale"]["domain"],
             y = spec["layer"][0]["encoding"]["y"]["scale"]["domain"];
  CHECK(x[0].get<double>() < 1000);
  CHECK(x[1].get<double>() > 8192);
  CHECK(y[0].get<double>() < 90);
  CHECK(y[1].get<double>() > 40000);
  CHECK(length_chart({}, {}).is_null());
}

TEST_CASE(
    "Clock and power have a line at each limit that the profile states, and a reading that is missing has no mark") {
  Report report = two_kernels();
  const auto words = [](const json& spec) { return spec.dump(); };
  CHECK(has(words(clock_chart(report)), "highest 1.98"));
  CHECK_FALSE(has(words(clock_chart(report)), "with tensor cores"));
  CHECK(has(words(power_chart(report)), "limit 700 W"));
  const json rows = clock_chart(report)["data"]["values"];
  CHECK(rows[0]["lh"].get<double>() == doctest::Approx(1.5));
  CHECK_FALSE(rows[1].contains("lh"));
  CHECK(rows[0]["cap"] == true);
  report.pictures->limit_watts.reset();
  CHECK_FALSE(has(words(power_chart(report)), "limit 700 W"));
}

TEST_CASE("Without pictures there is no chart, and no section") {
  const Report none;
  CHECK(residual_chart(none, "seconds").is_null());
  CHECK(clock_chart(none).is_null());
  CHECK(power_chart(none).is_null());
  CHECK(residual_data(none)["rows"].empty());
  Report empty;
  empty.pictures.emplace();
  for (const Report* report : {&none, static_cast<const Report*>(&empty)})
    for (const std::string& html : {lengths_html(*report), residuals_html(*report), clocks_html(*report)})
      CHECK(html.empty());
}

TEST_CASE("The sections offer groups of kernels and say which records are drawn") {
  const Report report = two_kernels();
  const std::string residuals = residuals_html(report), clocks = clocks_html(report);
  CHECK(has(residuals,
            "<option value=\"all\">all kernels</option><option value=\"*ours\">our kernels</option><option "
            "value=\"*theirs\">third-party kernels</option>"));
  for (const std::string& html : {residuals, clocks, lengths_html(report)})
    CHECK(has(html, "2 records of 2 kernels (experiment main)"));
  CHECK(has(clocks,
            "of 10 records model and GPU agree in 5 (1 at the limit, 4 below); the model alone says so in 2, the GPU "
            "alone in 3."));
}

TEST_CASE("Every picture has a text description for readers who cannot see it") {
  const Report report = two_kernels();
  for (const json& spec :
       {residual_chart(report, "seconds"), length_chart(report.pictures->lengths[0], length_frame(*report.pictures)),
        clock_chart(report), power_chart(report)})
    CHECK(spec["description"].get<std::string>().size() > 60);
}

TEST_CASE("Markdown carries the pictures' numbers") {
  const std::string text = pictures_markdown(*two_kernels().pictures);
  CHECK(has(text, "| k | d64 | 1000 | 110.0 B | 100.0 B | +10.0 % | 90.00 B | 400.0 B |"));
  CHECK(has(text, "| k | – | – | ± 20.0 % (compute, 1) |"));
  CHECK(has(text, "| k | a | 2.000 ms | 1.000 ms | +100.0 % | tensor cores 75.0 % | 20.0 % | 5.00 % | 0 % |"));
  CHECK(has(text, "| k | a | 1.70 GHz | 1.80 GHz | 1.50 to 1.60 GHz | 690 W | 300 W | no | yes |"));
  CHECK(has(text, "| lib | b | 1.90 GHz | 1.90 GHz | – | 400 W | 200 W | no | no |"));
  CHECK(pictures_markdown({}).empty());
}

}  // namespace report_pictures_test
