#include "predict/work/work.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/checked.h"
#include "base/contains.h"
#include "predict/point/code_of.h"
#include "predict/point/products.h"
#include "predict/work/assumed_work.h"
#include "predict/work/code_work.h"
#include "predict/work/masked_scores.h"

namespace tilescope {
namespace {

const NestSums& sums(const BoundIsland& bound, bool whole) { return whole ? bound.whole : bound.live; }

std::int64_t points(const BoundIsland& bound, Axes axes, bool whole) {
  return visited_points(bound.nest, sums(bound, whole), axes, whole);
}

// The score array's axes without its last: one entry a query row.
Axes row_axes(const BoundIsland& bound, int scores) {
  const auto& axes = bound.plan.schedule.diagram.arrays[static_cast<std::size_t>(scores)].axes;
  return {axes.data(), axes.size() - 1};
}

std::int64_t rows_once(const BoundIsland& bound, int scores) {
  const bool whole = !bound.how.existing_rows;
  return touched_values(bound.finish, sums(bound, whole), row_axes(bound, scores), {.whole_tiles = whole});
}

bool streams_along(const BoundIsland& bound, AxisId axis) {
  const BoundLoop* loop = bound.nest.loop_over(axis);
  return loop && !loop->group;
}

std::int64_t scaled(double rate, std::int64_t count) {
  return static_cast<std::int64_t>(std::llround(rate * static_cast<double>(count)));
}

// Of points over these axes, in whole tiles, those that threads compute where they go beyond an axis' end or stop at
// it.
std::int64_t computed(const BoundIsland& bound, Axes axes, std::int64_t points) {
  if (bound.how.computes_multiples.empty() && bound.how.computes_sizes.empty()) return points;
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (const AxisId axis : axes) {
    const BoundLoop* loop = bound.nest.loop_over(axis);
    if (loop && (loop->group || bound.nest.guarded())) continue;
    const std::string& name = diagram.axes[index(axis)].name;
    const auto multiple = bound.how.computes_multiples.find(name);
    const auto sizes = bound.how.computes_sizes.find(name);
    const std::int64_t size = bound.nest.size(axis), now = loop ? checked_mul(loop->trips, loop->tile) : size;
    std::int64_t all = now;
    if (multiple != bound.how.computes_multiples.end()) all = ceil_div(size, multiple->second) * multiple->second;
    if (sizes != bound.how.computes_sizes.end()) {
      const auto found = std::lower_bound(sizes->second.begin(), sizes->second.end(), size);
      if (found != sizes->second.end()) all = *found;
    }
    if (all != now) points = checked_mul(points / now, all);
  }
  return points;
}

// Of whole tiles (or the rows that exist): as often as the array's tile enters or leaves, or in every step.
std::int64_t elements(const BoundIsland& bound, const std::string& name, bool every_step) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto id = diagram.find_array(name);
  if (!id) return 0;  // of another diagram that the schedule is applied to
  const Axes axes = diagram.array(*id).axes;
  const bool whole = !bound.how.existing_rows;
  return computed(bound, axes,
                  every_step ? points(bound, axes, whole)
                             : touched_values(stores(bound, *id) ? bound.leaving(*id) : bound.nest, sums(bound, whole),
                                              axes, {.whole_tiles = whole}));
}

// Steps of all rows. Where lanes take them side by side, some idle in the last round: no thread's operation, but one of
// the special-function pipe, which is counted in instructions of whole warps.
std::int64_t steps_taken(const BoundIsland& bound, Pipe pipe, std::int64_t row_steps) {
  const std::int64_t lanes = bound.how.step_lanes, steps = steps_of(bound.nest);
  if (pipe != Pipe::xu || lanes == 1) return row_steps;
  return checked_mul(row_steps / steps, ceil_div(steps, lanes) * lanes);
}

bool states_nothing(const WorkRates& rate) {
  return rate.per_score == 0 && rate.per_row_step == 0 && rate.per_row == 0 && rate.per_output_step == 0 &&
         rate.per_output == 0 && rate.per_masked_score == 0 && rate.per_padded_score == 0 &&
         rate.per_thread_step == 0 && rate.per_element.empty() && rate.per_element_step.empty();
}

// Whether no mask cuts the tiles of keys, but their last one is not full.
bool keys_are_padded(const BoundIsland& bound, AxisId keys) {
  const BoundLoop* loop = bound.nest.loop_over(keys);
  return !bound.point.mask.masks() && loop && loop->size % loop->tile != 0;
}

void add_pipes(const BoundIsland& bound, Work& work) {
  const int scores = score_array(bound), output = output_array(bound);
  if (scores < 0 || output < 0) return;
  if (std::all_of(bound.how.work.begin(), bound.how.work.end(), states_nothing)) return;
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto& score_axes = diagram.arrays[static_cast<std::size_t>(scores)].axes;
  const auto& output_axes = diagram.arrays[static_cast<std::size_t>(output)].axes;
  const std::int64_t keys = bound.nest.size(score_axes.back());  // of a whole row, when no loop cuts it
  const bool whole = !bound.how.existing_rows;
  std::int64_t score_points = visited_points(bound.nest, whole ? bound.scored : bound.live, score_axes, whole);
  if (!bound.nest.loop_over(score_axes.back()))
    score_points = checked_mul(score_points / keys, ceil_div(keys, bound.how.row_multiple) * bound.how.row_multiple);
  const std::int64_t row_steps = points(bound, row_axes(bound, scores), whole), lanes = row_lanes(bound);
  const std::int64_t rows = rows_once(bound, scores),
                     output_steps = computed(bound, output_axes, points(bound, output_axes, whole));
  const std::int64_t outputs = computed(
      bound, output_axes, touched_values(bound.finish, sums(bound, whole), output_axes, {.whole_tiles = whole}));
  const std::int64_t threads = checked_mul(consumer_warps(bound), lanes_of_warp(bound));
  for (std::size_t i = 0; i < pipe_count; ++i) {
    const WorkRates& rate = bound.how.work[i];
    if (states_nothing(rate)) continue;
    std::int64_t& of_outputs = work.of_outputs[i];
    for (const auto& [array, number] : rate.per_element) of_outputs += scaled(number, elements(bound, array, false));
    for (const auto& [array, number] : rate.per_element_step)
      of_outputs += scaled(number, elements(bound, array, true));
    of_outputs += scaled(rate.per_output_step, output_steps) + scaled(rate.per_output, outputs);
    if (rate.per_thread_step > 0)
      work.of_threads[i] = scaled(rate.per_thread_step, checked_mul(threads, points(bound, {}, true)));
    const std::int64_t of_steps = checked_mul(
        scaled(rate.per_row_step, steps_taken(bound, static_cast<Pipe>(static_cast<int>(i)), row_steps)), lanes);
    const std::int64_t per_row = of_steps / bound.how.step_lanes + checked_mul(scaled(rate.per_row, rows), lanes);
    if (rate.per_masked_score > 0)
      work.pipes[i] += std::llround(rate.per_masked_score * masked_scores(bound, static_cast<double>(score_points)));
    if (rate.per_padded_score > 0 && keys_are_padded(bound, score_axes.back()))
      work.pipes[i] += scaled(rate.per_padded_score, score_points);
    work.pipes[i] += scaled(rate.per_score, score_points) + per_row + of_outputs + work.of_threads[i];
  }
}

// Union of an operator's axes, without allocating.
struct Domain {
  std::array<AxisId, max_axes> axes{};
  std::size_t count = 0;
  AxisBits bits = 0;
  Axes view() const { return {axes.data(), count}; }
  bool has(AxisId axis) const { return (bits & bit(axis)) != 0; }
};

Domain domain_of(const Diagram& diagram, const Operator& op) {
  Domain domain;
  AxisBits used = 0;
  for (const ArrayId id : op.inputs) used |= bits(diagram.array(id).axes);
  for (const ArrayId id : op.outputs) used |= bits(diagram.array(id).axes);
  domain.bits = used;
  for (; used != 0; used &= used - 1) domain.axes[domain.count++] = static_cast<AxisId>(std::countr_zero(used));
  return domain;
}

std::int64_t calls_of_exp(const Expression& expression) {
  std::int64_t calls = expression.is_call(Function::exp) ? 1 : 0;
  for (const Expression& operand : expression.operands()) calls += calls_of_exp(operand);
  return calls;
}

// The smallest of the partial results: one entry a row and part.
Axes statistics_of(const Diagram& diagram, const Operator& merge) {
  const auto fewer = [&](ArrayId a, ArrayId b) { return diagram.array(a).axes.size() < diagram.array(b).axes.size(); };
  return diagram.array(*std::min_element(merge.inputs.begin(), merge.inputs.end(), fewer)).axes;
}

// Points of an operator over these axes. Each is computed where an array with the axes would be moved: loops inside the
// last one that has an axis of it compute nothing anew.
std::int64_t points_of(const BoundIsland& bound, int op, Axes axes, const NestSums& sums, bool whole) {
  const std::optional<Nest> own = nest_of_operator(bound, op);
  if (!own) return touched_values(bound.nest, sums, axes, {.whole_tiles = whole});
  return touched_values(*own, own->guarded() ? sums_of(*own, whole) : sums, axes, {.whole_tiles = whole});
}

// Values over `rows` in each step in which the operator is computed: the running state of a fold is rescaled a step.
std::int64_t row_steps(const BoundIsland& bound, int op, Axes domain, Axes rows) {
  std::optional<Nest> own = nest_of_operator(bound, op);
  const int last = last_loop(own ? *own : bound.nest, domain), loops = static_cast<int>(bound.nest.loop_count);
  if (!own && last + 1 == loops) return visited_points(bound.nest, bound.live, rows, false);
  if (!own) own = bound.nest;
  for (int i = last + 1; i < loops; ++i) own->loops[static_cast<std::size_t>(i)].trips = 1;
  return visited_points(*own, bound.live, rows, false);
}

// As often as instructions multiply and add for it.
std::int64_t product_points_over(const BoundIsland& bound, int op, Axes domain) {
  const auto* own = bound.how.find_product(bound.plan.schedule.diagram.operators[static_cast<std::size_t>(op)].name);
  return checked_mul(own ? own->repeats : 1,
                     computed(bound, domain, points_of(bound, op, domain, sums_of_product(bound, op), true)));
}

void add_operator(const BoundIsland& bound, int position, Axes domain, Work& work) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Operator& op = diagram.operators[static_cast<std::size_t>(position)];
  const auto exponentials = [&](std::int64_t number, std::int64_t points) {
    work.exp = checked_add(work.exp, checked_mul(number, points));
  };
  const auto every_point = [&] { return points_of(bound, position, domain, bound.live, false); };
  switch (op.kind) {
    case OperatorKind::softmax: {
      exponentials(1, every_point());
      const int scores =
          score_array(bound);  // the running state is rescaled a row and step; merged, the tile's part too
      if (scores >= 0 && streams_along(bound, *op.along))
        exponentials(bound.island.merges_tiles ? 2 : 1, row_steps(bound, position, domain, row_axes(bound, scores)));
      return;
    }
    case OperatorKind::merge:  // each part is rescaled a row
      return exponentials(1, row_steps(bound, position, domain, statistics_of(diagram, op)));
    case OperatorKind::pointwise:
    case OperatorKind::reduction:
      return exponentials(calls_of_exp(*op.expression), every_point());
    case OperatorKind::contraction:
      break;
  }
  const std::int64_t whole = product_points_over(bound, position, domain);
  work.clipped_flop = checked_add(work.clipped_flop, checked_mul(2, every_point()));
  if (bound.how.uses_tensor_cores()) {
    std::int64_t& in_format = work.tensor_flop_in[static_cast<std::size_t>(computes_in(bound, op))];
    in_format = checked_add(in_format, checked_mul(2, whole));
    work.tensor_flop = checked_add(work.tensor_flop, checked_mul(2, whole));
  } else {
    std::int64_t& ffma = work.pipes[static_cast<std::size_t>(Pipe::ffma)];
    ffma = checked_add(ffma, whole);
  }
}

