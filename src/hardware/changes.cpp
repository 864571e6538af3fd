#include "hardware/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "hardware/derived.h"
#include "hardware/derived_rules.h"
#include "hardware/measured.h"

namespace tilescope {
namespace {

constexpr const char* set_source = "set";
constexpr std::int64_t most_of_limits = 1 << 24;  // as in a profile: an MI300X has 131072 registers a unit

// Calls visit(path, dimension, number, factor) for each number that may be changed; the YAML has number x factor.
template <class Profile, class Visit>
void visit_numbers(Profile& p, Visit&& visit) {
  using enum Dimension;
  const auto maybe = [&](const std::string& path, Dimension dimension, auto& field, double factor = 1) {
    if (field) visit(path, dimension, *field, factor);
  };
  visit("compute.units", count, p.units, 1);
  maybe("compute.boost_clock", hertz, p.boost_hz), maybe("compute.tensor_clock", hertz, p.tensor_hz);
  maybe("compute.fp32", flop_per_cycle, p.fp32_fma_per_cycle, 2),
      maybe("compute.exp2", flop_per_cycle, p.exp2_per_cycle);
  for (auto& [format, rate] : p.tensor_flop_per_cycle)
    visit("compute.tensor." + to_string(format), flop_per_cycle, rate, 1);
  for (auto& [path, rates] : p.instruction_flop_per_cycle)
    for (auto& [format, rate] : rates)
      visit(fmt::format("compute.instruction_paths.{}.{}", path, to_string(format)), flop_per_cycle, rate, 1);
  maybe("limits.warps", count, p.max_warps_per_unit), maybe("limits.blocks", count, p.max_blocks_per_unit);
  maybe("limits.threads_per_block", count, p.max_threads_per_block);
  maybe("limits.registers", count, p.registers_per_unit);
  maybe("limits.registers_per_thread", count, p.max_registers_per_thread);
  maybe("board.power", watts, p.board_watts), maybe("board.launch", seconds, p.launch_seconds);
  for (auto& level : p.levels) {
    const std::string at = "levels." + level.name() + ".";
    maybe(at + "capacity", bytes, level.capacity_bytes);
    maybe(at + "capacity_per_block", bytes, level.capacity_per_block_bytes);
    maybe(at + "bandwidth", bytes_per_second, level.bandwidth_bytes_per_second);
    maybe(at + "measured_bandwidth", bytes_per_second, level.measured_bandwidth_bytes_per_second);
    maybe(at + "bandwidth_per_cycle", bytes_per_cycle, level.bandwidth_bytes_per_cycle);
  }
}

struct Change {
  std::string path, value;
};

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw InputError(Diagnostic{.path = "--set " + path, .message = message});
}

std::vector<Change> read_changes(const std::string& text) {
  std::vector<Change> changes;
  for (const std::string& part : split(text, ';')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      fail(part,
           "expected a number of the profile and its value, as in levels.hbm.bandwidth=+20% or compute.units=160");
    changes.push_back({part.substr(0, equals), part.substr(equals + 1)});
    const bool twice = std::any_of(changes.begin(), changes.end() - 1,
                                   [&](const Change& other) { return other.path == changes.back().path; });
    if (twice) fail(changes.back().path, "is given twice; leave out one of them");
  }
  return changes;
}

// "+20%" of the old value, or a value as in the YAML.
double changed_value(const Change& change, Dimension dimension, double old) {
  const std::string& text = change.value;
  if (text.ends_with("%") && (text[0] == '+' || text[0] == '-')) {
    const ParsedQuantity percent = parse_quantity(text.substr(1, text.size() - 2), Dimension::count);
    const double value = old * (1 + (text[0] == '-' ? -1 : 1) * percent.value.value_or(-2) / 100);
    if (percent.value && value > 0) return value;
    fail(change.path, fmt::format("expected more than -100 percent, as in +20% or -5%, found {}", shown_text(text)));
  }
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  if (parsed.value) return *parsed.value;
  fail(change.path, fmt::format("{}, or a change as in +20%", parsed.problem));
}

double set_number(Sourced<double>& number, double value) { return number = {value, set_source}, value; }
double set_number(Sourced<std::int64_t>& number, double value) {
  number = {std::max<std::int64_t>(1, std::llround(value)), set_source};
  return static_cast<double>(number.value);
}

// Ratios of new to old values, by path.
std::map<std::string, double> change_numbers(HardwareProfile& profile, const std::vector<Change>& changes) {
  std::map<std::string, double> ratios;
  visit_numbers(profile, [&](const std::string& path, Dimension dimension, auto& number, double factor) {
    const auto change =
        std::find_if(changes.begin(), changes.end(), [&](const Change& each) { return each.path == path; });
    if (change == changes.end()) return;
    const double old = static_cast<double>(number.value);
    const double value = changed_value(*change, dimension, old * factor);
    const std::int64_t most = path == "compute.units" ? most_units : most_of_limits;
    if (dimension == Dimension::count && value > static_cast<double>(most))
      fail(path, fmt::format("expected at most {}, found {}", most, shown_text(change->value)));
    ratios[path] = set_number(number, value / factor) / old;
  });
  return ratios;
}

void refuse_unknown(const HardwareProfile& profile, const std::vector<Change>& changes) {
  std::vector<std::string> known;
  for (const ProfileNumber& number : profile_numbers(profile)) known.push_back(number.path);
  for (const Change& change : changes) {
    if (std::find(known.begin(), known.end(), change.path) != known.end()) continue;
    if (change.path.starts_with("measured.") && profile.vendor == "NVIDIA") continue;  // a rule may give it
    fail(change.path,
         fmt::format("is no number of {} that can be changed{}", profile.id, did_you_mean(change.path, known)));
  }
}

// Calls visit(path, value) for every value of a field of `measured`, whatever it is keyed by.
template <class Visit>
void each_value(const std::string& path, const std::string&, std::optional<Sourced<double>>& field, Visit&& visit) {
  if (field) visit(path, *field);
}
template <class Visit>
void each_value(const std::string& path, const std::string& prefix, MeasuredRates::ByCount& field, Visit&& visit) {
  for (auto& [count, value] : field) visit(fmt::format("{}.{}{}", path, prefix, count), value);
}
template <class Visit>
void each_value(const std::string& path, const std::string&, MeasuredRates::ByFormat& field, Visit&& visit) {
  for (auto& [format, value] : field) visit(path + "." + to_string(format), value);
}
template <class Visit>
void each_value(const std::string& path, const std::string& prefix, MeasuredRates::ByFormatAndCount& field,
                Visit&& visit) {
  for (auto& [format, inner] : field) each_value(path + "." + to_string(format), prefix, inner, visit);
}

// Rates that the profile states follow the number that their rule puts them in proportion to.
void follow_rules(const HardwareProfile& before, HardwareProfile& after) {
  std::set<std::string> followed;
  for (const RateRule& rule : rate_rules()) {
    if (!rule.serves(after)) continue;
    const double old = rule.scale(before), now = rule.scale(after);
    if (old <= 0 || now <= 0 || old == now) continue;
    visit_measured(*after.measured, [&](const std::string& group, const std::string& key, Dimension, auto& field) {
      const std::string path = group + "." + key;
      const bool ruled =
          std::any_of(rule.entries.begin(), rule.entries.end(), [&](const char* entry) { return path == entry; });
      if (!ruled || !followed.insert(path).second) return;
      each_value(path, "", field, [&](const std::string&, Sourced<double>& value) {
        value = {value.value * now / old, derived_source};
      });
    });
  }
}

double path_rate(const HardwareProfile& profile, Format format) {
  const auto path = profile.instruction_flop_per_cycle.find("mma.sync");
  if (path != profile.instruction_flop_per_cycle.end())
    if (const auto limit = path->second.find(format); limit != path->second.end()) return limit->second.value;
  const auto rate = profile.tensor_flop_per_cycle.find(format);
  return rate == profile.tensor_flop_per_cycle.end() ? 0 : rate->second.value;
}

// Clocks of matrix instructions follow the rates of the tensor cores.
void follow_tensor_rates(const HardwareProfile& before, HardwareProfile& after) {
  auto& tensor = after.measured->tensor;
  const auto scale = [](Sourced<double>& clocks, double old, double now) {
    if (old > 0 && now > 0 && old != now) clocks = {clocks.value * old / now, derived_source};
  };
  for (auto& [format, clocks] : tensor.mma) scale(clocks, path_rate(before, format), path_rate(after, format));
  if (tensor.mma_k8) scale(*tensor.mma_k8, path_rate(before, Format::fp16), path_rate(after, Format::fp16));
  for (auto* by_operand : {&tensor.wgmma_smem, &tensor.wgmma_register})
    for (auto& [format, by_columns] : *by_operand) {
      const auto old = before.tensor_flop_per_cycle.find(format);
      if (old == before.tensor_flop_per_cycle.end()) continue;
      const double now = after.tensor_flop_per_cycle.at(format).value;
      for (auto& [columns, clocks] : by_columns) scale(clocks, old->second.value, now);
    }
}

MemoryLevel* level_of(HardwareProfile& profile, LevelId id) {
  const auto found = std::find_if(profile.levels.begin(), profile.levels.end(),
                                  [&](const MemoryLevel& level) { return level.id == id; });
  return found == profile.levels.end() ? nullptr : &*found;
}

// Two numbers of a profile that are one fact: the other one follows.
void follow_twins(const HardwareProfile& before, HardwareProfile& after, const std::map<std::string, double>& ratios) {
  const auto changed = [&](const std::string& path) { return ratios.contains(path) ? ratios.at(path) : 1.0; };
  if (after.measured && after.l2_groups && before.units.value != after.units.value) after.l2_groups.reset();
  for (MemoryLevel& level : after.levels) {
    const std::string at = "levels." + level.name() + ".";
    auto& measured = level.measured_bandwidth_bytes_per_second;
    if (measured && !ratios.contains(at + "measured_bandwidth") && ratios.contains(at + "bandwidth"))
      measured = {measured->value * changed(at + "bandwidth"), derived_source};
  }
  if (MemoryLevel* const smem = level_of(after, LevelId::smem); smem != nullptr && smem->capacity_bytes &&
                                                                smem->capacity_per_block_bytes &&
                                                                !ratios.contains("levels.smem.capacity_per_block"))
    smem->capacity_per_block_bytes->value +=
        smem->capacity_bytes->value - before.level(LevelId::smem)->capacity_bytes->value;
  if (MemoryLevel* const file = level_of(after, LevelId::reg);
      file != nullptr && file->capacity_bytes && after.registers_per_unit) {
    if (ratios.contains("limits.registers")) file->capacity_bytes->value *= changed("limits.registers");
    else if (ratios.contains("levels.register.capacity"))
      after.registers_per_unit->value = std::llround(file->capacity_bytes->value / 4);
  }
}

}  // namespace

