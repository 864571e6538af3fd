// The HTML of the page's sections, without the page around them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/model.h"

namespace tilescope::report {

std::string meta_html(const Report& report);
std::string headline_html(const Report& report);
std::string summary_html(const Report& report);
std::string roofline_html(const Report& report);
std::string traffic_html(const Report& report);
std::string errors_html(const Report& report);
std::string tiles_html(const Report& report);
std::string split_html(const Report& report);
std::string lengths_html(const Report& report);
std::string residuals_html(const Report& report);
std::string clocks_html(const Report& report);
std::string derivation_html(const Report& report);
std::string notes_html(const Report& report);

// What the page's script needs: {charts: {id: spec}, points: [...], columns: [...], rows: [[...]], name: file stem}.
nlohmann::json page_data(const Report& report);

}  // namespace tilescope::report
