#include "report/family.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/report.h"
#include "report/test_text.h"

namespace {

using nlohmann::json;
using namespace tilescope;

const std::filesystem::path kAssets = std::filesystem::path(TILESCOPE_SOURCE_DIR) / "reports/assets";

// Two steps, one of them third party, and a row with a missing number. The numbers are chosen for the test, not
// measured.
json small_family() {
  return json::parse(R"({
    "schema": "tilescope/family/1", "title": "Family & <title>", "generated": "2026-01-02", "revision": "abc", "points": 3,
    "hardware": {"id": "h200", "name": "NVIDIA H200"},
    "kernels": [{"kernel": "plain", "summary": "a < b", "records": 3, "workload": "d64", "launches": {"predicted": 3, "measured": 3},
      "quantities": [{"quantity": "hbm_read_bytes", "title": "HBM read", "predicted": 3000, "measured": 4000, "ratio": 0.75, "absent": "",
                      "judged": {"n": 3, "median": 0.1, "worst": 0.25}, "not_judged": null, "outside": 2},
                     {"quantity": "tensor_flop", "title": "tensor FLOP", "predicted": null, "measured": null, "ratio": null, "absent": "no \"matrix\" instructions",
                      "judged": null, "not_judged": null, "outside": 0}]}],
    "ladders": [{"title": "Forward", "pass": "forward", "kind": "flop", "fits_l2": false, "steps": [
      {"kernel": "plain", "seconds": 4e-3, "predicted_seconds": 2e-3, "nearness": 0.5, "flop_per_second": 1e12, "predicted_flop_per_second": 2e12,
       "bound_by": "hbm", "path": "fma", "gain": null},
      {"kernel": "theirs", "third_party": true, "seconds": 1e-3, "predicted_seconds": 1e-3, "nearness": 1, "flop_per_second": 4e12,
       "predicted_flop_per_second": 4e12, "bound_by": "tensor", "path": "wgmma", "path_flop_per_second": 9e14,
       "gain": {"factor": 4, "predicted_factor": 2, "nearness_factor": 2, "bound_before": "hbm", "bound_before_seconds": 2e-3, "bound_before_seconds_now": 1e-4, "path_changed": true,
                "changes": [{"quantity": "hbm_bytes", "title": "HBM bytes", "before": 9000, "after": 3000, "factor": 3, "counted_factor": 2.9},
                            {"quantity": "xu", "title": "XU operations", "before": 1000, "after": 2000, "factor": 0.5}]}}]}]})");
}

}  // namespace

TEST_CASE("a family row has a value for machines behind each rounded number, and words where one is missing") {
  const std::string html = render_family_html(small_family(), kAssets);
  CHECK(has(html, R"(<data value="3000">3.000 kB</data>)"));
  CHECK(has(html, R"(<data value="0.75">−25.0 %</data>)"));
  CHECK(has(html, "no &quot;matrix&quot; instructions"));
  CHECK(has(html, "Family &amp; &lt;title&gt;"));
  CHECK(has(html, "a &lt; b"));
  CHECK(has(html, R"(<data value="2">2</data> outside tolerance)"));
  CHECK_FALSE(has(html, "{{"));
}

TEST_CASE("a step says its gain, the bound before and what fell and rose") {
  const std::string html = report::family_ladders_html(report::read_family(small_family()));
  CHECK(has(html, R"(<data value="4">×4.00</data>)"));
  CHECK(has(
      html,
      R"(HBM, the bound before, takes <data value="0.0001">100.0 µs</data> instead of <data value="0.002">2.000 ms</data>)"));
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

TEST_CASE("every wrong field of a family is named") {
  json data = small_family();
  data["schema"] = "tilescope/report/1";
  data["kernels"][0].erase("kernel");
  data["ladders"][0]["kind"] = "speed";
  data["ladders"][0]["steps"][1]["gain"]["factor"] = "four";
  try {
    render_family_csv(data);
    FAIL("was accepted");
  } catch (const InputError& error) {
    const std::string text = error.what();
    CHECK(error.diagnostics().size() == 4);
    CHECK(has(text, "kernels[0].kernel"));
    CHECK(has(text, "ladders[0].kind: expected flop or bytes"));
    CHECK(has(text, "ladders[0].steps[1].gain.factor: expected a finite number"));
  }
}
