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
    for (const StateVariable& variable : witness_.state) add_state(variable);
    for (const int number : inside_) add(source_.list[static_cast<std::size_t>(number)], out);
  }

 private:
  // What a part's state is, in terms of what it left in memory.
  void find_sections() {
    Names parts;
    for (std::size_t i = 0; i < merge_.outputs.size(); ++i)
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
  void add_state(const StateVariable& variable) {
    Expression value = sections_.at(variable.name);
    if (variable.repair) {
      Names sides = sections_;
      for (const StateVariable& earlier : witness_.state)
        sides.emplace(earlier.name + "'", Expression::array(earlier.name));
      value = value * substitute(*variable.repair, sides);
    }
    contributions_.emplace(variable.name, value);
  }

  // The fold over all parts of what its value over the whole axis is made of; maps of such values as they are.
  void add(const Primitive& primitive, Primitives& out) {
    const std::string& name = source_.array(primitive.output).name;
    if (primitive.folds(of_)) {
      const auto known = std::find_if(witness_.folds.begin(), witness_.folds.end(),
                                      [&](const FoldWitness& one) { return one.fold == name; });
      Names own;
      for (const StateVariable& variable : witness_.state)
        if (variable.fold == name) own.emplace(variable.name, contributions_.at(variable.name));
      push({.name = primitive.name,
            .output = primitive.output,
            .fold = primitive.fold,
            .folded = {chunks_},
            .body = substitute(known == witness_.folds.end() ? Expression::array(name) : known->value, own)},
           out);
      return;
    }
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
  Names sections_, contributions_;
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
