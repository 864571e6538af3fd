// base/parallel.h on the one thread that a page's worker has, in place of base/parallel.cpp.
#include "base/parallel.h"

namespace tilescope {

std::size_t all_cores() { return 1; }

std::size_t slots_of(std::size_t) { return 1; }

void in_order(std::size_t items, std::size_t, const ItemStage& make, const ItemStage& take, std::size_t) {
  for (std::size_t item = 0; item < items; ++item) make(item, 0), take(item, 0);
}

void at_once(std::size_t items, const std::function<void(std::size_t)>& make) {
  for (std::size_t item = 0; item < items; ++item) make(item);
}

}  // namespace tilescope
