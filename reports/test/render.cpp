// Writes what the tests of the pages read: render_report ASSETS OUT_DIRECTORY
// Pages of the fixtures, of nothing, and of hostile text; beside them the fixtures' numbers as JSON.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "analysis/family/family.h"
#include "analysis/pictures/pictures.h"
#include "base/files.h"
#include "fixture.h"
#include "report/report.h"

namespace {

using namespace tilescope;
using namespace tilescope::analysis;

Json numbers_of(const Report& report) {
  Json points = Json::array();
  for (const ReportPoint& point : report.points)
    points.push_back({{"kernel", point.kernel},
                      {"label", point.label},
                      {"dtype", point.dtype},
                      {"measured", point.measured.has_value()}});
  return {{"points", std::move(points)}, {"pictures", to_json(*report.pictures)}};
}

Report hostile_report() {
  const std::string hostile =
      "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\xE2\x80\xA8";
  Report report = page_test::report_fixture();
  report.title = report.points[0].label = report.points[0].kernel = hostile;
  report.derivation->pseudocode = report.rows[0].quantity = hostile;
  return report;
}

FamilyPage hostile_family() {
  const std::string hostile = "</li><img src=x onerror=\"document.title='owned'\">";
  FamilyPage family = page_test::family_fixture();
  Ladder& ladder = family.ladders[0];
  family.title = family.rows[0].kernel = family.rows[1].summary = ladder.title = hostile;
  ladder.steps[1].summary = ladder.steps[1].path = ladder.steps[1].gain->changes[0].title = hostile;
  family.rows[2].numbers[0].absent = hostile;
  return family;
}

// What `report` writes of a sweep on several GPUs: nothing measured, a point without a time.
Report predicted_report() {
  Report report = page_test::report_fixture();
  report.title = "Predictions: SYNTHETIC TEST DATA";
  report.rows.clear(), report.summary.clear(), report.notes.clear();
  report.tile_map.reset(), report.derivation.reset(), report.pictures.reset(), report.time_error.reset();
  report.gpus.push_back(report.gpus.front());
  report.gpus.back().id = "l4", report.gpus.back().name = "NVIDIA L4";
  std::vector<ReportPoint> points;
  while (points.size() < 100)
    for (const ReportPoint& point : report.points)
      if (points.size() < 100) {
        ReportPoint& added = points.emplace_back(point);
        added.measured.reset();
        if (points.size() % 4 < 2) added.gpu = "l4", added.label += " l4";
        added.id = added.label + std::to_string(points.size());
      }
  report.points = std::move(points);
  name_points(report.points);
  report.refused = {{"fused_mma fp8 l4", "l4 states no tensor rate for fp8"}};
  return report;
}

void write_all(const std::filesystem::path& assets, const std::filesystem::path& out) {
  const Report report = page_test::report_fixture();
  write_file(out / "report.html", render_html(report, assets));
  write_file(out / "report.csv", render_csv(report));
  write_file(out / "report.json", numbers_of(report).dump());
  write_file(out / "predicted.html", render_html(predicted_report(), assets));
  write_file(out / "report_empty.html", render_html({.gpus = {{.id = "l4", .name = "l4"}}}, assets));
  write_file(out / "report_hostile.html", render_html(hostile_report(), assets));
  const FamilyPage family = page_test::family_fixture();
  write_file(out / "family.html", render_family_html(family, assets));
  write_file(out / "family.json", to_json(family).dump());
  write_file(out / "family_empty.html", render_family_html({.hardware = {.id = "l4", .name = "l4"}}, assets));
  write_file(out / "family_hostile.html", render_family_html(hostile_family(), assets));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: render_report ASSETS OUT_DIRECTORY\n", stderr), 2;
  try {
    write_all(argv[1], argv[2]);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 2;
  }
  return 0;
}
