#include <nlohmann/json.hpp>

#include "report/model.h"
#include "report/page/page_template.h"
#include "report/page/sections.h"
#include "report/report.h"
#include "report/text/packed.h"
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

// Bytes that are not UTF-8 become U+FFFD.
std::string page_text(const nlohmann::json& data) {
  return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string render_html(const analysis::Report& content, const std::filesystem::path& assets) {
  const std::vector<report::Section> sections = report::page_sections(content);
  const report::TemplateValues values{{"title", report::escape_html(content.title)},
                                      {"css", asset(assets, "page.css")},
                                      {"meta", report::meta_html(content)},
                                      {"links", report::links_html(sections)},
                                      {"sections", report::sections_html(sections)},
                                      {"data", report::packed_text(page_text(report::page_data(content)))},
                                      {"bundle", asset(assets, "bundle.txt")},
                                      {"script", script_text(asset(assets, "chart.js") + asset(assets, "page.js"))}};
  return filled(asset(assets, "page.html"), values, assets / "page.html");
}

}  // namespace tilescope
