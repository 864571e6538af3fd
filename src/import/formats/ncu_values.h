// Numbers and units as ncu prints them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilescope::imported {

// A value in base units: bytes, counts, cycles, seconds, hertz; percent stays percent.
struct NcuValue {
  double value = 0;
  double rounding = 0;  // the last printed digit's worth, where the unit is a multiple of the base unit; 0: exact
};

// "1,234.5" with "Kbyte" is 1234500 bytes, exactly: the decimal point moves, nothing is multiplied. Sets `problem` and
// returns nullopt for a number or unit that it does not know. A value of several instances, "12 (4; 8)", is the first.
std::optional<NcuValue> parse_ncu_value(std::string_view number, std::string_view unit, std::string& problem);

// Whether the cell says that there is no value: empty, "n/a", "nan", "no data".
bool is_absent(std::string_view number);

}  // namespace tilescope::imported
