// Text laid out in a limited width. Widths count characters: UTF-8 sequences are one, escape codes of colours none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cli {

std::size_t shown_width(std::string_view text);

// `text` cut into lines of at most `width` characters, after spaces and after _ , ; / where possible.
std::vector<std::string> folded(std::string_view text, std::size_t width);

// Every line of `text` longer than `width` is wrapped at spaces; what follows is indented by two more than its line.
std::string fitted(std::string_view text, std::size_t width);

}  // namespace tilescope::cli
