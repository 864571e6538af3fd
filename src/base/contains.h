#pragma once

#include <algorithm>

namespace tilescope {

// Whether a list has the value. (std::ranges::contains is C++23, and JSON lists are no ranges.)
template <class List, class Value>
bool contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace tilescope
