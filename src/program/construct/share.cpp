#include "program/construct/share.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/contains.h"

namespace tilescope {
namespace {

using Kind = Statement::Kind;

void add_calls(const Expression& value, std::vector<Expression>& calls) {
  if (value.kind() == Expression::Kind::call && !value.arrays().empty()) calls.push_back(value);
  for (const Expression& operand : value.operands()) add_calls(operand, calls);
}

Expression replaced(const Expression& value, const Expression& what, const Expression& by) {
  if (value == what) return by;
  std::vector<Expression> operands;
  for (const Expression& operand : value.operands()) operands.push_back(replaced(operand, what, by));
  return operands.empty() ? value : value.with_operands(std::move(operands));
}

std::string without_primes(std::string name) {
  while (name.ends_with('\'')) name.pop_back();
  return name;
}

// The state of which the name is the value after a step, or that of one tile.
std::string state_name(std::string name) {
  name = without_primes(std::move(name));
  if (name.ends_with(tile_suffix)) name.resize(name.size() - tile_suffix.size());
  return name;
}

class Sharing {
 public:
  Sharing(Levels& levels, TileProgram& program, const Primitives& primitives, const std::vector<int>& inside)
      : levels_(levels), program_(program), primitives_(primitives), inside_(inside) {}

  // The statements in the body of the loop `loop`; -1: in none.
  void run(std::vector<Statement>& level, int loop) {
    loop_ = loop;
    for (const bool repairs : {false, true})
      while (share_one(level, repairs)) {
      }
  }

 private:
  static const Expression* side(const Statement& statement, bool repairs) {
    if (statement.kind != Kind::fold && !(statement.kind == Kind::compute && statement.fold)) return nullptr;
    if (!repairs) return &statement.value;
    return statement.repair ? &*statement.repair : nullptr;
  }

  // The first call, the largest first, that two folds have in common; false: there is none.
  bool share_one(std::vector<Statement>& level, bool repairs) {
    for (std::size_t first = 0; first < level.size(); ++first) {
      const Expression* value = side(level[first], repairs);
      if (!value) continue;
      std::vector<Expression> calls;
      add_calls(*value, calls);
      for (const Expression& call : calls)
        if (const std::vector<std::size_t> users = users_of(level, call, first, repairs);
            users.size() > 1 && (repairs || takes_a_place(level, call, users)))
          return share(level, call, users, repairs), true;
    }
    return false;
  }

  // Folds that have the call, from the first on, until a name of it changes.
  std::vector<std::size_t> users_of(const std::vector<Statement>& level, const Expression& call, std::size_t first,
                                    bool repairs) const {
    std::vector<std::size_t> users;
    for (std::size_t i = first; i < level.size(); ++i) {
      const Expression* value = side(level[i], repairs);
      std::vector<Expression> calls;
      if (value) add_calls(*value, calls);
      if (contains(calls, call) && level[i].last_of == level[first].last_of) users.push_back(i);
      const auto changed = [&](const std::string& name) {
        return program_.find(without_primes(name)) == level[i].tile;
      };
      const std::vector<std::string> names = call.arrays();
      if (level[i].tile >= 0 && std::any_of(names.begin(), names.end(), changed)) break;
    }
    return users;
  }

  // Whether the value can take the place of an input that nothing else needs from there on: then it needs no room.
  bool takes_a_place(const std::vector<Statement>& level, const Expression& call,
                     const std::vector<std::size_t>& users) const {
    const std::vector<AxisId> shape = axes_of(call);
    for (const std::string& name : call.arrays()) {
      const std::vector<AxisId>& axes =
          program_.tiles[static_cast<std::size_t>(program_.find(without_primes(name)))].axes;
      const bool fits = axes.size() == shape.size() &&
                        std::all_of(shape.begin(), shape.end(), [&](AxisId axis) { return contains(axes, axis); });
      if (fits && of_one_step(axes) && !used_elsewhere(level, name) &&
          std::none_of(level.begin(), level.end(), [&](const Statement& one) {
            const auto number = static_cast<std::size_t>(&one - level.data());
            const bool shares = contains(users, number);
            return number >= users.front() &&
                   (shares ? replaced(one.value, call, Expression::number(0)) : one.value).uses(name);
          }))
        return true;
    }
    return false;
  }

