#include <doctest/doctest.h>

#include <filesystem>

#include "report/page/family_parts.h"
#include "report/report.h"
#include "report/test_text.h"

namespace report_family_test {
namespace {

using namespace tilescope;
using namespace tilescope::analysis;

const std::filesystem::path kAssets = std::filesystem::path(TILESCOPE_SOURCE_DIR) / "reports/assets";

// Two steps, one of them third party, and a row with a missing number. The numbers are chosen for the test, not
// measured.
FamilyPage small_family() {
  FamilyPage family{.title = "Family & <title>", .generated = "2026-01-02", .revision = "abc"};
  family.hardware = {.id = "h200", .name = "NVIDIA H200"};
  family.points = 3;
  FamilyRow row{.kernel = "plain", .summary = "a < b", .workload = "d64", .records = 3};
  row.launches_predicted = row.launches_measured = 3;
  row.numbers = {{.quantity = "hbm_read_bytes",
                  .title = "HBM read",
                  .predicted = 3000,
                  .measured = 4000,
                  .ratio = 0.75,
                  .judged = ErrorSpread{3, 0.1, 0.25},
                  .outside = 2},
                 {.quantity = "tensor_flop", .title = "tensor FLOP", .absent = "no \"matrix\" instructions"}};
  family.rows = {row};
  LadderStep slow{.kernel = "plain", .bound_by = "hbm", .path = "fma"};
  slow.seconds = 4e-3, slow.predicted_seconds = 2e-3, slow.nearness = 0.5;
  slow.flop_per_second = 1e12, slow.predicted_flop_per_second = 2e12;
  LadderStep fast{.kernel = "theirs", .bound_by = "tensor", .path = "wgmma", .third_party = true};
  fast.seconds = 1e-3, fast.predicted_seconds = 1e-3, fast.nearness = 1;
  fast.flop_per_second = 4e12, fast.predicted_flop_per_second = 4e12, fast.path_flop_per_second = 9e14;
  fast.gain = Gain{.factor = 4,
                   .predicted_factor = 2,
                   .nearness_factor = 2,
                   .bound_before = "hbm",
                   .bound_before_seconds = 2e-3,
                   .bound_before_seconds_now = 1e-4,
                   .path_changed = true};
  fast.gain->changes = {{.quantity = "hbm_bytes",
                         .title = "HBM bytes",
                         .before = 9000,
                         .after = 3000,
                         .factor = 3,
                         .counted_factor = 2.9},
                        {.quantity = "xu", .title = "XU operations", .before = 1000, .after = 2000, .factor = 0.5}};
  family.ladders = {{.title = "Forward", .pass = "forward", .steps = {slow, fast}}};
  return family;
}

}  // namespace

TEST_CASE("a family row has a machine-readable value for each rounded number, and a text for a missing one") {
  const std::string html = render_family_html(small_family(), kAssets);
  CHECK(has(html, R"(<data value="3000">3.000 kB</data>)"));
  CHECK(has(html, R"(<data value="0.75">−25.0 %</data>)"));
  CHECK(has(html, "no &quot;matrix&quot; instructions"));
  CHECK(has(html, "Family &amp; &lt;title&gt;"));
  CHECK(has(html, "a &lt; b"));
  CHECK(has(html, R"(<data value="2">2</data> outside tolerance)"));
  CHECK_FALSE(has(html, "{{"));
}

TEST_CASE("a step states its gain, the previous bound, and what decreased and increased") {
  const std::string html = report::family_ladders_html(small_family());
  CHECK(has(html, R"(<data value="4">×4.00</data>)"));
  CHECK(has(html, R"(HBM, the bound before, takes <data value="0.0001">100.0 µs</data> instead of )"
                  R"(<data value="0.002">2.000 ms</data>)"));
  CHECK(has(html, R"(<data value="3">÷3.00</data></td><td class="n"><data value="2.9">÷2.90</data>)"));
  CHECK(has(html, R"(<data value="0.5">×2.00</data></td><td class="n">–</td>)"));  // rose; not counted
  CHECK(has(html, R"(wgmma, at most <data value="900000000000000">900.0 TFLOP/s</data>; before: fma)"));
  CHECK(has(html, R"(class="step third")"));
}

TEST_CASE("Markdown and CSV of the family carry the same numbers") {
  CHECK(has(render_family_markdown(small_family()), "| theirs (third party) |"));
  CHECK(has(render_family_csv(small_family()), "plain,,d64,hbm_read_bytes,3000,4000,0.75,\n"));
  CHECK(has(render_family_csv(small_family()), "plain,,d64,tensor_flop,,,,\"no \"\"matrix\"\" instructions\"\n"));
}

}  // namespace report_family_test
