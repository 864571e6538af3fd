#include <nlohmann/json.hpp>

#include "report/model.h"
#include "report/page/page_template.h"
#include "report/page/sections.h"
#include "report/report.h"
#include "report/text/text_format.h"

namespace tilescope {
namespace {

using report::asset;
using report::filled;

// A script ends at the first "</script", wherever that stands; "<\/script" means the same inside a string.
std::string script_text(std::string script) {
  for (std::size_t at = script.find("</script"); at != std::string::npos; at = script.find("</script", at))
    script.replace(at, 2, "<\\/");
  return script;
}

}  // namespace

std::string render_html(const analysis::Report& content, const std::filesystem::path& assets) {
  const report::TemplateValues values{{"title", report::escape_html(content.title)},
                                      {"css", asset(assets, "page.css")},
                                      {"meta", report::meta_html(content)},
                                      {"headline", report::headline_html(content)},
                                      {"summary", report::summary_html(content)},
                                      {"roofline", report::roofline_html(content)},
                                      {"traffic", report::traffic_html(content)},
                                      {"errors", report::errors_html(content)},
                                      {"tiles", report::tiles_html(content)},
                                      {"split", report::split_html(content)},
                                      {"lengths", report::lengths_html(content)},
                                      {"residuals", report::residuals_html(content)},
                                      {"clocks", report::clocks_html(content)},
                                      {"derivation", report::derivation_html(content)},
                                      {"notes", report::notes_html(content)},
                                      {"data", report::json_for_script(report::page_data(content))},
                                      {"bundle", script_text(asset(assets, "bundle.js"))},
                                      {"script", script_text(asset(assets, "page.js"))}};
  return filled(asset(assets, "page.html"), values, assets / "page.html");
}

}  // namespace tilescope
