// Renders a report data file for the tests of the page: render_report DATA.json ASSETS OUT.{html,md,csv}
#include <cstdio>
#include <exception>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "report/report.h"

int main(int argc, char** argv) {
  if (argc != 4) return std::fputs("usage: render_report DATA.json ASSETS OUT.{html,md,csv}\n", stderr), 2;
  try {
    const nlohmann::json data = nlohmann::json::parse(tilescope::read_file(argv[1]));
    const std::string out = argv[3];
    using namespace tilescope;
    const bool family = data.value("schema", "") == "tilescope/family/1";
    write_file(out, out.ends_with(".md")    ? (family ? render_family_markdown(data) : render_markdown(data))
                    : out.ends_with(".csv") ? (family ? render_family_csv(data) : render_csv(data))
                    : family                ? render_family_html(data, argv[2])
                                            : render_html(data, argv[2]));
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 2;
  }
  return 0;
}
