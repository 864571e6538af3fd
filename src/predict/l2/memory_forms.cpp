#include "predict/l2/memory_forms.h"

#include "predict/point/block_memory.h"
#include "predict/point/order/issue_order.h"

namespace tilescope {
namespace {

// Loops of the nest in issue order as loops of the bound nest.
class AsBound {
 public:
  explicit AsBound(const BoundIsland& bound) : order_(issue_order(bound)) {}
  PlainCount operator()(PlainCount count) const {
    count.tiles = loops(count.tiles), count.trips = loops(count.trips);
    return count;
  }
  ReuseLoops operator()(ReuseLoops reuse) const {
    for (PlainCount* count : {&reuse.slice, &reuse.blocks, &reuse.repeats, &reuse.inside}) *count = (*this)(*count);
    return reuse;
  }

 private:
  LoopBits loops(LoopBits issued) const {
    LoopBits found = 0;
    for (LoopBits left = issued; left != 0; left &= left - 1)
      found |= LoopBits{1} << order_.loops[static_cast<std::size_t>(std::countr_zero(left))];
    return found;
  }
  IssueOrder order_;
};

ArrayForms forms_of(const BoundIsland& bound, const Nest& issued, const AsBound& as_bound, ArrayId id) {
  const Array& array = bound.plan.schedule.diagram.array(id);
  const AxisBits axes = bits(array.axes);
  const Nest seen = bound.seen_by(id, issued), leaving = bound.seen_by(id, bound.leaving(id));
  ArrayForms forms;
  forms.distinct = repeated_count(bound.nest, axes, -1);
  forms.touched = as_bound(repeated_count(seen, axes, last_loop(seen, array.axes)));
  forms.reuse = as_bound(reuse_loops(seen, array));
  forms.id = id, forms.stores = stores(bound, id), forms.last = last_loop(bound.nest, array.axes);
  forms.visits_each = repeated_count(leaving, axes, last_loop(leaving, array.axes, !fetched_every_step(bound, id)));
  forms.visits_each.sizes = 0;
  forms.of_all_steps = as_bound(reuse_loops(issued, array));
  return forms;
}

MemoryForms new_forms(const BoundIsland& bound, LoopBits moving) {
  MemoryForms forms{.moving = moving, .shape = cache_shape(bound.hardware), .arrays = {}};
  const Nest issued = in_issue_order(bound);
  const AsBound as_bound(bound);
  forms.arrays.resize(bound.plan.schedule.diagram.arrays.size());
  for (std::size_t i = 0; i < forms.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (loads(bound, id) || stores(bound, id)) forms.arrays[i] = forms_of(bound, issued, as_bound, id);
  }
  return forms;
}

}  // namespace

const MemoryForms* memory_forms(const BoundIsland& bound) {
  if (bound.nest.chunked.present()) return nullptr;
  std::shared_ptr<const MemoryForms>& known = bound.known->memory;
  const LoopBits moving = moving_loops(bound.nest);
  if (!known || known->moving != moving) known = std::make_shared<const MemoryForms>(new_forms(bound, moving));
  return known.get();
}

}  // namespace tilescope
