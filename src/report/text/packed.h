// Text as it stands in a page that unpacks it: gzip, then base64. A third of the bytes, and no markup in it.
#pragma once

#include <string>

namespace tilescope::report {

std::string packed_text(const std::string& text);

}  // namespace tilescope::report
