// Work on several threads. What comes out has the order of its items and does not depend on the number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tilescope {

inline constexpr std::size_t most_threads = 1024;

// Cores that this process may run on.
std::size_t all_cores();

// `prepare` is called at once, and by each thread that works for the functions below before its first item.
void prepare_threads(void (*prepare)());

// Items that are between the two stages at once: each has a slot of its own below this number.
std::size_t slots_of(std::size_t threads);

using ItemStage = std::function<void(std::size_t item, std::size_t slot)>;

// Calls make(item, slot) for the items below `items` on up to `threads` threads, and then take(item, slot) in the order
// of the items, one at a time. An exception of `make` is thrown when the item's turn to be taken comes, so that the
// first one by order ends the work, whatever the number of threads. `make` must not change what other items use.
// `slots`: items at once, 0: slots_of(threads). A long item holds back the ones after it when all slots are taken.
void in_order(std::size_t items, std::size_t threads, const ItemStage& make, const ItemStage& take,
              std::size_t slots = 0);

// Calls make(item) for the items below `items`, on the threads that the work around it leaves free: all cores, those of
// the in_order that it is part of, or only the caller's inside one of a single thread. An exception is thrown when all
// items are done: of several the first one by order.
void at_once(std::size_t items, const std::function<void(std::size_t item)>& make);

}  // namespace tilescope
