#include "request/sweep/where.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "base/error.h"
#include "base/units.h"

namespace tilescope {
namespace {

struct NamedSize {
  std::string_view name;
  std::int64_t Workload::*size;
};
constexpr std::array<NamedSize, 9> sizes{{{"batch", &Workload::batch},
                                          {"heads_q", &Workload::heads_q},
                                          {"heads_kv", &Workload::heads_kv},
                                          {"q_len", &Workload::q_len},
                                          {"kv_len", &Workload::kv_len},
                                          {"head_dim", &Workload::d_qk},
                                          {"v_head_dim", &Workload::d_v},
                                          {"d_qk", &Workload::d_qk},
                                          {"d_v", &Workload::d_v}}};

// Tiles, warps and stages have a value before the point is predicted where the question fixes them.
std::vector<std::string> known_names(const Sweep& sweep) {
  std::vector<std::string> names{"multiprocessors"};
  for (const NamedSize& each : sizes) names.emplace_back(each.name);
  for (const SweepAxis& axis : sweep.axes)
    if (axis.tile >= 0 || axis.warps || axis.stages) names.push_back(axis.name);
  return names;
}

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

// "kv_len >= 32k" as "kv_len >= 32768".
std::string without_units(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool number = digit(text[i]) && (i == 0 || (!letter(text[i - 1]) && text[i - 1] != '.'));
    std::size_t end = i;
    while (number && end < text.size() && (digit(text[end]) || letter(text[end]))) ++end;
    const auto value = number ? parse_count(text.substr(i, end - i)) : std::nullopt;
    if (value) out += std::to_string(*value), i = end;
    else out += text[i++];
  }
  return out;
}

Condition parsed(const std::string& text, const std::vector<std::string>& names) {
  try {
    return Condition(without_units(text), names);
  } catch (const std::invalid_argument& error) {
    refuse("--where", error.what());
  }
}

double value_of(const std::string& name, const Sweep& sweep, const Point& point) {
  for (const NamedSize& each : sizes)
    if (name == each.name) return static_cast<double>(point.workload.*each.size);
  if (name == "multiprocessors") return static_cast<double>(sweep.hardware->units.value);
  for (const SweepAxis& axis : sweep.axes) {
    if (axis.name != name) continue;
    if (axis.tile >= 0) return static_cast<double>(point.tiles[static_cast<std::size_t>(axis.tile)]);
    return static_cast<double>(axis.warps ? point.warps : point.stages);
  }
  throw std::logic_error("no value of " + name);
}

}  // namespace

WhereCondition::WhereCondition(const std::string& text, const Sweep& sweep)
    : condition_(parsed(text, known_names(sweep))), names_(condition_.names()) {}

WhereCondition::Values::Values(const WhereCondition& where) : where_(where) {
  for (const std::string& name : where.names_) slots_.push_back(&sizes_[name]);
}

bool WhereCondition::Values::wants(const Sweep& sweep, const Point& point) {
  for (std::size_t i = 0; i < slots_.size(); ++i) *slots_[i] = value_of(where_.names_[i], sweep, point);
  try {
    return where_.condition_.holds(sizes_);
  } catch (const InputError& error) {
    refuse("--where", error.diagnostics().front().message);
  }
}

}  // namespace tilescope
