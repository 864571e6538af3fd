// Sanitises text from external sources.
#pragma once

#include <string>
#include <string_view>

namespace tilescope::draw {

// Bytes that are not UTF-8, and characters that XML 1.0 does not allow, become U+FFFD, one for one. Line breaks and
// tabs become spaces.
std::u32string decoded(std::string_view text);
std::string encoded(std::u32string_view characters);

}  // namespace tilescope::draw