  // A stream that does not move a tile needs it again at its next step.
  bool of_one_step(const std::vector<AxisId>& axes) const {
    if (loop_ < program_.groups) return true;
    const AxisId axis = program_.loops[static_cast<std::size_t>(loop_)].axis;
    const auto& of = primitives_.diagram.axes[index(axis)].chunks_of;
    return contains(axes, axis) || (of && contains(axes, *of));
  }
  bool used_elsewhere(const std::vector<Statement>& level, const std::string& name) const {
    const auto uses = [&](const Statement& one) {
      return one.value.uses(name) || (one.repair && one.repair->uses(name));
    };
    for (const auto* list : {&levels_.before, &levels_.after})
      for (const std::vector<Statement>& other : *list)
        if (&other != &level && std::any_of(other.begin(), other.end(), uses)) return true;
    return false;
  }

  void share(std::vector<Statement>& level, const Expression& call, const std::vector<std::size_t>& users,
             bool repairs) {
    const std::string name = name_of(call, repairs);
    program_.tiles.push_back({.name = name, .axes = axes_of(call), .uncounted = repairs});
    for (const std::size_t user : users) {
      Statement& statement = level[user];
      if (repairs) statement.repair = replaced(*statement.repair, call, Expression::array(name));
      else statement.value = replaced(statement.value, call, Expression::array(name));
    }
    const Statement shared{.kind = Kind::compute,
                           .tile = static_cast<int>(program_.tiles.size()) - 1,
                           .value = call,
                           .last_of = level[users.front()].last_of,
                           .of_repair = repairs};
    level.insert(level.begin() + static_cast<std::ptrdiff_t>(users.front()), shared);
  }

  std::string name_of(const Expression& call, bool repairs) const {
    std::map<std::string, Expression, std::less<>> plain;
    for (const std::string& name : call.arrays()) plain.emplace(name, Expression::array(state_name(name)));
    const Expression value = substitute(call, plain);
    const std::string known = repairs ? "" : primitive_name(value);
    if (!known.empty() && program_.find(known) < 0) return known;
    const std::string stem = repairs ? "scale" : "shared";
    std::string name = stem;
    for (int n = 2; program_.find(name) >= 0 || primitives_.diagram.find_array(name); ++n)
      name = fmt::format("{}_{}", stem, n);
    return name;
  }
  // Of the map that the island computes as this value; empty: none.
  std::string primitive_name(const Expression& value) const {
    for (const int number : inside_)
      if (const Primitive& one = primitives_.list[static_cast<std::size_t>(number)]; !one.fold && one.body == value)
        return primitives_.array(one.output).name;
    return {};
  }

  std::vector<AxisId> axes_of(const Expression& call) const {
    std::vector<AxisId> axes;
    for (std::size_t a = 0; a < primitives_.diagram.axes.size(); ++a) {
      const auto axis = static_cast<AxisId>(static_cast<int>(a));
      const auto has = [&](const std::string& name) {
        return contains(program_.tiles[static_cast<std::size_t>(program_.find(without_primes(name)))].axes, axis);
      };
      const std::vector<std::string> names = call.arrays();
      if (std::any_of(names.begin(), names.end(), has) || contains(call.index_axes(), primitives_.diagram.axes[a].name))
        axes.push_back(axis);
    }
    return axes;
  }

  Levels& levels_;
  TileProgram& program_;
  const Primitives& primitives_;
  const std::vector<int>& inside_;
  int loop_ = -1;
};

}  // namespace

void share_expressions(Levels& levels, TileProgram& program, const Primitives& primitives,
                       const std::vector<int>& inside) {
  Sharing sharing(levels, program, primitives, inside);
  for (auto* list : {&levels.before, &levels.after})
    for (std::size_t level = 0; level < list->size(); ++level) sharing.run((*list)[level], static_cast<int>(level) - 1);
}

}  // namespace tilescope
