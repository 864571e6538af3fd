#include <algorithm>
#include <cmath>

#include "base/contains.h"
#include "derive/nests/nests.h"
#include "expr/evaluate.h"
#include "schedule/folds.h"

namespace tilescope {
namespace {

// Whether the merge reads a fold whose own state cancels out (the sum of weights times L is L): of a part to which the
// mask leaves nothing it is the unit of the fold, which is not what the state says.
bool empty_part_differs(const Witness& witness) {
  const auto guarded = [](const StateVariable& variable) { return !variable.guards.empty(); };
  if (std::none_of(witness.state.begin(), witness.state.end(), guarded)) return false;
  return std::any_of(witness.folds.begin(), witness.folds.end(), [&](const FoldWitness& fold) {
    const auto read = [&](const auto& state) { return state.second.uses(fold.fold); };
    const auto own = [&](const StateVariable& variable) {
      return variable.fold == fold.fold && contains(fold.parts, variable.name);
    };
    return std::any_of(witness.compact->section.begin(), witness.compact->section.end(), read) &&
           std::none_of(witness.state.begin(), witness.state.end(), own);
  });
}

// The state of a part to which the mask leaves nothing, before it is merged into a state of ones.
class EmptyPart : public Lookup {
 public:
  explicit EmptyPart(const Witness& witness) : witness_(witness) {}
  double array(const std::string& name) const override {
    for (const StateVariable& variable : witness_.state)
      if (variable.name == name && !std::isfinite(variable.unit())) return variable.unit();
    return 1;
  }
  double index(const std::string&) const override { return 1; }
  double size(const std::string&) const override { return 1; }

 private:
  const Witness& witness_;
};

// What a kernel leaves of an array in such a part; 1 for what it loads.
class EmptyValue : public Lookup {
 public:
  EmptyValue(const Primitives& primitives, const Region& region) : primitives_(primitives), region_(region) {}
  double array(const std::string& name) const override {
    const int number = primitives_.producer(*primitives_.diagram.find_array(name));
    if (number < 0 || !contains(region_.primitives, number)) return 1;
    const Primitive& primitive = primitives_.list[static_cast<std::size_t>(number)];
    return primitive.fold ? fold_unit(*primitive.fold) : evaluate(primitive.body, *this);
  }
  double index(const std::string&) const override { return 1; }
  double size(const std::string&) const override { return 1; }

 private:
  const Primitives& primitives_;
  const Region& region_;
};

// Whether a map that the merge reads in place of a maximum is infinite in such a part, as the maximum is.
bool empty_part_says_maximum(const Primitives& primitives, const Region& region, const Witness& witness) {
  if (!witness.compact) return true;
  return std::all_of(witness.compact->section.begin(), witness.compact->section.end(), [&](const auto& state) {
    const auto is = [&](const StateVariable& variable) { return variable.name == state.first; };
    const auto variable = std::find_if(witness.state.begin(), witness.state.end(), is);
    return variable->guards.empty() || std::isfinite(variable->unit()) ||
           evaluate(state.second, EmptyValue(primitives, region)) == variable->unit();
  });
}

// Whether such a part is repaired by a finite factor: exp(m - m') is 0, and exp(m' - m) would be infinite.
bool merges_empty_parts(const Witness& witness) {
  return std::all_of(witness.state.begin(), witness.state.end(), [&](const StateVariable& variable) {
    return variable.guards.empty() || !variable.repair || std::isfinite(evaluate(*variable.repair, EmptyPart(witness)));
  });
}

// Whether the state that a part ends with follows from its results: the merge of parts needs it.
bool results_say_state(const Primitives& primitives, const FusedKernel& kernel, const Witness& witness) {
  return std::all_of(witness.state.begin(), witness.state.end(), [&](const StateVariable& variable) {
    const auto is_of = [&](const auto& state) { return state.first == variable.name; };
    if (witness.compact && std::any_of(witness.compact->section.begin(), witness.compact->section.end(), is_of))
      return !empty_part_differs(witness);
    // A fold whose value is not its state, such as a mean, does not say it.
    const auto derived = [&](const FoldWitness& fold) {
      return fold.fold == variable.fold && to_text(fold.value) != variable.name;
    };
    return std::none_of(witness.folds.begin(), witness.folds.end(), derived) &&
           std::any_of(kernel.region.results.begin(), kernel.region.results.end(),
                       [&](ArrayId id) { return primitives.array(id).name == variable.name; });
  });
}

// Whether the value is a fold over the axis or follows from such folds alone: a merge of parts loads nothing else.
bool follows_from_folds(const Primitives& primitives, const Island& island, ArrayId id, AxisId axis) {
  const int producer = primitives.producer(id);
  if (producer < 0) return false;
  const Primitive& primitive = primitives.list[static_cast<std::size_t>(producer)];
  if (!contains(island.operators, primitive.op)) return false;
  return primitive.folds(axis) || (!primitive.inputs.empty() &&
                                   std::all_of(primitive.inputs.begin(), primitive.inputs.end(), [&](ArrayId input) {
                                     return follows_from_folds(primitives, island, input, axis);
                                   }));
}

}  // namespace

// Whether blocks may fold parts of the axis, to be merged.
bool KernelRules::parts_merge(const FusedKernel& kernel, const Island& island, AxisId axis) const {
  const Streamability& stream = axes_.at(axis);
  return stream.kind == Streamability::Kind::folded && mergeable(*primitives_, kernel.region, axis) &&
         merges_empty_parts(*stream.witness) && empty_part_says_maximum(*primitives_, kernel.region, *stream.witness) &&
         results_say_state(*primitives_, kernel, *stream.witness) &&
         std::all_of(kernel.region.results.begin(), kernel.region.results.end(), [&](ArrayId id) {
           const std::vector<AxisId> folded = folded_axes(*primitives_, island, id);
           return !contains(folded, axis) || follows_from_folds(*primitives_, island, id, axis);
         });
}

// A part that is not streamed is one step, in a loop of its own: outside the first stream that moves no result of it.
AxisLoops KernelRules::with_step_of_parts(AxisLoops loops) const {
  const auto cut = std::find_if(loops.begin(), loops.end(), [](const AxisLoop& loop) { return loop.parts; });
  if (cut == loops.end()) return loops;
  const AxisLoop step{cut->axis, Partition::stream};
  if (contains(loops, step)) return loops;
  const auto first = std::find_if(loops.begin(), loops.end(), [&](const AxisLoop& loop) {
    return loop.partition == Partition::stream &&
           std::any_of(results_.begin(), results_.end(), [&](const Result& result) {
             return (result.folded >> index(step.axis) & 1U) != 0 && (result.axes >> index(loop.axis) & 1U) == 0;
           });
  });
  loops.insert(first, step);
  return loops;
}

}  // namespace tilescope
