// Fonts and colours of the picture. Colours are CSS variables with the values of the report's page where it has them.
#pragma once

#include <string>

#include "draw/canvas.h"

namespace tilescope::draw {

const char* font_class(Font font);
const std::string& picture_style();  // CSS of one picture; the same for all, so several may stand in a page

}  // namespace tilescope::draw
