// Changes of text that keep most of its form: a reader then sees more than its first syntax error.
#pragma once

#include <string>

namespace tilescope::fuzz {

// One to four changes: words and numbers exchanged, lines left out, doubled or moved. Equal seeds change equally.
std::string mutated_text(std::string text, unsigned seed);

}  // namespace tilescope::fuzz
