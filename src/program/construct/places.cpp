#include "program/construct/places.h"

#include <algorithm>

#include "base/contains.h"

namespace tilescope {

bool join(const std::vector<Place>& inputs, int level, Place& place) {
  place = {.level = level};
  for (const Place& input : inputs) {
    place.level = std::max(place.level, input.level);
    for (const int last : input.last_of)
      if (!contains(place.last_of, last)) place.last_of.push_back(last);
  }
  for (const Place& input : inputs) {
    if (!input.after) continue;
    if (input.level < place.level) return false;
    place.after = true;
  }
  return true;
}

}  // namespace tilescope