// Twice the visible pairs as the field counts them (PairCount). mean_row: under a causal mask, a row has
// (max(0, kv_len - q_len) + kv_len) / 2 keys.
std::int64_t visible_pairs_twice(const Diagram& diagram, const Point& point) {
  const Workload lengths = guarded_lengths(diagram, point.workload);
  const std::int64_t q = lengths.q_len, x = lengths.kv_len;
  if (!point.mask.masks()) return checked_mul(2, checked_mul(q, x));
  if (point.mask.row().flop == PairCount::exact) return checked_mul(2, visible_pairs(point.mask, q, x).area);
  const KeyInterval keys = point.mask.keys(q, x);
  const std::int64_t first = keys.end.first_row_past(0, q);  // row that sees a key
  return checked_mul(q - first, checked_add(keys.end.at(first - 1), keys.end.at(q - 1)));
}

void add_model_flop(const BoundIsland& bound, const Operator& op, const Domain& domain, Work& work) {
  if (op.kind != OperatorKind::contraction) return;
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto& guard = diagram.guard;
  const bool masked = guard && domain.has(guard->query) && domain.has(guard->key);
  std::int64_t points_twice = masked ? visible_pairs_twice(diagram, bound.point) : 2;
  for (const AxisId axis : domain.view())
    if (!masked || (axis != guard->query && axis != guard->key))
      points_twice = checked_mul(points_twice, diagram.axes[index(axis)].size_in(bound.point.workload));
  work.model_flop = checked_add(work.model_flop, points_twice);
}

// The field counts an operator once, however many islands recompute it.
bool runs_first_here(const BoundIsland& bound, int op) {
  for (int i = 0; i < bound.number; ++i) {
    const auto& earlier = bound.plan.schedule.islands[static_cast<std::size_t>(i)].operators;
    if (contains(earlier, op)) return false;
  }
  return true;
}

}  // namespace

std::int64_t product_points(const BoundIsland& bound, int op) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  return product_points_over(bound, op, domain_of(diagram, diagram.operators[static_cast<std::size_t>(op)]).view());
}

Work work_of(const BoundIsland& bound) {
  Work work;
  for (const int number : bound.island.operators) {
    const Diagram& diagram = bound.plan.schedule.diagram;
    const Operator& op = diagram.operators[static_cast<std::size_t>(number)];
    const Domain domain = domain_of(diagram, op);
    add_operator(bound, number, domain.view(), work);
    if (runs_first_here(bound, number)) add_model_flop(bound, op, domain, work);
  }
  if (const InstanceCode* code = code_of(bound)) add_code_work(bound, *code, work);
  else add_pipes(bound, work);
  if (bound.plan.assumed) add_assumed_work(bound, work);
  return work;
}

}  // namespace tilescope
