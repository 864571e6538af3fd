#include "predict/work/assumed_work.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/contains.h"
#include "predict/point/computed_format.h"
#include "predict/point/products.h"
#include "predict/work/conversions.h"
#include "predict/work/masked_scores.h"

namespace tilescope {
namespace {

constexpr std::array pipe_of_operation{Pipe::xu, Pipe::ffma, Pipe::fadd, Pipe::fmul, Pipe::alu, Pipe::conversion};
static_assert(pipe_of_operation.size() == operation_count);

// Elements of whole tiles, as instructions compute them.
std::int64_t executions(const BoundIsland& bound, Moment when, Axes axes) {
  switch (when) {
    case Moment::step:
      return visited_points(bound.nest, bound.whole, axes, true);
    case Moment::leaving:
      return touched_values(bound.finish, bound.whole, axes, {.whole_tiles = true});
    case Moment::last:
      return distinct_values(bound.finish, bound.whole, axes, true);
  }
  return 0;
}

class AssumedWork {
 public:
  AssumedWork(const BoundIsland& bound, Work& work) : work_(work), bound_(bound), scores_(score_array(bound)) {
    if (scores_ >= 0) score_axes_ = bits(bound.plan.schedule.diagram.arrays[static_cast<std::size_t>(scores_)].axes);
  }

  void add(Moment when, Axes axes, const PipeRates& rates) { add(executions(bound_, when, axes), axes, rates); }
  void add(std::int64_t elements, Axes axes, const PipeRates& rates) {
    const bool results = of_results(axes);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (rates[i] == 0) continue;
      const std::int64_t count = std::llround(rates[i] * static_cast<double>(elements));
      work_.pipes[i] = checked_add(work_.pipes[i], count);
      if (results) work_.of_outputs[i] = checked_add(work_.of_outputs[i], count);
    }
  }

 private:
  // Elements of results have an axis that scores lack.
  bool of_results(Axes axes) const { return scores_ >= 0 && (bits(axes) & ~score_axes_) != 0; }

  Work& work_;
  const BoundIsland& bound_;
  int scores_;
  AxisBits score_axes_ = 0;
};

PipeRates rates_of(const OperationCounts& counts) {
  PipeRates rates{};
  for (std::size_t i = 0; i < counts.size(); ++i) rates[static_cast<std::size_t>(pipe_of_operation[i])] = counts[i];
  return rates;
}

PipeRates rates_of(const BoundIsland& bound, const ValueConversion& conversion) {
  switch (conversion.kind) {
    case ValueConversion::Kind::load:
      return unpacking(bound.point.dtypes[index(conversion.array)], Format::fp32, bound.hardware);
    case ValueConversion::Kind::store:
      return packing(bound.point.dtypes[index(conversion.array)]);
    case ValueConversion::Kind::operand:
      break;
  }
  const Operator& op = bound.plan.schedule.diagram.operators[static_cast<std::size_t>(conversion.op)];
  return packing(dtype_of(computes_in(bound, op)));
}

// Scores that the mask cuts: a comparison and a selection.
void add_mask(const BoundIsland& bound, AssumedWork& all) {
  const int scores = score_array(bound);
  if (scores < 0) return;
  const Axes axes = bound.plan.schedule.diagram.arrays[static_cast<std::size_t>(scores)].axes;
  const auto visited = static_cast<double>(executions(bound, Moment::step, axes));
  PipeRates rates{};
  rates[static_cast<std::size_t>(Pipe::alu)] = 2;
  all.add(std::llround(masked_scores(bound, visited)), axes, rates);
}

// Operands that products do not take as they are stored: converted once when a tile arrives where several fetches need
// it, else at each fetch. An array of several products is converted once.
void add_operand_conversions(const BoundIsland& bound, AssumedWork& all) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  std::array<bool, max_arrays> done{};
  for_each_product(bound, [&](const Product& product) {
    for (const Operand& operand : product.operands) {
      const ArrayId source = diagram.array(operand.id).alias_of.value_or(operand.id);
      if (!operand.converted || done[index(source)]) continue;
      done[index(source)] = true;
      Dtype from = bound.point.dtypes[index(operand.id)];
      if (!scales_within_rows(bound, operand.id)) from.scale_group = 0;
      const Axes axes = diagram.array(source).axes;
      const std::int64_t values = touched_values(bound.nest, bound.whole, axes, {.whole_tiles = true});
      all.add(operand.rewritten ? values : checked_mul(values, operand.copies), axes,
              unpacking(from, product.computes_in, bound.hardware));
    }
  });
}

}  // namespace

void add_assumed_work(const BoundIsland& bound, Work& work) {
  const ProgramOperations& operations = bound.plan.operations[static_cast<std::size_t>(bound.number)];
  AssumedWork all(bound, work);
  for (const OperationGroup& group : operations.groups) all.add(group.when, group.axes, rates_of(group.counts));
  for (const ValueConversion& each : operations.conversions)
    if (each.kind != ValueConversion::Kind::operand || bound.how.uses_tensor_cores())
      all.add(each.when, each.axes, rates_of(bound, each));
  add_operand_conversions(bound, all);
  if (operations.masked) add_mask(bound, all);
}

}  // namespace tilescope
