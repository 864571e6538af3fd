// A diagram: axes, arrays over axes, operators between arrays (theory: Napkin, arXiv 2412.03317, section 2).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagram/workload.h"

namespace tilescope {

// More than any attention diagram needs; counting keeps its state in arrays of this size.
inline constexpr std::size_t max_axes = 16;
inline constexpr std::size_t max_arrays = 16;

enum class AxisId : int {};
enum class ArrayId : int {};
constexpr std::size_t index(AxisId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t index(ArrayId id) { return static_cast<std::size_t>(id); }

struct Axis {
  std::string name;
  Extent size;
};

enum class ArrayRole { input, interior, output };

struct Array {
  std::string name;
  std::vector<AxisId> axes;  // slowest first; the last one is contiguous in memory
  ArrayRole role;
  std::string dtype_key;  // which --dtype key sets its format: "q", "k", ...

  bool has(AxisId axis) const;
};

enum class OperatorKind {
  contraction,  // sum of products over the axes that its output lacks: 2 FLOP a point
  softmax,      // one exponential a point; streamed, one more a row and step to rescale
};

struct Operator {
  std::string name;
  OperatorKind kind;
  std::optional<AxisId> along;  // softmax: the normalised axis
  std::vector<ArrayId> inputs, outputs;
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
  // Union of the axes of an operator's arrays, in declaration order.
  std::vector<AxisId> axes_of(const Operator& op) const;
};

// Reads models/diagrams/*.yaml. Throws InputError with every finding (unknown axis, array read before it is written,
// an output no operator writes, ...).
Diagram load_diagram(const std::filesystem::path& file);

}  // namespace tilescope
