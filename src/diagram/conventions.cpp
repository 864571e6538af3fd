#include "diagram/conventions.h"

#include "base/contains.h"

namespace tilescope {

Pass pass_of(const Diagram& diagram) {
  const auto gradient = diagram.find_array("dO");
  return gradient && diagram.array(*gradient).role == ArrayRole::input ? Pass::backward : Pass::forward;
}

std::vector<std::string> dtype_keys(const Diagram& diagram) {
  std::vector<std::string> keys;
  for (const Array& array : diagram.arrays)
    if (!contains(keys, array.dtype_key)) keys.push_back(array.dtype_key);
  return keys;
}

}  // namespace tilescope
