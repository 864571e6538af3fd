// Reports of a validation run. Everything here renders numbers that were derived or measured elsewhere; the only
// arithmetic is layout (an axis range, a quotient of two given numbers as a coordinate, a unit prefix).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace tilescope {

// `data` is one object of schema "tilescope/report/1". All three throw InputError naming every field that is missing
// or of the wrong type; optional parts (measured, comparison, tile_map, derivation, pictures) may be absent or null.

// One self-contained page: no network, no further file. `assets` is the folder that `reports/build.sh` wrote
// (bundle.js, page.html, page.css, page.js); throws InputError naming a missing one and the command that makes it.
std::string render_html(const nlohmann::json& data, const std::filesystem::path& assets);

// Headline, rows out of tolerance, summary by kernel and quantity, the pictures' numbers, the derivation: Markdown as
// GitHub reads it.
std::string render_markdown(const nlohmann::json& data);

// Every number, one a row: point,label,kernel,quantity,level,predicted,measured,ratio,tolerance,verdict (RFC 4180).
std::string render_csv(const nlohmann::json& data);

// The page of the kernel family, from one object of schema "tilescope/family/1": a table with a row a kernel, and
// ladders of speed. It has no script; `assets` must hold family.html, family.css and page.css. The CSV holds the table
// alone.
std::string render_family_html(const nlohmann::json& data, const std::filesystem::path& assets);
std::string render_family_markdown(const nlohmann::json& data);
std::string render_family_csv(const nlohmann::json& data);

}  // namespace tilescope