std::pair<std::string, std::string> name_and_changes(const std::string& name) {
  const std::size_t open = name.find('[');
  if (open == std::string::npos || !name.ends_with("]")) return {name, ""};
  return {name.substr(0, open), name.substr(open + 1, name.size() - open - 2)};
}

std::string changed_name(const std::string& name, const std::string& changes) {
  const auto [bare, own] = name_and_changes(name);
  std::string all = changes;
  std::replace(all.begin(), all.end(), ',', ';');
  return fmt::format("{}[{}{}{}]", bare, own, own.empty() ? "" : ";", all);
}

std::vector<ProfileNumber> profile_numbers(const HardwareProfile& profile) {
  std::vector<ProfileNumber> numbers;
  visit_numbers(profile, [&](const std::string& path, Dimension dimension, const auto& number, double factor) {
    numbers.push_back({path, dimension, static_cast<double>(number.value) * factor});
  });
  if (profile.measured)
    for_each_measured(*profile.measured,
                      [&](const std::string& path, Dimension dimension, const Sourced<double>& value) {
                        numbers.push_back({"measured." + path, dimension, value.value});
                      });
  return numbers;
}

HardwareProfile with_changes(HardwareProfile profile, const std::string& text) {
  if (text.empty()) return profile;
  const std::vector<Change> changes = read_changes(text);
  refuse_unknown(profile, changes);
  const HardwareProfile before = profile;
  const std::map<std::string, double> ratios = change_numbers(profile, changes);
  follow_twins(before, profile, ratios);
  if (profile.measured) follow_rules(before, profile), follow_tensor_rates(before, profile);
  profile.sources.try_emplace(set_source, "--set");
  profile.sources.try_emplace(derived_source, "a rule of tilescope (docs/model.md, derived rates)");
  profile.id = fmt::format("{}[{}]", profile.id, text);
  profile.name = fmt::format("{} [{}]", profile.name, text);
  return profile;
}

void apply_rate_changes(HardwareProfile& profile) {
  const auto [gpu, changes] = name_and_changes(profile.id);
  if (changes.empty()) return;
  std::vector<std::string> known;
  for (const ProfileNumber& number : profile_numbers(profile)) known.push_back(number.path);
  for (const Change& change : read_changes(changes)) {
    if (!change.path.starts_with("measured.")) continue;
    bool found = false;
    const auto visit = [&](const std::string& group, const std::string& key, Dimension dimension, auto& field) {
      each_value(fmt::format("measured.{}.{}", group, key), count_prefix(group), field,
                 [&](const std::string& path, Sourced<double>& value) {
                   if (path != change.path) return;
                   value = {changed_value(change, dimension, value.value), set_source}, found = true;
                 });
    };
    if (profile.measured) visit_measured(*profile.measured, visit);
    if (!found)
      fail(change.path, fmt::format("is no number of {} that can be changed{}", gpu, did_you_mean(change.path, known)));
  }
}

}  // namespace tilescope
