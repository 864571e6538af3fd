#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "expr/simplify.h"
#include "stream/witness.h"

namespace tilescope {
namespace {

std::string unit_text(FoldKind kind) {
  return kind == FoldKind::sum ? "0" : kind == FoldKind::product ? "1" : kind == FoldKind::max ? "-inf" : "+inf";
}

std::string body_line(const Witness& witness, const StateVariable& v) {
  const std::string over = fmt::format("{} over {} of ", to_string(v.kind), witness.axis);
  const std::string guard = v.guards.empty() ? "" : fmt::format(" where {} live", join(v.guards, ", "));
  const std::string fresh = over + to_text(v.contribution) + guard;
  Expression old = Expression::array(v.name);
  if (v.repair) old = old * *v.repair;
  if (v.kind == FoldKind::sum) return fmt::format("{}' = {} + {}", v.name, to_text(old), fresh);
  if (v.kind == FoldKind::product) return fmt::format("{}' = {} * {}", v.name, to_text(old), fresh);
  return fmt::format("{}' = {}({}, {})", v.name, to_string(v.kind), to_text(old), fresh);
}

std::string merge_line(const Witness& witness, std::size_t i) {
  std::map<std::string, Expression, std::less<>> sides;
  for (const StateVariable& v : witness.state) {
    sides.emplace(v.name + "''", Expression::array(v.name + "_1"));
    sides.emplace(v.name + "'''", Expression::array(v.name + "_2"));
  }
  return fmt::format("{}' = {}", witness.state[i].name, to_text(substitute(merged_value(witness, i), sides)));
}

bool repairs_from_infinity(const Witness& witness) {
  return std::any_of(witness.state.begin(), witness.state.end(), [&](const StateVariable& v) {
    return v.repair && std::any_of(witness.state.begin(), witness.state.end(), [&](const StateVariable& other) {
             return std::isinf(other.unit()) && v.repair->uses(other.name);
           });
  });
}

// The outputs, each after those that read the state variable of its name.
std::vector<Output> in_reading_order(std::vector<Output> outputs) {
  for (std::size_t i = outputs.size(); i-- > 0;)
    for (std::size_t j = outputs.size() - 1; j > i; --j)
      if (outputs[j].value.uses(outputs[i].name)) {
        const auto first = outputs.begin() + static_cast<std::ptrdiff_t>(i);
        std::rotate(first, first + 1, outputs.begin() + static_cast<std::ptrdiff_t>(j) + 1);
        break;
      }
  return outputs;
}

}  // namespace

std::string to_string(Witness::Kind kind) {
  switch (kind) {
    case Witness::Kind::map:
      return "map";
    case Witness::Kind::monoid:
      return "monoid";
    case Witness::Kind::moments:
      return "moments";
    case Witness::Kind::state_machine:
      return "state machine";
  }
  return {};
}

Expression merged_value(const Witness& witness, std::size_t variable) {
  const StateVariable& v = witness.state[variable];
  const auto side = [&](const std::string& primes) {
    const Expression value = Expression::array(v.name + primes);
    if (!v.repair) return value;
    std::map<std::string, Expression, std::less<>> names;
    for (const StateVariable& earlier : witness.state)
      names.emplace(earlier.name, Expression::array(earlier.name + primes));
    return value * substitute(*v.repair, names);
  };
  return folded(v.kind, side("''"), side("'''"));
}

std::vector<std::string> equations(const Witness& witness) {
  std::vector<std::string> lines;
  const auto add = [&](const char* part, const std::string& line) {
    lines.push_back(fmt::format("{:<6} {}", part, line));
  };
  for (const StateVariable& v : witness.state) add("init", fmt::format("{} = {}", v.name, unit_text(v.kind)));
  for (const StateVariable& v : witness.state) add("body", body_line(witness, v));
  for (const Output& map : witness.maps) add("body", fmt::format("{} = {}", map.name, to_text(map.value)));
  if (repairs_from_infinity(witness))
    add("where",
        "-inf or +inf (nothing live yet) reads as 0 in repairs and contributions; a state at its unit stays there");
  for (std::size_t i = 0; i < witness.state.size(); ++i) add("merge", merge_line(witness, i));
  for (const Output& output : in_reading_order(witness.finaliser))
    add("final", fmt::format("{} = {}", output.name, to_text(output.value)));
  return lines;
}

}  // namespace tilescope
