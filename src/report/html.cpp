#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "report/model.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/text_format.h"

namespace tilescope {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

// Replaces every {{name}} once, in one pass: what a value contains is never looked at again.
std::string filled(const std::string& page, const Values& values, const std::filesystem::path& file) {
  std::string out;
  std::size_t from = 0;
  for (;;) {
    const std::size_t open = page.find("{{", from);
    if (open == std::string::npos) return out + page.substr(from);
    const std::size_t close = page.find("}}", open);
    const std::string name = close == std::string::npos ? "" : page.substr(open + 2, close - open - 2);
    const auto value = values.find(name);
    if (value == values.end())
      throw InputError(Diagnostic{.file = file.string(),
                                  .message = fmt::format("the page template names an unknown part '{}'", name)});
    out.append(page, from, open - from).append(value->second);
    from = close + 2;
  }
}

std::string asset(const std::filesystem::path& assets, const char* name) {
  const std::filesystem::path path = assets / name;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw InputError(Diagnostic{
        .file = path.string(),
        .message = fmt::format("the report page needs this file and it is missing; make it with `reports/build.sh {}` "
                               "(needs node and npm), or ask for --format md, json or csv",
                               assets.string())});
  return read_file(path);
}

// A script ends at the first "</script", wherever that stands; "<\/script" means the same inside a string.
std::string script_text(std::string script) {
  for (std::size_t at = script.find("</script"); at != std::string::npos; at = script.find("</script", at))
    script.replace(at, 2, "<\\/");
  return script;
}

}  // namespace

std::string render_html(const nlohmann::json& data, const std::filesystem::path& assets) {
  const report::Report content = report::read_report(data);
  const Values values{{"title", report::escape_html(content.title)},
                      {"css", asset(assets, "page.css")},
                      {"meta", report::meta_html(content)},
                      {"headline", report::headline_html(content)},
                      {"summary", report::summary_html(content)},
                      {"roofline", report::roofline_html(content)},
                      {"traffic", report::traffic_html(content)},
                      {"errors", report::errors_html(content)},
                      {"tiles", report::tiles_html(content)},
                      {"derivation", report::derivation_html(content)},
                      {"notes", report::notes_html(content)},
                      {"data", report::json_for_script(report::page_data(content))},
                      {"bundle", script_text(asset(assets, "bundle.js"))},
                      {"script", script_text(asset(assets, "page.js"))}};
  return filled(asset(assets, "page.html"), values, assets / "page.html");
}

}  // namespace tilescope
