#include "base/parallel.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace tilescope {
namespace {

thread_local bool is_alone = false;  // inside an in_order of one thread

struct Alone {
  explicit Alone(bool now) : before(std::exchange(is_alone, is_alone || now)) {}
  ~Alone() { is_alone = before; }
  bool before;
};

std::atomic<void (*)()> prepare_thread = nullptr;
thread_local bool is_prepared = false;

void prepare_once() {
  if (!std::exchange(is_prepared, true))
    if (void (*const prepare)() = prepare_thread) prepare();
}

}  // namespace

void prepare_threads(void (*prepare)()) {
  prepare_thread = prepare;
  prepare_once();
}

std::size_t all_cores() { return std::max(1U, std::thread::hardware_concurrency()); }

std::size_t slots_of(std::size_t threads) { return threads <= 1 ? 1 : 4 * threads; }

void in_order(std::size_t items, std::size_t threads, const ItemStage& make, const ItemStage& take, std::size_t slots) {
  if (threads <= 1 || items <= 1) {
    const Alone alone(threads <= 1);
    for (std::size_t item = 0; item < items; ++item) make(item, 0), take(item, 0);
    return;
  }
  // Items leave in the order in which they came, so that those inside are consecutive: no two have one slot.
  if (slots == 0) slots = slots_of(threads);
  std::vector<std::exception_ptr> failed(slots);
  std::size_t next = 0;
  const auto give = [&](tbb::flow_control& flow) {
    if (next == items) flow.stop();
    return next == items ? items : next++;
  };
  const auto make_one = [&](std::size_t item) {
    prepare_once();
    try {
      make(item, item % slots);
    } catch (...) {
      failed[item % slots] = std::current_exception();
    }
    return item;
  };
  const auto take_one = [&](std::size_t item) {
    if (const std::exception_ptr error = std::exchange(failed[item % slots], nullptr)) std::rethrow_exception(error);
    take(item, item % slots);
  };
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  arena.execute([&] {
    tbb::parallel_pipeline(slots, tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, give) &
                                      tbb::make_filter<std::size_t, std::size_t>(tbb::filter_mode::parallel, make_one) &
                                      tbb::make_filter<std::size_t, void>(tbb::filter_mode::serial_in_order, take_one));
  });
}

void at_once(std::size_t items, const std::function<void(std::size_t)>& make) {
  if (items <= 1 || is_alone) {
    for (std::size_t item = 0; item < items; ++item) make(item);
    return;
  }
  std::vector<std::exception_ptr> failed(items);
  // A thread that waits for the last items takes no other work meanwhile: the caller may hold what that needs.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        std::size_t{0}, items,
        [&](std::size_t item) {
          prepare_once();
          try {
            make(item);
          } catch (...) {
            failed[item] = std::current_exception();
          }
        },
        tbb::simple_partitioner{});
  });
  for (const std::exception_ptr& each : failed)
    if (each) std::rethrow_exception(each);
}

}  // namespace tilescope
