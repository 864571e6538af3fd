#include "program/construct/merges.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/contains.h"
#include "diagram/streamability.h"
#include "schedule/folds.h"

namespace tilescope {
namespace {

using Names = std::map<std::string, Expression, std::less<>>;

class MergeExpansion {
 public:
  MergeExpansion(const Schedule& schedule, const Primitives& primitives, int op)
      : source_(primitives),
        op_(op),
        merge_(schedule.diagram.operators[static_cast<std::size_t>(op)]),
        chunks_(merge_.over.front()),
        of_(*schedule.diagram.axes[index(chunks_)].chunks_of) {
    const auto leaves = [&](const Island& island) { return schedule.writes(island, merge_.inputs.front()); };
    const auto parts = std::find_if(schedule.islands.begin(), schedule.islands.end(), leaves);
    if (parts == schedule.islands.end()) throw NoProgram{"no island leaves the parts that are merged"};
    inside_ = primitives_of(primitives, *parts);
  }

  // Adds to `out`, which has the source's diagram and no primitive of the merged results.
  void run(Primitives& out) {
    const auto cascade = cascade_along(source_, {.primitives = inside_, .results = merge_.outputs}, of_);
    if (const auto* refusal = std::get_if<Refusal>(&cascade)) throw NoProgram{refusal->reason};
    auto found = derive_witness(std::get<Cascade>(cascade));
    if (const auto* refusal = std::get_if<Refusal>(&found)) throw NoProgram{refusal->reason};
    witness_ = std::get<Witness>(std::move(found));
    find_sections();
    for (const int number : inside_) add(source_.list[static_cast<std::size_t>(number)], out);
  }

 private:
  // What a part's state is, in terms of what it left in memory.
  void find_sections() {
    Names parts;
    for (std::size_t i = 0; i < merge_.inputs.size(); ++i)
      parts.emplace(source_.array(merge_.outputs[i]).name,
                    Expression::array(source_.diagram.array(merge_.inputs[i]).name));
    if (witness_.compact)
      for (const auto& [state, value] : witness_.compact->section) sections_.emplace(state, substitute(value, parts));
    for (const StateVariable& variable : witness_.state) {
      const auto part = parts.find(variable.name);
      if (part != parts.end()) sections_.try_emplace(variable.name, part->second);
      if (!sections_.contains(variable.name))
        throw NoProgram{fmt::format("the parts do not say what {} was", variable.name)};
    }
  }

  // A part's contribution to the state of all: its own, repaired from the part's state to that of all.
  Expression contribution(const StateVariable& variable, Primitives& out) {
    Expression value = sections_.at(variable.name);
    if (!variable.repair) return value;
    Names sides = sections_;
    for (const StateVariable& earlier : witness_.state)
      if (variable.repair->uses(earlier.name + "'")) sides.emplace(earlier.name + "'", merged(earlier, out));
    return value * substitute(*variable.repair, sides);
  }

  const FoldWitness* known(const std::string& fold) const {
    for (const FoldWitness& one : witness_.folds)
      if (one.fold == fold) return &one;
    return nullptr;
  }
  // Whether the fold's value is the variable.
  bool plain(const StateVariable& variable) const {
    const FoldWitness* fold = known(variable.fold);
    return variable.name == variable.fold && fold && fold->value == Expression::array(variable.name);
  }
  const StateVariable* variable_of(const std::string& name) const {
    for (const StateVariable& variable : witness_.state)
      if (variable.name == name) return &variable;
    return nullptr;
  }

  // The variable's value over all parts: the fold that it is, or a fold of its own.
  Expression merged(const StateVariable& variable, Primitives& out) {
    if (plain(variable)) return Expression::array(variable.name);
    if (const auto made = merged_.find(variable.name); made != merged_.end()) return made->second;
    Array array = source_.array(*source_.diagram.find_array(variable.fold));
    array.name = variable.name + "_all", array.role = ArrayRole::interior;
    while (out.diagram.find_array(array.name)) array.name += "_";
    const Expression body = contribution(variable, out);
    const auto id = static_cast<ArrayId>(static_cast<int>(out.diagram.arrays.size()));
    out.diagram.arrays.push_back(array);
    push({.name = array.name, .output = id, .fold = variable.kind, .folded = {chunks_}, .body = body}, out);
    return merged_.emplace(variable.name, Expression::array(array.name)).first->second;
  }

  // A fold over the axis: over all parts of what its value is made of, if that is its own state alone; else its value
  // over the state of all.
  void add_fold(const Primitive& primitive, Primitives& out) {
    const std::string& name = source_.array(primitive.output).name;
    const FoldWitness* fold = known(name);
    const auto own = [&](const std::string& part) { return variable_of(part)->fold == name; };
    bool direct = fold && std::all_of(fold->parts.begin(), fold->parts.end(), own);
    for (const std::string& part : fold->value.arrays())
      if (const StateVariable* variable = variable_of(part); variable && variable->fold != name)
        direct = direct && plain(*variable);
    Names values;
    for (const std::string& part : fold->value.arrays())
      if (const StateVariable* variable = variable_of(part))
        if (!direct || variable->fold == name)
          values.emplace(part, direct ? contribution(*variable, out) : merged(*variable, out));
    Primitive made{.name = primitive.name, .output = primitive.output, .body = substitute(fold->value, values)};
    if (direct) made.fold = primitive.fold, made.folded = {chunks_};
    push(std::move(made), out);
  }

  // A fold over the axis; maps of such values as they are.
  void add(const Primitive& primitive, Primitives& out) {
    if (primitive.folds(of_)) return add_fold(primitive, out);
    const auto merged = [&](ArrayId id) { return complete_.contains(id); };
    if (!source_.array(primitive.output).has(of_) && !primitive.fold &&
        std::any_of(primitive.inputs.begin(), primitive.inputs.end(), merged))
      push({.name = primitive.name, .output = primitive.output, .body = primitive.body}, out);
  }

  void push(Primitive primitive, Primitives& out) {
    primitive.op = op_;
    for (const std::string& name : primitive.body.arrays()) primitive.inputs.push_back(*out.diagram.find_array(name));
    complete_.insert(primitive.output);
    out.list.push_back(std::move(primitive));
  }

  const Primitives& source_;
  int op_;
  const Operator& merge_;
  AxisId chunks_, of_;
  std::vector<int> inside_;
  Witness witness_;
  Names sections_, merged_;
  std::set<ArrayId> complete_;
};

}  // namespace

Primitives with_merges(const Schedule& schedule, const Primitives& primitives, int island) {
  const Island& merging = schedule.islands[static_cast<std::size_t>(island)];
  Primitives out = primitives;
  for (const int op : merging.operators) {
    if (schedule.diagram.operators[static_cast<std::size_t>(op)].kind != OperatorKind::merge) continue;
    if (out.list.size() == primitives.list.size())  // the merged results come from here alone
      std::erase_if(out.list, [&](const Primitive& one) { return !contains(merging.operators, one.op); });
    MergeExpansion(schedule, primitives, op).run(out);
  }
  return out;
}

}  // namespace tilescope
