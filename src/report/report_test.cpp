#include "report/report.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "report/test_text.h"
#include "report/text/headline.h"
#include "report/text/text_format.h"

namespace report_test {
namespace {

using namespace tilescope::analysis;
using namespace tilescope::report;
namespace fs = std::filesystem;
using tilescope::InputError;

// One point, one comparison inside and one outside tolerance. The numbers are chosen for the test, not measured.
Report small_report() {
  Report report{.title = "Test & <title>", .generated = "2026-01-02", .revision = "abc"};
  report.gpus = {{.id = "h200",
                  .name = "NVIDIA H200",
                  .chip = "GH100",
                  .roofs = {{"hbm", "datasheet", 4.8e12}},
                  .peaks = {{"fp16", "tensor", 9.894e14}}}};
  ReportPoint point{
      .id = "p1", .kernel = "fused", .label = "fused, \"N\" 512", .dtype = "fp16", .bound_by = "hbm", .key = "0"};
  point.predicted = {.traffic = {{"hbm", 3000, 1000}}, .work = {{"tensor_flop", 1e6}}, .seconds = 2e-6};
  point.measured =
      Side{.traffic = {{"hbm", 3300, 1000}}, .work = {{"tensor_flop", 1e6}}, .seconds = 3e-6, .seconds_cold = 4e-6};
  report.points = {point};
  report.rows = {{.point = "p1",
                  .kernel = "fused",
                  .quantity = "read_bytes",
                  .level = "hbm",
                  .predicted = 3000,
                  .measured = 3300,
                  .ratio = 3000.0 / 3300,
                  .tolerance = 0.03,
                  .verdict = tilescope::Verdict::fail},
                 {.point = "p1",
                  .kernel = "fused",
                  .quantity = "tensor_flop",
                  .predicted = 1e6,
                  .measured = 1e6,
                  .ratio = 1,
                  .tolerance = 0,
                  .verdict = tilescope::Verdict::pass}};
  report.summary = {{.kernel = "fused",
                     .quantity = "traffic hbm read",
                     .n = 1,
                     .failed = 1,
                     .mean = 0.1,
                     .median = 0.1,
                     .p90 = 0.1,
                     .worst = 0.1}};
  return report;
}

// A folder with the real template, style and script and, unless left out, a stand-in for the chart library.
class Assets {
 public:
  explicit Assets(bool with_bundle)
      : folder_(fs::temp_directory_path() / ("tilescope-assets-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    for (const char* name : {"page.html", "page.css", "page.js", "chart.js"})
      fs::copy_file(fs::path(TILESCOPE_SOURCE_DIR) / "reports/assets" / name, folder_ / name,
                    fs::copy_options::overwrite_existing);
    if (with_bundle) tilescope::write_file(folder_ / "bundle.txt", "e3t0aXRsZX19{{title}}");
  }
  Assets(const Assets&) = delete;
  Assets& operator=(const Assets&) = delete;
  ~Assets() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

int times(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

}  // namespace

TEST_CASE("CSV holds the comparison first, then what the comparison does not mention, with exact numbers") {
  const std::string csv = tilescope::render_csv(small_report());
  CHECK(csv ==
        "point,label,kernel,quantity,level,predicted,measured,ratio,tolerance,verdict\n"
        "p1,\"fused, \"\"N\"\" 512\",fused,read_bytes,hbm,3000,3300,0.9090909090909091,0.03,fail\n"
        "p1,\"fused, \"\"N\"\" 512\",fused,tensor_flop,,1000000,1000000,1,0,pass\n"
        "p1,\"fused, \"\"N\"\" 512\",fused,write_bytes,hbm,1000,1000,,,\n"
        "p1,\"fused, \"\"N\"\" 512\",fused,seconds,,2e-06,3e-06,,,\n"
        "p1,\"fused, \"\"N\"\" 512\",fused,seconds_cold,,,4e-06,,,\n");
}

TEST_CASE("Markdown states the headline and lists the row outside tolerance") {
  const std::string text = tilescope::render_markdown(small_report());
  CHECK(has(text, "# Test & \\<title\\>\n"));
  CHECK(has(text,
            "On NVIDIA H200 (GH100), 1 point of 1 kernel was predicted and every one measured. 1 of 2 checked "
            "numbers are within tolerance, 1 outside"));
  CHECK(has(text, "| fused, \"N\" 512 | HBM read | 3,000 B | 3,300 B | 0.9091 | ± 3.00 % |"));
  CHECK(has(text, "| fused | HBM read | 1 | 1 | 10.0 % | 10.0 % | 10.0 % | 10.0 % |"));
}

TEST_CASE("A pipe or a backtick in a label does not break a Markdown table or code block") {
  Report data = small_report();
  data.points[0].label = "a|b`c\nd";
  data.derivation = ReportDerivation{.title = "why", .pseudocode = "x = ```y```", .paragraphs = {"one"}};
  const std::string text = tilescope::render_markdown(data);
  CHECK(has(text, "| a\\|b\\`c d | HBM read |"));
  CHECK(has(text, "````text\nx = ```y```\n````\n"));
}

TEST_CASE("The page escapes text, closes no script early and shows the worst row") {
  const Assets assets(true);
  Report data = small_report();
  data.points[0].label = "</script><script>alert(1)</script> \xE2\x80\xA8 & <b>";
  const std::string page = tilescope::render_html(data, assets.folder());
  CHECK_FALSE(has(page, "<script>alert(1)"));
  CHECK_FALSE(has(page, "<title>Test & <title>"));
  CHECK(has(page, "<title>Test &amp; &lt;title&gt;</title>"));
  CHECK(times(page, "</script>") == 3);  // the data, the chart library, the page's own script
  CHECK(has(page, "Worst checked number:</strong> HBM read of"));
  CHECK(has(page,
            "predicted <span class=\"whole\">3,000 B</span>, measured <span class=\"whole\">3,300 B</span>, error "
            "<span class=\"whole\">−9.09 %</span>"));
}

TEST_CASE("Text inside an asset is not treated as a placeholder") {
  const Assets assets(true);
  CHECK(has(tilescope::render_html(small_report(), assets.folder()), ">e3t0aXRsZX19{{title}}</script>"));
}

TEST_CASE("A missing chart library is named together with the command that makes it") {
  const Assets assets(false);
  try {
    tilescope::render_html(small_report(), assets.folder());
    FAIL("expected an InputError");
  } catch (const InputError& error) {
    CHECK(has(error.what(), "bundle.txt"));
    CHECK(has(error.what(), "reports/build.sh " + assets.folder().string()));
    CHECK(has(error.what(), "npm"));
  }
}

TEST_CASE("A page without points says so, and has neither empty sections nor links to them") {
  const Assets assets(true);
  const Report data{.gpus = {{.id = "l4", .name = "l4"}}};
  const std::string page = tilescope::render_html(data, assets.folder());
  CHECK(has(page, "For l4 there are no points yet."));
  CHECK(times(page, "<section id=") == 2);  // the result, the notes
  CHECK(times(page, "<a href=\"#") == 2);
  CHECK(tilescope::render_csv(data) ==
        "point,label,kernel,quantity,level,predicted,measured,ratio,tolerance,verdict\n");
  CHECK(has(tilescope::render_markdown(data), "there are no points yet"));
}

TEST_CASE("The page begins with what bounds the points and how sure that is; points without a time say why") {
  const Assets assets(true);
  Report data = small_report();
  data.points[0].measured.reset(), data.rows.clear(), data.summary.clear();
  data.points[0].bound_by = "tensor", data.points[0].formats = "fp16,kv=fp8_e4m3", data.points[0].gpu = "h200";
  data.points[0].error = StatedError{.p90 = 0.07, .n = 97};
  data.refused = {{"fused fp8 l4", "l4 states no tensor rate for fp8"}};
  const std::string page = tilescope::render_html(data, assets.folder());
  CHECK(has(page,
            "fused (fp16,kv=fp8_e4m3) takes 2.00 µs on NVIDIA H200, bound by tensor cores. For 90 % "
            "of 97 comparable records, the prediction error is at most 7.00 %."));
  CHECK(has(page, "1 of the points asked for has no time"));
  CHECK(has(page, "<strong>fused fp8 l4</strong>: l4 states no tensor rate for fp8"));
  data.points[0].split = TimeSplit{.idle = 0.5e-6, .launch = 1.2e-6, .busiest = {{"tensor", 0.3e-6}}};
  CHECK(has(answer_sentence(data), "on NVIDIA H200, the largest part of it (60.0 %) launches."));
  data.points[0].split->busiest["tensor"] = 1.3e-6;
  CHECK(has(answer_sentence(data), "on NVIDIA H200, bound by tensor cores."));
  data.points[0].modelled = false;
  CHECK(has(answer_sentence(data), "takes at least 2.00 µs"));
  CHECK(has(answer_sentence(data), "lower bound"));
}

TEST_CASE("A tolerance with an absolute allowance names both") {
  CHECK(allowed_text(0.03, 65536, "traffic read") == "± 3.00 % or 64 KiB");
  CHECK(allowed_text(0.03, 0, "traffic read") == "± 3.00 %");
  CHECK(allowed_text(0.01, 100, "xu") == "± 1.00 % or 100");
}

TEST_CASE("A failure without a ratio, where zero was measured, is worse than every finite one") {
  Report data = small_report();
  data.rows[1].measured = 0, data.rows[1].ratio.reset(), data.rows[1].verdict = tilescope::Verdict::fail;
  const std::string text = tilescope::render_markdown(data);
  CHECK(text.find("tensor FLOP | 1,000,000 FLOP | 0 FLOP | – |") < text.find("| HBM read | 3,000 B"));
}

TEST_CASE("A row that passes on an absolute allowance is not the worst while another row fails") {
  const Assets assets(true);
  Report data = small_report();
  data.rows[1].ratio = 5, data.rows[1].tolerance = 0.01;
  const std::string page = tilescope::render_html(data, assets.folder());
  CHECK(has(page, "Worst checked number:</strong> HBM read of"));
  CHECK(has(page, "absolute allowance"));
}

TEST_CASE("Notes given with the data replace the usual ones, and without a measurement there are none") {
  const Assets assets(true);
  Report data = small_report();
  CHECK(has(tilescope::render_html(data, assets.folder()), "Register traffic has no counter"));
  data.notes = {"Measured by hand."};
  const std::string page = tilescope::render_html(data, assets.folder());
  CHECK(has(page, "<li>Measured by hand.</li>"));
  CHECK_FALSE(has(page, "Register traffic has no counter"));
  data.notes.clear();
  data.points[0].measured.reset();
  CHECK_FALSE(has(tilescope::render_html(data, assets.folder()), "How it was measured"));
}

TEST_CASE("Points that share a label are told apart by their id") {
  Report data = small_report();
  data.points.push_back(data.points[0]);
  data.points[1].id = "p2";
  name_points(data.points);
  CHECK(data.points[1].key == "1");
  const std::string csv = tilescope::render_csv(data);
  CHECK(has(csv, "512 (p1)\",fused,seconds"));
  CHECK(has(csv, "512 (p2)\",fused,seconds"));
}

TEST_CASE("An absent measurement is printed as a dash, not as zero") {
  Report data = small_report();
  data.points[0].measured.reset();
  data.rows.clear(), data.summary.clear();
  CHECK(has(tilescope::render_csv(data), "fused,read_bytes,hbm,3000,,,,\n"));
  CHECK(has(tilescope::render_markdown(data), "was predicted and none of them measured."));
}

TEST_CASE("A count that is set again keeps its place and takes the last value") {
  Counts counts{{"exp", 1}, {"tensor_flop", 2}};
  set_count(counts, "exp", 3);
  set_count(counts, "alu", 4);
  CHECK(counts == Counts{{"exp", 3}, {"tensor_flop", 2}, {"alu", 4}});
  CHECK_FALSE(count_of(counts, "fma").has_value());
}

}  // namespace report_test
