// Checks that a cascade is well formed: names, order and number of its folds.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "stream/witness.h"

namespace tilescope {

inline constexpr std::size_t most_folds = 64;

// Every name that the cascade uses or defines.
std::set<std::string, std::less<>> names_of(const Cascade& cascade);

// Empty when the cascade is well formed.
std::optional<Refusal> refusal_of_form(const Cascade& cascade);

}  // namespace tilescope
