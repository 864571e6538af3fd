// The HTML of the page's sections, without the page around them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/model.h"

namespace tilescope::report {

// A section of the page. A folded one opens at its title. Without `html` it is left out, and so is its link.
struct Section {
  std::string id, link, title, html;
  bool folded = false;
};

// All sections that have something to show, in their order: the answer, what it rests on, the reference.
std::vector<Section> page_sections(const Report& report);
std::string sections_html(const std::vector<Section>& sections);
std::string links_html(const std::vector<Section>& sections);

// Each is empty where the report has nothing for it.
std::string meta_html(const Report& report);
std::string answer_html(const Report& report);
std::string roofline_html(const Report& report);
std::string point_html(const Report& report);
std::string errors_html(const Report& report);
std::string checked_html(const Report& report);
std::string summary_html(const Report& report);
std::string tolerances_html(const Report& report);
std::string tiles_html(const Report& report);
std::string lengths_html(const Report& report);
std::string residuals_html(const Report& report);
std::string clocks_html(const Report& report);
std::string derivation_html(const Report& report);
std::string numbers_html(const Report& report);
std::string notes_html(const Report& report);

// What the page's script needs: {charts: {id: spec}, points: [...], columns: [...], rows: [[...]], name: file stem}.
nlohmann::json page_data(const Report& report);

}  // namespace tilescope::report
