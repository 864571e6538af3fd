// The table of choices as JSON and as a header for C and C++.
#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "base/text.h"
#include "predict/point/support.h"
#include "request/choices/choices.h"

namespace tilescope {
namespace {

// Letters, digits and '_': what may stand in a name of C.
std::string c_name(const std::string& text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

// A comment of C must not end early.
std::string in_comment(std::string text) {
  for (std::size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text.replace(at, 2, "* /");
  return text;
}

Json tile_json(const Choices& choices, const Point& point) {
  Json tile = Json::object();
  const auto& parameters = choices.sweep.plan->schedule.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) tile[parameters[i].name] = point.tiles[i];
  return {{"tile", tile}, {"warps", point.warps}, {"stages", stages_of(choices.sweep.plan->kernel, point)}};
}

double percent(double loss) { return std::round(loss * 1e5) / 1e3; }

std::string cell_text(const Choices& choices, const ChoiceCell& cell) {
  const auto& parameters = choices.sweep.plan->schedule.parameters;
  std::string text;
  if (cell.choice < 0) {
    for (std::size_t i = 0; i < parameters.size(); ++i) text += "0, ";
    return text + "0, 0, 0, 0";
  }
  const Point& point = choices.list[static_cast<std::size_t>(cell.choice)].point;
  for (std::size_t i = 0; i < parameters.size(); ++i) text += fmt::format("{}, ", point.tiles[i]);
  return text + fmt::format("{}, {}, {:.6g}, {:.4g}", point.warps, stages_of(choices.sweep.plan->kernel, point),
                            cell.seconds * 1e6, cell.loss());
}

std::string checks_text(const ChoiceChecks& checks) {
  if (checks.points == 0) return "not checked at other sizes";
  return fmt::format(
      "at {} sizes inside the ranges the choice is what a search finds in {}; it loses {:.2f} % in the mean, {:.2f} % "
      "at most{}",
      checks.points, checks.equal, 100 * checks.mean_loss, 100 * checks.worst_loss,
      checks.cannot_run > 0 ? fmt::format("; it cannot run in {}", checks.cannot_run) : "");
}

}  // namespace

std::string Choices::title() const {
  const Plan& plan = *sweep.plan;
  return fmt::format("{} on {}, mask {}", plan.assumed ? "schedule " + plan.schedule.name : plan.kernel.name,
                     sweep.hardware->id, sweep.base.mask.text.empty() ? "none" : sweep.base.mask.text);
}

Json Choices::json() const {
  const Plan& plan = *sweep.plan;
  Json axes = Json::array(), tiles = Json::array(), ranges = Json::array();
  for (const SweepAxis& axis : sweep.axes) axes.push_back({{"name", axis.name}, {"up_to", axis.values.written_out()}});
  for (const TileChoice& choice : list) {
    Json row = tile_json(*this, choice.point);
    row["cells"] = choice.best_in;
    row["everywhere"] = {{"runs", choice.everywhere},
                         {"mean_loss_percent", percent(choice.mean_loss)},
                         {"worst_loss_percent", percent(choice.worst_loss)}};
    tiles.push_back(row);
  }
  for (const ChoiceCell& cell : cells) {
    Json up_to = Json::object();
    for (std::size_t a = 0; a < cell.at.size(); ++a) up_to[sweep.axes[a].name] = sweep.axes[a].values[cell.at[a]];
    Json row{{"up_to", up_to}};
    if (cell.choice < 0) row["choice"] = nullptr, row["why"] = cell.why;
    else
      row["choice"] = cell.choice, row["busy_microseconds"] = cell.seconds * 1e6,
      row["best_busy_microseconds"] = cell.best_seconds * 1e6, row["loss_percent"] = percent(cell.loss());
    ranges.push_back(row);
  }
  return {{"schema", "tilescope/choices/1"},
          {"hardware", sweep.hardware->id},
          {"schedule", plan.schedule.name},
          {"kernel", plan.assumed ? Json(nullptr) : Json(plan.kernel.name)},
          {"mask", sweep.base.mask.text.empty() ? "none" : sweep.base.mask.text},
          {"axes", axes},
          {"choices", tiles},
          {"ranges", ranges},
          {"tolerance_percent", percent(tolerance)},
          {"checks",
           {{"points", checks.points},
            {"equal", checks.equal},
            {"cannot_run", checks.cannot_run},
            {"mean_loss_percent", percent(checks.mean_loss)},
            {"worst_loss_percent", percent(checks.worst_loss)}}}};
}

std::string Choices::header() const {
  const Plan& plan = *sweep.plan;
  const std::string name =
      c_name("tiles_" + (plan.assumed ? plan.schedule.name : plan.kernel.name) + "_" + sweep.hardware->id);
  std::string guard = name + "_H";
  for (char& c : guard) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format("/* The best tile by size: {}.\n", in_comment(title()));
  text += " * A range ends at the listed size, for which the tile was searched; sizes below take the same tile.\n";
  text += fmt::format(" * Times are predicted; {}. */\n", checks_text(checks));
  text += fmt::format("#ifndef {0}\n#define {0}\n\ntypedef struct {{\n", guard);
  for (const Parameter& parameter : plan.schedule.parameters)
    text += fmt::format("  int tile_{};\n", c_name(parameter.name));
  text += "  int warps, stages;\n  double microseconds; /* predicted at the end of the range */\n";
  text += fmt::format("  double loss;         /* against the best tile there, 0.02: 2 % */\n}} {}_choice;\n\n", name);
  std::vector<std::string> sizes;
  for (const SweepAxis& axis : sweep.axes) sizes.push_back("long long " + c_name(axis.name));
  text += "/* Returns 0 beyond the last range, and where no tile can run. */\n";
  text += fmt::format("static inline const {0}_choice* {0}({1}) {{\n", name, join(sizes, ", "));
  text += fmt::format("  static const {}_choice cells[] = {{\n", name);
  for (const ChoiceCell& cell : cells) text += "      {" + cell_text(*this, cell) + "},\n";
  text += "  };\n  int cell = 0, at = 0;\n";
  std::size_t stride = 1;
  for (const SweepAxis& axis : sweep.axes) {
    const std::string own = c_name(axis.name);
    text +=
        fmt::format("  static const long long {}_up_to[] = {{{}}};\n", own, fmt::join(axis.values.written_out(), ", "));
    text += fmt::format("  for (at = 0; at < {0} && {1} > {1}_up_to[at]; ++at) {{\n  }}\n", axis.values.size(), own);
    text += fmt::format("  if (at == {}) return 0;\n  cell += at * {};\n", axis.values.size(), stride);
    stride *= axis.values.size();
  }
  return text + fmt::format("  return cells[cell].warps > 0 ? &cells[cell] : 0;\n}}\n\n#endif /* {} */\n", guard);
}

}  // namespace tilescope
