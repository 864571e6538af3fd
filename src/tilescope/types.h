// What the functions of the library take and give.
//
// Include what you need: predict.h, search.h, sweep.h, compare.h, record.h, catalogue.h. Every function answers exactly
// as the command of its name does and throws BadInput where the command exits with status 2.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tilescope::api {

// Options of the command line by name, as texts: {{"hardware", "h200_sxm"}, {"kernel", "fused_mma"}, {"q-len", "4k"}}.
// "q_len" is "q-len"; an option may be given several times where the command line allows it. `tilescope help predict`
// lists them.
using Options = std::vector<std::pair<std::string, std::string>>;

// Bad input; what() names the option or the place in a file, what was expected, and the remedy.
class BadInput : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A cell of a table; monostate: the row has no such value.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

struct Table {
  std::vector<std::string> columns;     // docs/columns.md says what each means, and its unit
  std::vector<std::vector<Cell>> rows;  // a cell each column
};

}  // namespace tilescope::api
