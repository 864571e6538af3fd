#include <algorithm>
#include <functional>
#include <set>

#include "base/contains.h"
#include "derive/nests/nests.h"

namespace tilescope {
namespace {

// What a fold is made of: names of arrays and, where its witness along an axis is used, of state variables.
struct Parts {
  std::vector<std::string> names{};
  const Witness* witness = nullptr;
};

std::string without_prime(std::string name) {
  if (name.ends_with('\'')) name.pop_back();
  return name;
}

class Needs {
 public:
  Needs(const Primitives& primitives, const Region& region, const std::map<AxisId, Streamability>& axes)
      : primitives_(primitives), region_(region), axes_(axes) {}

  const Primitive* producer(ArrayId id) const {
    const int number = primitives_.producer(id);
    return number >= 0 && contains(region_.primitives, number) ? &primitives_.list[static_cast<std::size_t>(number)]
                                                               : nullptr;
  }

  // Of a view.
  const std::optional<ArrayId>& source_of(ArrayId id) const { return primitives_.array(id).alias_of; }

  bool follows_a_fold(const Primitive& fold) const {
    return tilescope::follows_a_fold(fold, [this](ArrayId id) { return producer(id); });
  }

  // The fold streamed along the axis.
  Parts streamed(const Primitive& fold, AxisId axis) const {
    const auto known = axes_.find(axis);
    if (known == axes_.end() || !known->second.witness || !follows_a_fold(fold)) return {};
    Parts parts{.witness = &*known->second.witness};
    for (const FoldWitness& one : parts.witness->folds) {
      if (one.fold != primitives_.array(fold.output).name) continue;
      parts.names = one.value.arrays();
      if (masked(fold)) parts.names.insert(parts.names.end(), one.parts.begin(), one.parts.end());
      return parts;
    }
    return {};
  }

  std::vector<std::string> of_variable(const StateVariable& variable) const {
    std::vector<std::string> names = variable.contribution.arrays();
    if (variable.repair)
      for (const std::string& name : variable.repair->arrays()) names.push_back(name);
    if (const auto fold = primitives_.diagram.find_array(variable.fold))
      if (const Primitive* made = producer(*fold))
        for (const ArrayId place : made->reads) names.push_back(primitives_.array(place).name);
    return names;
  }

  static const StateVariable* variable(const Witness* witness, const std::string& name) {
    if (!witness) return nullptr;
    for (const StateVariable& one : witness->state)
      if (one.name == without_prime(name)) return &one;
    return nullptr;
  }
  std::optional<ArrayId> array(const std::string& name) const {
    return primitives_.diagram.find_array(without_prime(name));
  }

  static std::vector<ArrayId> sources(const Primitive& primitive) {
    std::vector<ArrayId> all = primitive.inputs;
    all.insert(all.end(), primitive.reads.begin(), primitive.reads.end());
    return all;
  }

 private:
  bool masked(const Primitive& fold) const {
    const auto& guard = primitives_.diagram.guard;
    return guard && std::any_of(fold.inputs.begin(), fold.inputs.end(), [&](ArrayId id) {
             return primitives_.array(id).has(guard->query) && primitives_.array(id).has(guard->key);
           });
  }

  const Primitives& primitives_;
  const Region& region_;
  const std::map<AxisId, Streamability>& axes_;
};

// Everything that the results need where each fold is streamed along the first loop that cuts it.
class Reached {
 public:
  Reached(const Needs& needs, const std::function<std::optional<AxisId>(const Primitive&)>& cut)
      : needs_(needs), cut_(cut) {}

  void add(ArrayId id) {
    if (!seen_.insert(id).second) return;
    if (const auto& source = needs_.source_of(id)) add(*source);
    const Primitive* made = needs_.producer(id);
    if (!made) return;
    const std::optional<AxisId> axis = made->fold ? cut_(*made) : std::nullopt;
    const Parts parts = axis ? needs_.streamed(*made, *axis) : Parts{};
    if (!parts.witness)
      for (const ArrayId input : Needs::sources(*made)) add(input);
    for (const std::string& name : parts.names) add(name, parts.witness);
  }
  bool reached(ArrayId id) const { return seen_.contains(id); }

