// Reports of recorded runs. Everything here renders numbers that were derived or measured elsewhere; the only
// arithmetic is layout (an axis range, a quotient of two given numbers as a coordinate, a unit prefix).
#pragma once

#include <filesystem>
#include <string>

#include "analysis/family/model.h"
#include "analysis/report/model.h"

namespace tilescope {

// One self-contained page: no network, no further file. `assets` is the folder that `reports/build.sh` wrote
// (bundle.js, page.html, page.css, page.js); throws InputError naming a missing one and the command that makes it.
std::string render_html(const analysis::Report& report, const std::filesystem::path& assets);

// Headline, rows out of tolerance, summary by kernel and quantity, the pictures' numbers, the derivation: Markdown as
// GitHub reads it.
std::string render_markdown(const analysis::Report& report);

// Every number, one a row: point,label,kernel,quantity,level,predicted,measured,ratio,tolerance,verdict (RFC 4180).
std::string render_csv(const analysis::Report& report);

// The page of the kernel family: a table with a row a kernel, and ladders of speed. It has no script; `assets` must
// hold family.html, family.css and page.css. The CSV holds the table alone.
std::string render_family_html(const analysis::FamilyPage& family, const std::filesystem::path& assets);
std::string render_family_markdown(const analysis::FamilyPage& family);
std::string render_family_csv(const analysis::FamilyPage& family);

}  // namespace tilescope
