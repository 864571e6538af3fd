// Wraps text to a width. Widths count characters: a UTF-8 sequence counts as one, an escape code of a colour as none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cli {

std::size_t shown_width(std::string_view text);

// `text` cut into lines of at most `width` characters, after spaces and after _ , ; / where possible.
std::vector<std::string> folded(std::string_view text, std::size_t width);

// Wraps every line of `text` longer than `width` at spaces. Continuation lines are indented by two more characters.
std::string fitted(std::string_view text, std::size_t width);

}  // namespace tilescope::cli
