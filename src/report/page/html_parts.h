// The small pieces that the page's sections are made of. Arguments named `html` are markup already; the others are
// text and are escaped here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::report {

struct Choice {
  std::string value{}, text{};
  bool selected = false;
};

// A labelled list whose choice page.js hands to the param `signal` of every chart whose id starts with `charts`.
std::string control_html(const std::string& name, const std::string& signal, const std::string& charts,
                         const std::vector<Choice>& choices);

// The place where page.js draws the chart of this id.
std::string figure_html(const std::string& id, const std::string& caption);

struct TableColumn {
  std::string title{};
  bool number = false;  // set right-aligned
};

// Scrolls sideways on its own where the screen is narrow. The first cell of a row is its header.
std::string table_html(const std::string& name, const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& html_cells);

enum class MarkShape { circle, square, triangle, triangle_down, triangle_right, diamond, cross, stroke, bar };

// One entry of a legend: the shape in a CSS colour, hollow or filled, and its meaning.
std::string key_html(MarkShape shape, const std::string& meaning, const std::string& colour = "var(--ink)",
                     const char* css_class = "");
std::string level_key_html(const std::string& level, const std::string& meaning);  // in the level's colour and shape
std::string legend_html(const std::vector<std::string>& html_keys);

std::string empty_html(std::string_view sentence);  // stands where a section has nothing to show

}  // namespace tilescope::report
