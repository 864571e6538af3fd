// How every page draws a memory level: one colour, one shape and one dash each, whatever other levels it shows.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tilescope::report {

const char* level_colour(const std::string& level);  // a CSS custom property
const char* level_shape(const std::string& level);   // a symbol of Vega
nlohmann::json level_dash(const std::string& level);

}  // namespace tilescope::report
