#include "report/page/page_template.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace tilescope::report {

std::string filled(const std::string& page, const TemplateValues& values, const std::filesystem::path& file) {
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

}  // namespace tilescope::report
