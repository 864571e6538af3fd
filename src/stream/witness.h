// Derives streamability: from the folds of a cascade, either the online algorithm that computes them in one pass over
// any split of the axis, with the reason, or the reason why there is none (Napkin, arXiv 2412.03317, section 3.2;
// arXiv 2505.09326, definition 1).
//
// In expressions of a witness a state variable's name is its value before a chunk and name' its value after it. While
// every position so far is masked, a max or min is infinite, and H(-inf) = exp(-inf) has no inverse. Repairs and
// contributions therefore read an infinite state as 0. Any finite reference is correct, provided that the next repair
// starts from the same one.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stream/cascade.h"

namespace tilescope {

// One accumulator. A chunk of positions takes it from v to v' = v*repair (+) fold over the chunk of contribution.
struct StateVariable {
  std::string name;
  std::string fold;  // the fold that this variable serves
  FoldKind kind = FoldKind::sum;
  Expression contribution{};           // over streamed names and the *new* values of earlier state variables
  std::optional<Expression> repair{};  // over old and new values of earlier state variables; empty: 1
  std::vector<std::string> guards{};   // a position where one of these is masked contributes nothing
  std::string shape{};

  double unit() const { return fold_unit(kind); }  // value before the first chunk; a repair leaves the unit unchanged
};

// How one fold of the cascade is recovered from the state.
struct FoldWitness {
  std::string fold;
  int rank = 1;                      // terms of the separable normal form
  Expression value;                  // over state variables
  std::string because;               // one line
  std::vector<std::string> parts{};  // state variables of its terms, also those that cancel out of the value
};

// A section of the finaliser: each state variable set to an output or to 0 or 1. Partial results over parts of the axis
// can then be kept as outputs and still be merged.
struct CompactState {
  std::vector<std::pair<std::string, Expression>> section;  // state variable := expression over outputs
  std::vector<std::string> outputs;                         // those that must be kept
};

struct Witness {
  enum class Kind { map, monoid, moments, state_machine };
  Kind kind = Kind::map;
  std::string axis{};
  std::vector<StateVariable> state{};
  std::vector<FoldWitness> folds{};
  std::vector<Output> finaliser{};         // outputs over state variables and constants; size(axis): positions seen
  std::vector<Output> maps{};              // outputs without folds: the results of chunks are concatenated
  std::vector<std::string> assumptions{};  // assumptions that the rewriting made
  std::optional<CompactState> compact{};
};

std::string to_string(Witness::Kind kind);

struct Refusal {
  std::string fold;    // or output
  std::string reason;  // one line
};

struct DeriveOptions {
  int largest_rank = 64;  // of a separable normal form; 1 accepts repair but no moments
};

// sum: every term of the separable normal form becomes an accumulator; what does not vary along the axis moves to the
// finaliser, except the exponential that keeps a streamed exponential in range, which becomes a repair factor. max,
// min: the part free of the axis moves to the finaliser. product: only without earlier folds. A repair factor is always
// an exponential of finite values, so that it is never zero and its inverse always exists; a factor that is invertible
// only under a condition (1/z: z != 0) is in the finaliser, where the cascade divides by it too.
std::variant<Witness, Refusal> derive_witness(const Cascade& cascade, const DeriveOptions& options = {});

// The value of a state variable after merging two states, over its value and those of earlier variables in `first`
// (name''), in `second` (name''') and already merged (name'): the same repair applied to both sides.
Expression merged_value(const Witness& witness, std::size_t variable);

// The online algorithm, one assignment a line: init, body, merge, final.
std::vector<std::string> equations(const Witness& witness);

}  // namespace tilescope
