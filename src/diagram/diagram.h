// A diagram: axes, arrays over axes, operators between arrays (Napkin, arXiv 2412.03317, section 2).
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "diagram/workload.h"
#include "expr/expression.h"
#include "stream/cascade.h"

namespace tilescope {

// More than any attention diagram needs; counting keeps its state in arrays of this size.
inline constexpr std::size_t max_axes = 16;
inline constexpr std::size_t max_arrays = 32;

enum class AxisId : int {};
enum class ArrayId : int {};
constexpr std::size_t index(AxisId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t index(ArrayId id) { return static_cast<std::size_t>(id); }

struct Axis {
  std::string name, size;             // size: an extent of the workload or a name from the diagram's `sizes`
  std::optional<Extent> extent{};     // of the workload
  std::int64_t length = 0;            // where the size is the diagram's own: its value
  std::optional<AxisId> chunks_of{};  // this axis counts the chunks that a split cuts another axis into
  std::int64_t per = 1;               // the axis counts groups of so many of the extent: pages of keys
  std::int64_t usual = 0;             // of the extent, where neither an option nor a workload gives it; 0: none

  std::int64_t size_in(const Workload& workload) const {
    return extent ? ceil_div(workload.size(*extent), per) : length;
  }
};

enum class ArrayRole { input, interior, output };
template <>
struct EnumTable<ArrayRole> {
  static constexpr std::array rows{NamedKind{ArrayRole::input, "input"}, NamedKind{ArrayRole::interior, "interior"},
                                   NamedKind{ArrayRole::output, "output"}};
};

struct Array {
  std::string name;
  std::vector<AxisId> axes;  // slowest first; the last one is contiguous in memory
  ArrayRole role;
  std::string dtype_key;  // which --dtype key sets its format: "q", "k", ...
  std::optional<ArrayId>
      alias_of{};  // a view of another input (MLA: V is the first columns of the latent): never moved twice

  bool has(AxisId axis) const {  // the list is short: a plain loop is faster than std::find
    for (const AxisId each : axes)
      if (each == axis) return true;
    return false;
  }
};

enum class OperatorKind {
  contraction,  // sum of products over the axes that its output lacks: 2 FLOP a point
  softmax,      // one exponential a point; streamed, one more a row and step to rescale
  pointwise,    // an expression of its inputs, broadcast to the union of their axes
  reduction,    // a fold of an expression over some axes
  merge,        // partial results of a split fold joined over its chunks; only schedules add it
};
struct OperatorKindRow {
  OperatorKind value;
  std::string_view name;
  bool in_files;        // a diagram may name it
  bool has_expression;  // it computes an expression, which names its inputs
};
template <>
struct EnumTable<OperatorKind> {
  static constexpr std::array rows{OperatorKindRow{OperatorKind::contraction, "contraction", true, false},
                                   OperatorKindRow{OperatorKind::softmax, "softmax", true, false},
                                   OperatorKindRow{OperatorKind::pointwise, "pointwise", true, true},
                                   OperatorKindRow{OperatorKind::reduction, "reduction", true, true},
                                   OperatorKindRow{OperatorKind::merge, "merge", false, false}};
};

struct Operator {
  std::string name;
  OperatorKind kind;
  std::optional<AxisId> along{};  // softmax: the normalised axis
  std::vector<ArrayId> inputs{}, outputs{};
  FoldKind fold = FoldKind::sum;           // reduction
  std::vector<AxisId> over{};              // reduction: the folded axes
  std::optional<Expression> expression{};  // pointwise, reduction: of the arrays by name
  std::vector<ArrayId> reads{};            // inputs that hold places, not values: a block table
};

// The two axes a mask relates.
struct GuardAxes {
  AxisId query, key;
};

struct Diagram {
  std::string name, summary;
  std::vector<Axis> axes;
  std::vector<Array> arrays;
  std::vector<Operator> operators;
  std::optional<GuardAxes> guard;

  const Array& array(ArrayId id) const { return arrays[index(id)]; }
  std::optional<AxisId> find_axis(const std::string& axis_name) const;
  std::optional<ArrayId> find_array(const std::string& array_name) const;
  // Arrays an operator fetches: its inputs and what it reads to find them.
  std::vector<ArrayId> fetched_by(const Operator& op) const;
  // Union of the axes of an operator's arrays, in declaration order.
  std::vector<AxisId> axes_of(const Operator& op) const;
};

// The workload as a mask sees it: q_len and kv_len are the sizes of the axes that the diagram's guard relates.
inline Workload guarded_lengths(const Diagram& diagram, Workload workload) {
  if (!diagram.guard) return workload;
  const std::int64_t queries = diagram.axes[index(diagram.guard->query)].size_in(workload),
                     keys = diagram.axes[index(diagram.guard->key)].size_in(workload);
  workload.q_len = queries, workload.kv_len = keys;
  return workload;
}

// The size of an extent that the diagram states as `default`; 0: none.
std::int64_t usual_size(const Diagram& diagram, Extent extent);

// Gives the diagram's own sizes other values. Throws InputError for a name that is not one of them.
void set_size(Diagram& diagram, const std::string& size, std::int64_t value);

// Reads models/diagrams/*.yaml. Throws InputError with every finding (unknown axis, array read before it is written,
// an output no operator writes, ...).
Diagram load_diagram(const std::filesystem::path& file);

}  // namespace tilescope
