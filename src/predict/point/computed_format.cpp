#include "predict/point/computed_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/contains.h"

namespace tilescope {
namespace {

const FormatRow& row_of(const BoundIsland& bound, ArrayId id) {
  return properties(bound.point.dtypes[index(id)].format);
}

bool is_block(const FormatRow& row) { return row.element != row.value; }

// Whether every value of one format is a value of the other. Scaled values of a block format have its row's exponent.
bool holds(const FormatRow& wide, const FormatRow& narrow) {
  if (wide.value == narrow.value) return true;
  if (wide.exponent == 0) return narrow.exponent == 0 && wide.fraction >= narrow.fraction;
  if (narrow.exponent > 0) return wide.exponent >= narrow.exponent && wide.fraction >= narrow.fraction;
  return wide.fraction + 1 >= narrow.fraction && (1 << (wide.exponent - 1)) > narrow.fraction;
}

bool has_rate(const BoundIsland& bound, Format format) { return bound.hardware.tensor_flop_per_cycle.contains(format); }

// Scales lie along the array's last axis; the product has to sum over it.
bool scales_along_sum(const BoundIsland& bound, const Operator& op, ArrayId id) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  return !diagram.array(op.outputs.front()).has(diagram.array(id).axes.back());
}

Format stored_as_tensor(Format format) { return format == Format::fp32 ? Format::tf32 : format; }

// The narrowest format of the tensor cores that holds the operands' values; nullptr: none.
const FormatRow* narrowest(const BoundIsland& bound, const Operator& op, bool scaled) {
  const FormatRow* best = nullptr;
  const auto rank = [&](const FormatRow& row) {
    bool all = true;
    for (const ArrayId id : op.inputs) all = all && holds(row, row_of(bound, id));
    return std::tuple(row.bits, !all, -row.fraction);
  };
  for (const auto& [format, rate] : bound.hardware.tensor_flop_per_cycle) {
    const FormatRow& row = properties(format);
    bool fits = !is_block(row) && (!scaled || row.bits >= 16);
    for (const ArrayId id : op.inputs)
      fits = fits && holds(row, properties(stored_as_tensor(row_of(bound, id).element)));
    if (fits && (!best || rank(row) < rank(*best))) best = &row;
  }
  return best;
}

}  // namespace

bool scales_within_rows(const BoundIsland& bound, ArrayId id) {
  const Dtype& dtype = bound.point.dtypes[index(id)];
  return dtype.scale_group > 0 &&
         dtype.scale_group < bound.nest.size(bound.plan.schedule.diagram.array(id).axes.back());
}

ComputedFormat computed_format(const BoundIsland& bound, const Operator& op) {
  ComputedFormat found;
  found.wanted = row_of(bound, op.inputs.front()).value;
  for (const ArrayId id : op.inputs)
    if (row_of(bound, id).bits > bits(found.wanted)) found.wanted = row_of(bound, id).value;
  found.format = found.wanted = stored_as_tensor(found.wanted);
  if (bound.hardware.tensor_flop_per_cycle.empty()) return found;
  const FormatRow& wanted = properties(found.wanted);
  bool scaled = false, same_blocks = is_block(wanted), held = true;
  for (const ArrayId id : op.inputs) {
    const FormatRow& row = row_of(bound, id);
    const bool along = scales_along_sum(bound, op, id);
    same_blocks = same_blocks && along && is_block(row) && row.scales == wanted.scales;
    if (scales_within_rows(bound, id) || is_block(row)) {
      if (!scaled || !along) found.array = id;
      scaled = true;
    }
    held = held && (holds(wanted, properties(row.element)) || (wanted.bits >= 16 && row.bits >= 16));
  }
  if (has_rate(bound, found.wanted) && (same_blocks || (!is_block(wanted) && held && (!scaled || wanted.bits >= 16))))
    return found;
  found.why = !has_rate(bound, found.wanted) ? OtherFormat::lacking
              : scaled                       ? OtherFormat::scales
                                             : OtherFormat::not_held;
  if (const FormatRow* row = narrowest(bound, op, scaled)) found.format = row->value;
  else found.why = OtherFormat::no;  // the GPU cannot compute it
  return found;
}

bool needs_conversion(const BoundIsland& bound, ArrayId operand, Format computes_in) {
  const FormatRow &from = row_of(bound, operand), &to = properties(computes_in);
  if (from.value == to.value) return !is_block(to) && to.bits < 32 && scales_within_rows(bound, operand);
  if (is_block(to)) return from.scales != to.scales;
  if (from.value == Format::fp32 || from.value == Format::tf32) return false;
  const bool small = from.exponent > 0 && to.exponent > 0 && from.bits <= 8 && to.bits <= 8;
  return !(small && !is_block(from) && has_rate(bound, from.value) && has_rate(bound, to.value));
}

std::string computed_format_reason(const BoundIsland& bound, const Operator& op) {
  const ComputedFormat found = computed_format(bound, op);
  const Diagram& diagram = bound.plan.schedule.diagram;
  switch (found.why) {
    case OtherFormat::no:
      return {};
    case OtherFormat::lacking:
      return fmt::format("the tensor cores of {} have no {}", bound.hardware.name, to_string(found.wanted));
    case OtherFormat::scales: {
      const std::string &array = diagram.array(found.array).name,
                        &axis = diagram.axes[index(diagram.array(found.array).axes.back())].name;
      return fmt::format("{} has scales along {}, {}", array, axis,
                         scales_along_sum(bound, op, found.array) ? "which no instruction applies inside the sum"
                                                                  : "which the product does not sum over");
    }
    case OtherFormat::not_held:
      return fmt::format("{} does not hold the values of both operands", to_string(found.wanted));
  }
  return {};
}

}  // namespace tilescope
