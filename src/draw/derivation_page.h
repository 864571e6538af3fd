// One self-contained HTML page: pictures, then sections of text, listings and tables. It loads no resources, contains
// no scripts, and has the style of `tilescope report`.
#pragma once

#include <string>
#include <vector>

#include "base/page_section.h"

namespace tilescope {

struct PagePicture {
  std::string svg{};  // markup as diagram_svg gives it; all else in the page is text and is escaped
  std::string caption{};
};

struct DerivationPage {
  std::string title{}, summary{};
  std::vector<PagePicture> pictures{};
  std::vector<PageSection> sections{};
};

// Throws std::invalid_argument for a table row with more cells than columns.
std::string derivation_page(const DerivationPage& page);

}  // namespace tilescope
