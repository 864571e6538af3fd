// What a launch's bytes at memory are products of (cost/plain_count.h). It follows from the launch's blocks and from
// which of its loops move, so that later points of a sweep find it.
#pragma once

#include <vector>

#include "predict/l2/cache/cache.h"
#include "predict/l2/closed_form.h"
#include "predict/point/bound_island.h"

namespace tilescope {

// Of an array. Loops are those of BoundIsland::nest. What is read is so with the streams that the array awaits as one
// step.
struct ArrayForms : ReadForms {
  ArrayId id{};
  bool stores = false;
  int last = -1;            // last_loop
  PlainCount visits_each;   // how often each value of a result leaves the block
  ReuseLoops of_all_steps;  // reuse, step for step

  Visits visits_in(const Nest& nest) const {
    const std::int64_t values = distinct.of(nest);
    return {checked_mul(values, visits_each.of(nest)), values};
  }
};

struct MemoryForms {
  LoopBits moving = 0;
  CacheShape shape;
  std::vector<ArrayForms> arrays;  // by ArrayId; those that are neither loaded nor stored are empty
};

// nullptr: the nest has parts. Of a guarded one counts are sums over live tiles, and only its loops are as the forms
// say. The result lies in bound.known.
const MemoryForms* memory_forms(const BoundIsland& bound);

}  // namespace tilescope
