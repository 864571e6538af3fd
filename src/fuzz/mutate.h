// Changes of inputs.
#pragma once

#include <string>

namespace tilescope::fuzz {

// One to four changes that keep most of a text's form, so that a reader sees more than its first syntax error: words
// and numbers exchanged, lines left out, doubled or moved. Equal seeds change equally.
std::string mutated_text(std::string text, unsigned seed);

// One to four changes of bytes: some replaced, left out, doubled, or set to the edges of integers.
std::string mutated_bytes(std::string bytes, unsigned seed);

}  // namespace tilescope::fuzz
