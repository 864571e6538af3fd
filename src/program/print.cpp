#include "program/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/contains.h"
#include "base/text.h"

namespace tilescope {
namespace {

using Kind = Statement::Kind;
constexpr std::size_t widest = 88;  // lines beyond it have their remark right behind them

class Printer {
 public:
  Printer(const TileProgram& program, const Schedule& schedule, const PrintOptions& options)
      : program_(program), schedule_(schedule), options_(options) {}

  std::string run() {
    add_empty();
    lines(program_.body, options_.depth);
    std::size_t column = 0;
    for (const auto& [text, note] : lines_)
      if (!note.empty()) column = std::max(column, text.size());
    std::string all;
    for (const auto& [text, note] : lines_)
      all += note.empty() ? text + "\n" : fmt::format("{:<{}}  # {}\n", text, std::min(column, widest), note);
    return all;
  }

 private:
  const ProgramTile& tile(int number) const { return program_.tiles[static_cast<std::size_t>(number)]; }
  const std::string& axis(AxisId id) const { return schedule_.diagram.axes[index(id)].name; }

  std::string axes(const std::vector<AxisId>& ids) const {
    std::vector<std::string> names;
    for (const AxisId id : ids) names.push_back(axis(id));
    return join(names, ", ");
  }
  std::string memory(const ProgramTile& of) const { return schedule_.diagram.array(*of.memory).name; }

  void add(int depth, const std::string& text, const std::string& note = {}) {
    lines_.emplace_back(std::string(static_cast<std::size_t>(depth) * 2, ' ') + text, note);
  }

  // What memory holds of results that the mask leaves nothing to, so that no step stores them.
  void add_empty() {
    const Island& island = schedule_.islands[static_cast<std::size_t>(program_.island)];
    const auto& guard = schedule_.diagram.guard;
    if (!options_.masked || !guard || !island.skips_masked_tiles) return;
    std::vector<std::string> values;
    for (const ProgramTile& tile : program_.tiles) {
      const bool one = contains(tile.axes, guard->query) != contains(tile.axes, guard->key);
      if (!std::isnan(tile.empty) && !tile.zeroed && one)
        values.push_back(fmt::format("{} = {}", memory(tile), number(tile.empty)));
    }
    if (!values.empty()) add(options_.depth, fmt::format("{} where nothing is live", join(values, ", ")));
  }

  void lines(const std::vector<Statement>& body, int depth) {
    for (const Statement& statement : body) {
      std::vector<std::string> last;
      for (const int number : statement.last_of) last.push_back(tile(number).name);
      const std::string condition = last.empty() ? "" : fmt::format("at the last visit to {}: ", join(last, ", "));
      add(depth, condition + line(statement), options_.note ? options_.note(statement) : "");
      if (statement.kind == Kind::loop) lines(statement.body, depth + 1);
    }
  }

  std::string line(const Statement& statement) const {
    if (statement.kind == Kind::loop) {
      if (options_.loop) return options_.loop(statement.loop);
      const Loop& loop = program_.loops[static_cast<std::size_t>(statement.loop)];
      return fmt::format(
          "{} {}:", loop.partition == Partition::group ? "parallel for each tile of" : "for each tile of",
          axis(loop.axis));
    }
    const ProgramTile& of = tile(statement.tile);
    const std::string name = fmt::format("{}[{}]", of.name, axes(of.axes));
    switch (statement.kind) {
      case Kind::load:
        return fmt::format("load {}", name);
      case Kind::start:
        return fmt::format("{} = {}", name, unit(*of.kind));
      case Kind::resume:
        return of.zeroed ? fmt::format("load {}", name)
                         : fmt::format("load {}; at the first visit {}", name, unit(*of.kind));
      case Kind::compute:
        return fmt::format("{} = {}", name, folded(statement));
      case Kind::fold:
        return fmt::format("{} = {}", name, added(statement));
      case Kind::finalise:
        return fmt::format("{} = {}{}", name, to_text(statement.value), otherwise(statement));
      case Kind::store:
        return fmt::format("store {}{}", name, memory(of) == of.name ? "" : " as " + memory(of));
      case Kind::add:
        return fmt::format("{} += {}", memory(of), name);
      case Kind::initialise:
        return fmt::format("{} = {} in memory", memory(of), unit(*of.kind));
      case Kind::loop:
        break;
    }
    return {};
  }

  static std::string to_text(const Expression& value) { return tilescope::to_text(value); }
  static std::string number(double value) {
    return std::isinf(value) ? (value < 0 ? "-infinity" : "infinity") : fmt::format("{}", value);
  }
  static std::string unit(FoldKind kind) { return number(fold_unit(kind)); }

  // Of a row in which nothing was live.
  std::string otherwise(const Statement& statement) const {
    if (!options_.masked || !schedule_.diagram.guard || statement.own.empty()) return {};
    return fmt::format(", {} where nothing was live", unit(*tile(statement.own.front()).kind));
  }

  std::string folded(const Statement& statement) const {
    if (!statement.fold || statement.over.empty()) return to_text(statement.value);
    return fmt::format("{} over {} of {}{}", to_string(*statement.fold), axes(statement.over), to_text(statement.value),
                       statement.masked && options_.masked ? " where live" : "");
  }

  std::string added(const Statement& statement) const {
    const std::string& name = tile(statement.tile).name;
    const std::string old = statement.repair ? fmt::format("{} * {}", name, to_text(*statement.repair)) : name;
    if (*statement.fold == FoldKind::max || *statement.fold == FoldKind::min)
      return fmt::format("{}({}, {})", to_string(*statement.fold), old, folded(statement));
    return fmt::format("{} {} {}", old, *statement.fold == FoldKind::sum ? "+" : "*", folded(statement));
  }

  const TileProgram& program_;
  const Schedule& schedule_;
  const PrintOptions& options_;
  std::vector<std::pair<std::string, std::string>> lines_;  // text and remark
};

}  // namespace

std::string to_text(const TileProgram& program, const Schedule& schedule, const PrintOptions& options) {
  return Printer(program, schedule, options).run();
}

}  // namespace tilescope
