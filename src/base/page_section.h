// A part of a document: a heading, paragraphs, listings and tables of text. Printed as text or as HTML.
#pragma once

#include <string>
#include <vector>

namespace tilescope {

struct PageTable {
  std::string title{};
  std::vector<std::string> columns{};
  // A row shorter than `columns` ends in empty cells; a longer one is an error.
  std::vector<std::vector<std::string>> rows{};
};

struct PageSection {
  std::string heading{};
  std::vector<std::string> paragraphs{};
  std::vector<std::string> listings{};  // preformatted
  std::vector<PageTable> tables{};
};

}  // namespace tilescope
