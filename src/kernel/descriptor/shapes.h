// For which sizes of a call its software launches a kernel, and into how many parts the host cuts the keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expression.h"

namespace tilescope {

// Values of the names in a condition.
using NamedSizes = std::map<std::string, double, std::less<>>;

// "q_len > 1 or heads_q == heads_kv", "kv_len % 64 == 0": comparisons of expressions, joined by `and` and `or`; `and`
// binds tighter. A side may end with `% EXPRESSION`.
class Condition {
 public:
  // Throws std::invalid_argument with one line for a text that is no condition, uses another name than `names` or
  // divides by a constant zero.
  Condition(std::string_view text, const std::vector<std::string>& names);

  // `sizes`: of all names that the condition uses. Throws InputError where a side that matters is no finite number.
  bool holds(const NamedSizes& sizes) const;
  const std::string& text() const { return text_; }
  std::vector<std::string> names() const;                // in order of first use
  std::string values_in(const NamedSizes& sizes) const;  // "q_len 1, heads_q 32"

 private:
  enum class Relation { equal, unequal, less, at_most, greater, at_least };
  struct Side {
    Expression value;
    std::optional<Expression> modulus;
    double in(const NamedSizes& sizes) const;
  };
  struct Compared {
    Side left, right;
    Relation relation = Relation::equal;
    bool holds(const NamedSizes& sizes) const;
  };
  Side read_side(std::string_view text, const std::vector<std::string>& names) const;
  Compared read_compared(std::string_view text, const std::vector<std::string>& names) const;

  std::string text_;
  std::vector<std::vector<Compared>> any_of_;  // one of these lists, all of its members
};

// A condition that the software's calls of the kernel meet, why, and the kernel that is launched where it does not
// hold.
struct ShapeRule {
  Condition when;
  std::string reason, instead;  // instead: a kernel's name; empty: none is described
};

// How the host chooses the parts of the keys, as FlashAttention-2's num_splits_heuristic does: one part where the
// blocks of one part nearly fill the GPU, else the fewest parts whose last wave is nearly as full as the best number's.
struct HostSplits {
  std::int64_t rows = 0;                      // query rows of a block
  std::map<std::int64_t, std::int64_t> keys;  // of a block, by the smallest head_dim listed that holds the point's
  std::int64_t blocks_per_sm = 1, most = 1;
  double full = 1, near_best = 1;
  bool packs_one_query = false;  // a single query's heads of a KV head are rows of one block
};

// The number of parts that the host chooses on a GPU of so many multiprocessors.
std::int64_t chosen_splits(const HostSplits& host, std::int64_t multiprocessors, const NamedSizes& sizes);

// Names of sizes that a condition may use.
const std::vector<std::string>& size_names();

}  // namespace tilescope
