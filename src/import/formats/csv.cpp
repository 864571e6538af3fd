#include "import/formats/csv.h"

#include <algorithm>

namespace tilescope::imported {

// Up to the comma, the end of the line or the end of the text, which stay.
std::string CsvReader::cell() {
  std::string found;
  if (at_ < text_.size() && text_[at_] == '"') {
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) {
        unclosed_ = true;
        return found;
      }
      if (text_[at_] == '"') {
        ++at_;
        if (at_ >= text_.size() || text_[at_] != '"') break;
      }
      line_ += text_[at_] == '\n';
      found += text_[at_];
    }
  }
  while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') found += text_[at_++];
  if (!found.empty() && found.back() == '\r' && (at_ >= text_.size() || text_[at_] == '\n')) found.pop_back();
  return found;
}

std::optional<std::vector<std::string>> CsvReader::next() {
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) line_ += text_[at_++] == '\n';
  if (at_ >= text_.size()) return std::nullopt;
  row_line_ = line_;
  std::vector<std::string> cells{cell()};
  while (at_ < text_.size() && text_[at_] == ',') {
    ++at_;
    cells.push_back(cell());
  }
  return cells;
}

}  // namespace tilescope::imported
