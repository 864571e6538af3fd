#include "program/print.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tilescope {
namespace {

using Kind = Statement::Kind;

class Printer {
 public:
  Printer(const TileProgram& program, const Schedule& schedule) : program_(program), schedule_(schedule) {}

  std::string run() {
    lines(program_.body, 0);
    return text_;
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

  void lines(const std::vector<Statement>& body, int depth) {
    for (const Statement& statement : body) {
      const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
      std::vector<std::string> last;
      for (const int number : statement.last_of) last.push_back(tile(number).name);
      const std::string condition = last.empty() ? "" : fmt::format("at the last visit to {}: ", join(last, ", "));
      text_ += indent + condition + line(statement) + "\n";
      if (statement.kind == Kind::loop) lines(statement.body, depth + 1);
    }
  }

  std::string line(const Statement& statement) const {
    if (statement.kind == Kind::loop) {
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
        return fmt::format("load {}; at the first visit {}", name, unit(*of.kind));
      case Kind::compute:
        return fmt::format("{} = {}", name, folded(statement));
      case Kind::fold:
        return fmt::format("{} = {}", name, added(statement));
      case Kind::finalise:
        return fmt::format("{} = {}", name, to_text(statement.value));
      case Kind::store:
        return fmt::format("store {}{}", name, memory(of) == of.name ? "" : " as " + memory(of));
      case Kind::loop:
        break;
    }
    return {};
  }

  static std::string to_text(const Expression& value) { return tilescope::to_text(value); }
  static std::string unit(FoldKind kind) {
    switch (kind) {
      case FoldKind::sum:
        return "0";
      case FoldKind::product:
        return "1";
      case FoldKind::max:
        return "-infinity";
      case FoldKind::min:
        return "infinity";
    }
    return {};
  }

  std::string folded(const Statement& statement) const {
    if (!statement.fold) return to_text(statement.value);
    return fmt::format("{} over {} of {}{}", to_string(*statement.fold), axes(statement.over), to_text(statement.value),
                       statement.masked ? " where live" : "");
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
  std::string text_;
};

}  // namespace

std::string to_text(const TileProgram& program, const Schedule& schedule) { return Printer(program, schedule).run(); }

}  // namespace tilescope
