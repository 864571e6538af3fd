// Finds the loop of a kernel that computes attention, and what one pass of it computes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_table.h"
#include "kernel/code/summary/code_summary.h"
#include "kernel/code/summary/products.h"

namespace tilescope {

constexpr std::int64_t warp_lanes = 32;

// What a loop computes: outputs by a loop over keys, or by one over queries inside of one over keys; or gradients: all
// of them, those of K and V, or that of Q.
enum class AttentionPass { forward, forward_queries, backward, backward_keys, backward_queries };
template <>
struct EnumTable<AttentionPass> {
  static constexpr std::array rows{
      NamedKind{AttentionPass::forward, "forward"}, NamedKind{AttentionPass::forward_queries, "forward_queries"},
      NamedKind{AttentionPass::backward, "backward"}, NamedKind{AttentionPass::backward_keys, "backward_keys"},
      NamedKind{AttentionPass::backward_queries, "backward_queries"}};
};

// How units (warps or warpgroups) share the rows and the columns of a product's tile.
struct UnitGrid {
  std::int64_t rows = 0, columns = 0;  // 0: by the rule of descriptors
};

// Of a loop whose products stand in loops inside of it, or of which other warps compute parts.
struct NestedProducts {
  std::optional<std::size_t> scores{}, values{};  // the loops inside that hold them; none: the loop itself
  std::int64_t score_passes = 1;                  // of the loop inside; 0: the launch decides
  std::vector<std::size_t> helpers{};             // loops of other warps that add to further columns of the values
  UnitGrid score_grid{}, value_grid{};
};

// A loop over keys: S = Q K^T, exponentials of S, O = O + P V. A unit is what shares a matrix instruction: a warp, or a
// warpgroup.
struct AttentionLoop {
  std::size_t loop = 0;  // of CodeSummary::loops
  AttentionPass pass = AttentionPass::forward;
  bool p_in_registers = false;        // of gradients: P and dS are operands in registers
  std::vector<std::size_t> masked{};  // other loops with the same products: tiles that a mask cuts
  MatrixProduct scores{}, values{};   // of one unit
  std::int64_t rows = 0, keys = 0;    // of a unit in one pass
  bool transposed = false;            // the instruction's rows are keys and columns of the values, its columns are rows
  std::int64_t head_dim = 0, v_head_dim = 0;
  std::int64_t score_parts = 1;  // a score is the sum of so many products: of groups of values with a scale each
  bool scores_ahead = false;  // no exponential stands between the scores and the values of a pass: its scores are those
                              // of the next step
  bool q_loaded = false;      // every pass loads the left operand of the scores into registers
  bool q_loaded_once = false;  // some passes do, such as the first

  std::optional<NestedProducts> nested{};

  std::int64_t unit_threads() const { return scores.instruction.threads; }
  std::int64_t scores_of_thread() const { return rows * keys / unit_threads(); }
};

struct FoundLoop {
  std::optional<AttentionLoop> loop{};
  std::string missing{};  // without a loop: what the code does not have
};

// The scores are the product that starts anew in each pass, the values the one that adds to what earlier passes left
// (Dao et al. 2022, algorithm 1). With rows x keys scores of a unit: keys is the depth of the values, rows the number
// of scores over keys, head_dim the depth of the scores, v_head_dim the number of results over rows. Of several such
// loops the one with the fewest instructions is the loop; the others are `masked`.
FoundLoop attention_loop(const CodeSummary& code);

// Whether a block stands in a loop, or in a loop inside of it.
bool stands_in(const CodeSummary& code, const CodeBlock& block, std::size_t loop);

// Instructions of a loop without those of inner loops, in the order of their addresses.
std::vector<const Instruction*> loop_code(const CodeSummary& code, const CodeLoop& loop);

}  // namespace tilescope