 private:
  void add(const std::string& name, const Witness* witness) {
    if (const StateVariable* variable = Needs::variable(witness, name)) {
      if (!variables_.insert(variable).second) return;
      for (const std::string& part : needs_.of_variable(*variable)) add(part, witness);
    } else if (const auto id = needs_.array(name)) add(*id);
  }

  const Needs& needs_;
  const std::function<std::optional<AxisId>(const Primitive&)>& cut_;
  std::set<ArrayId> seen_;
  std::set<const StateVariable*> variables_;
};

}  // namespace

void KernelRules::find_spread_state(const Primitive& fold) {
  const Needs needs(*primitives_, region_, axes_);
  const std::string& name = primitives_->array(fold.output).name;
  for (const AxisId axis : fold.folded) {
    const auto& witness = axes_.at(axis).witness;
    if (!witness || !needs.follows_a_fold(fold)) continue;
    const auto of_fold = [&](const StateVariable& variable) { return variable.fold == name; };
    if (std::count_if(witness->state.begin(), witness->state.end(), of_fold) != 1 || !Needs::variable(&*witness, name))
      spread_.emplace_back(fold.output, axis);
  }
}

std::vector<ArrayId> KernelRules::unread(const AxisLoops& loops) const {
  const Needs needs(*primitives_, region_, axes_);
  std::vector<AxisId> order;  // of the loops that take the steps of a fold
  for (const AxisLoop& loop : with_step_of_parts(loops))
    if (!loop.parts) order.push_back(loop.axis);
  std::vector<int> cuts;
  const std::function<std::optional<AxisId>(const Primitive&)> cut =
      [&](const Primitive& fold) -> std::optional<AxisId> {
    for (const AxisId axis : order)
      if (fold.folds(axis)) return axis;
    return std::nullopt;
  };
  for (const Folding& fold : folds_) {
    const auto axis = cut(*needs.producer(fold.id));
    cuts.push_back(axis ? static_cast<int>(index(*axis)) : -1);
  }
  const auto [known, fresh] = unread_.try_emplace(cuts);
  if (!fresh) return known->second;
  Reached reached(needs, cut);
  for (const ArrayId result : region_.results) reached.add(result);
  for (const Load& load : loads_)
    if (!reached.reached(load.id)) known->second.push_back(load.id);
  return known->second;
}

bool KernelRules::avoids(ArrayId array, ArrayId result) const {
  const Needs needs(*primitives_, region_, axes_);
  std::map<ArrayId, bool> known;
  std::function<bool(const std::string&, const Witness*)> avoids_name;
  const std::function<bool(ArrayId)> avoids_it = [&](ArrayId id) -> bool {
    if (id == array) return false;
    const Primitive* made = needs.producer(id);
    if (!made) return true;
    const auto [answer, fresh] = known.try_emplace(id, false);
    if (!fresh) return answer->second;
    const std::vector<ArrayId> sources = Needs::sources(*made);
    bool avoided = std::all_of(sources.begin(), sources.end(), avoids_it);
    for (std::size_t i = 0; i < made->folded.size() && !avoided; ++i) {
      const Parts parts = needs.streamed(*made, made->folded[i]);
      avoided = parts.witness && std::all_of(parts.names.begin(), parts.names.end(),
                                             [&](const std::string& name) { return avoids_name(name, parts.witness); });
    }
    return known[id] = avoided;
  };
  avoids_name = [&](const std::string& name, const Witness* witness) {
    if (const StateVariable* variable = Needs::variable(witness, name)) {
      const std::vector<std::string> names = needs.of_variable(*variable);
      return std::all_of(names.begin(), names.end(), [&](const std::string& part) {
        return without_prime(part) == variable->name || avoids_name(part, witness);
      });
    }
    const auto id = needs.array(name);
    return !id || avoids_it(*id);
  };
  return avoids_it(result);
}

}  // namespace tilescope
