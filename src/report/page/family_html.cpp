#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/model.h"
#include "report/page/family_parts.h"
#include "report/page/page_template.h"
#include "report/page/sections.h"
#include "report/report.h"
#include "report/text/text_format.h"

namespace tilescope {
namespace report {
namespace {

std::string lead_html(const FamilyPage& family) {
  const auto third = static_cast<double>(
      std::count_if(family.rows.begin(), family.rows.end(), [](const FamilyRow& row) { return row.third_party; }));
  const auto count = [](double n) { return data_html(n, plain_number(n)); };
  double outside = 0, judged = 0;
  for (const FamilyRow& row : family.rows)
    for (const FamilyNumber& number : row.numbers)
      outside += number.outside, judged += number.judged ? number.judged->n : 0;
  return fmt::format(
      "<p class=\"lead\">On {}, {} kernels, {} of them of third parties, were predicted and counted at {} points. Of "
      "{} numbers in the columns below that have a tolerance, "
      "{} lie outside it. On {} workloads several kernels, or one in several formats, were timed.</p>\n",
      escape_html(family.hardware.name), count(static_cast<double>(family.rows.size())), count(third),
      count(family.points), count(judged), count(outside), count(static_cast<double>(family.ladders.size())));
}

}  // namespace
}  // namespace report

std::string render_family_html(const analysis::FamilyPage& content, const std::filesystem::path& assets) {
  using namespace report;
  Report head;
  head.gpus = {content.hardware}, head.generated = content.generated, head.revision = content.revision;
  const TemplateValues values{{"title", escape_html(content.title)},
                              {"css", asset(assets, "page.css") + asset(assets, "family.css")},
                              {"meta", meta_html(head)},
                              {"lead", lead_html(content)},
                              {"family", family_rows_html(content)},
                              {"ladders", family_ladders_html(content)}};
  return filled(asset(assets, "family.html"), values, assets / "family.html");
}

}  // namespace tilescope
