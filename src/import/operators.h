// Which operators of a framework launch attention, and which of their arguments say what (validate/import/*.yaml).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagram/pass.h"
#include "import/tool_file.h"

namespace tilescope::imported {

// Order of a tensor's axes.
enum class TensorLayout { heads_first, length_first };  // batch, heads, length, dim; batch, length, heads, dim

struct AttentionOperator {
  std::string name;
  Pass pass = Pass::forward;
  TensorLayout layout = TensorLayout::heads_first;
  std::size_t query = 0, key = 1, value = 2;  // positions of arguments
  std::optional<std::size_t> causal;
  std::vector<std::size_t> zero;    // arguments that must be 0, false or absent: dropout
  std::vector<std::size_t> absent;  // tensors that must be absent: a bias, packed lengths
  std::vector<std::size_t> open;    // sizes of a window that must be -1 or absent
  std::string kernel;    // descriptor, or table of calls with a backend: "pytorch:flash"; empty: none describes it
  std::string launches;  // part of the name of its main kernel, where no table of calls has it
};

struct OperatorTable {
  std::vector<AttentionOperator> operators;  // of two that a launch lies in, the one listed first says its point
  std::vector<std::string> aside;            // parts of names of kernels that fill, copy or add up
  const AttentionOperator* find(const std::string& name) const;    // nullptr: not in the table
  std::optional<std::size_t> rank(const std::string& name) const;  // its position
};

OperatorTable load_operators(const std::filesystem::path& file);  // throws InputError with every finding

}  // namespace tilescope::imported

namespace tilescope {
template <>
struct EnumTable<imported::TensorLayout> {
  using Layout = imported::TensorLayout;
  static constexpr std::array rows{NamedKind{Layout::heads_first, "batch heads length dim"},
                                   NamedKind{Layout::length_first, "batch length heads dim"}};
};
}  // namespace tilescope
