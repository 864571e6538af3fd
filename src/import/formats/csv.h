// CSV by RFC 4180: quoted cells, doubled quotes, line feeds inside quotes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::imported {

class CsvReader {
 public:
  explicit CsvReader(std::string_view text, int line = 1) : text_(text), line_(line) {}

  // The cells of the next row that is not empty; nullopt: none is left. `line` is where it began.
  std::optional<std::vector<std::string>> next();
  int line() const { return row_line_; }
  bool unclosed() const { return unclosed_; }  // the text ended inside quotes

 private:
  std::string cell();

  std::string_view text_;
  std::size_t at_ = 0;
  int line_, row_line_ = 1;
  bool unclosed_ = false;
};

}  // namespace tilescope::imported
