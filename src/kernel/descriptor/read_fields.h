// Internal to the descriptor's reader: names are checked against the schedule, findings go to the document.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/contains.h"
#include "base/text.h"
#include "config/read_kind.h"
#include "config/reader.h"
#include "kernel/descriptor/descriptor.h"
#include "kernel/descriptor/found.h"

namespace tilescope::reading {

inline bool is_one_of(const Node& node, const std::vector<std::string>& choices) {
  return node.is_scalar() && contains(choices, node.text());
}

// After a finding `item` may hold a placeholder, which is no repetition.
template <class T>
void add_once(std::vector<T>& list, const T& value, const Node& item) {
  const bool repeated = contains(list, value);
  if (repeated && item.is_scalar()) item.report(fmt::format("'{}' is listed twice", item.text()));
  if (repeated && item.is_map()) item.report("is listed twice; remove one");
  if (!repeated) list.push_back(value);
}

void check_array(const Node& node, const std::string& name, const Diagram& diagram);
std::vector<std::string> read_array_names(const Node& list, const Diagram& diagram);
std::vector<FormatChoice> read_formats(const Node& list, const Diagram& diagram);
void read_shapes(const Node& root, const Node* code, KernelDescriptor& kernel);
IslandImplementation read_island(const Node& node, const Schedule& schedule);
// What machine code and launches tell of it, beside what the descriptor states.
void read_found(const Node& node, const Schedule& schedule, IslandImplementation& island);
bool read_dimensions(const Node& list,
                     std::vector<GridDimension>& dimensions);  // each once; false: an entry names none
// Reports keys of a descriptor that belong into a summary of code.
void refuse_found(const Node& node, const std::vector<std::string>& keys, const char* place);
KernelVariant read_variant(const Node& node, const Schedule& schedule, const std::vector<FormatChoice>& kernel_formats,
                           bool of_code);
// Report what no kernel of the schedule can have: a shape that its instruction has not, another grid, warps that cannot
// share the products, arrays in registers that no product takes, a head_dim without a variant.
void check_mma(const Node& node, TensorPath path, const MmaShape& shape);
void check_block_order(const Node& list, const Schedule& schedule, const Island& island,
                       const std::vector<GridDimension>& order);
void check_head_dims(const Node& root, const KernelDescriptor& kernel);
void check_variant(const Node& node, const Schedule& schedule, const KernelDescriptor& kernel,
                   const KernelVariant& variant);

}  // namespace tilescope::reading
