#include "hardware/measured_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "config/reader.h"
#include "hardware/measured.h"
#include "hardware/profile.h"

namespace tilescope {
namespace {

struct PrintedUnit {
  const char* name;
  double scale;
};

// The unit in which a value of this dimension reads best.
PrintedUnit unit_of(Dimension dimension, double value) {
  switch (dimension) {
    case Dimension::bytes:
      return value < 1 << 20 ? PrintedUnit{"KiB", 1 << 10} : PrintedUnit{"MiB", 1 << 20};
    case Dimension::bytes_per_second:
      return {"GB/s", 1e9};
    case Dimension::bytes_per_cycle:
      return {"B/clk", 1};
    case Dimension::flop_per_second:
      return {"TFLOP/s", 1e12};
    case Dimension::flop_per_cycle:
      return {"OP/clk", 1};
    case Dimension::hertz:
      return {"MHz", 1e6};
    case Dimension::watts:
      return {"W", 1};
    case Dimension::seconds:
      return value < 1e-6 ? PrintedUnit{"ns", 1e-9} : value < 1e-3 ? PrintedUnit{"us", 1e-6} : PrintedUnit{"ms", 1e-3};
    case Dimension::cycles:
      return {"clk", 1};
    case Dimension::joules:
      return {"pJ", 1e-12};
    case Dimension::count:
      break;
  }
  return {"", 1};
}

// Four significant digits, never in the form 1e+04.
std::string quantity_text(Dimension dimension, double value) {
  const PrintedUnit unit = unit_of(dimension, value);
  const double number = value / unit.scale;
  const std::string digits = number >= 1000 ? fmt::format("{:.0f}", number) : fmt::format("{:.4g}", number);
  return unit.name[0] == '\0' ? digits : digits + " " + unit.name;
}

// Of a path: the field "hbm.read" that it is or lies below.
std::string field_of(const std::string& path) {
  const std::size_t first = path.find('.');
  return path.substr(0, path.find('.', first == std::string::npos ? first : first + 1));
}

std::string entry_text(const MeasuredEntry& entry, Dimension dimension) {
  std::string note = entry.note;
  std::replace(note.begin(), note.end(), '"', '\'');
  return fmt::format("{{value: {}, source: {}{}}}", quantity_text(dimension, entry.value), entry.source,
                     note.empty() ? "" : ", note: \"" + note + "\"");
}

// Opens the maps on the way from the keys that stand above the last line to those of `path`; returns the last key.
std::string open_maps(const std::string& path, std::vector<std::string>& above, std::string& text) {
  std::vector<std::string> keys = split(path, '.');
  const std::string last = keys.back();
  keys.pop_back();
  std::size_t same = 0;
  while (same < keys.size() && same < above.size() && keys[same] == above[same]) ++same;
  for (std::size_t depth = same; depth < keys.size(); ++depth)
    text += fmt::format("{}{}:\n", std::string(2 * depth + 2, ' '), keys[depth]);
  above = keys;
  return last;
}

[[noreturn]] void refuse(const std::string& message) {
  throw InputError(Diagnostic{.path = "hardware measure", .message = message});
}

bool begins_section(const std::string& line) { return !line.empty() && line[0] != ' ' && line[0] != '#'; }

// Whether a fresh value takes an old one's place: its own, or that of a point of the same curve ("l2.gone.p5").
bool replaces(const std::string& fresh, const std::string& old) {
  if (fresh == old) return true;
  const auto curve = [](const std::string& path) { return path.substr(0, path.rfind('.')); };
  return old.starts_with("l2.") && curve(old) != "l2" && curve(fresh) == curve(old);
}

// The entries below `node`, whose own path is `path`.
void collect(const Node& node, const std::string& path, const std::map<std::string, double>& values,
             std::vector<MeasuredEntry>& entries) {
  if (const auto found = values.find(path); found != values.end()) {
    const auto note = node.find("note");
    entries.push_back({path, found->second, note ? note->text() : "", node["source"].text()});
    return;
  }
  for (const auto& [key, child] : node.entries())
    collect(child, path.empty() ? key : path + "." + key, values, entries);
}

}  // namespace

std::vector<MeasuredEntry> kept_entries(const std::filesystem::path& profile, const std::vector<MeasuredEntry>& fresh) {
  const HardwareProfile loaded = load_profile(profile);
  if (!loaded.measured) return {};
  std::map<std::string, double> values;
  std::vector<MeasuredEntry> all, kept;
  const Document document = Document::load(profile);
  for_each_measured(*loaded.measured, [&](const std::string& path, Dimension, const Sourced<double>& value) {
    values[path] = value.value;
  });
  collect(document.root()["measured"], "", values, all);
  for (MeasuredEntry& entry : all) {
    const bool again =
        std::any_of(fresh.begin(), fresh.end(), [&](const auto& f) { return replaces(f.path, entry.path); });
    if (!again && entry.source != measured_source) kept.push_back(std::move(entry));
  }
  return kept;
}

std::string measured_yaml(const std::vector<MeasuredEntry>& entries) {
  std::map<std::string, std::vector<const MeasuredEntry*>> by_field;
  for (const MeasuredEntry& entry : entries) by_field[field_of(entry.path)].push_back(&entry);
  std::string text = "measured:\n";
  std::vector<std::string> above;
  MeasuredRates fields;
  visit_measured(fields, [&](const std::string& group, const std::string& key, Dimension dimension, const auto&) {
    const auto found = by_field.find(group + "." + key);
    if (found == by_field.end()) return;
    for (const MeasuredEntry* entry : found->second) {
      const std::string last = open_maps(entry->path, above, text);
      text += fmt::format("{}{}: {}\n", std::string(2 * above.size() + 2, ' '), last, entry_text(*entry, dimension));
    }
    by_field.erase(found);
  });
  if (!by_field.empty()) refuse(fmt::format("no field of a profile is called {}", shown_text(by_field.begin()->first)));
  return text;
}

std::string with_measured(const std::string& base, const std::string& id, const std::string& origin,
                          const std::string& block) {
  std::string text;
  bool has_id = false, has_sources = false, inside_old = false;
  const std::string source = fmt::format("  {}:", measured_source);
  std::vector<std::string> lines = split(base, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (const std::string& line : lines) {
    if (begins_section(line)) inside_old = line.starts_with("measured:");
    if (inside_old || line.starts_with(source)) continue;
    if (line.starts_with("id:")) {
      has_id = true;
      text += fmt::format("id: {}\n", id);
      continue;
    }
    text += line + "\n";
    if (std::string_view(line).starts_with("sources:") && trimmed(line) == "sources:") {
      has_sources = true;
      text += fmt::format("{} \"{}\"\n", source, origin);
    }
  }
  if (!has_id || !has_sources)
    refuse("the base profile must have lines that begin with 'id:' and 'sources:'; write it as the shipped ones are");
  return text + "\n" + block;
}

std::string with_level_values(const std::string& profile, const std::string& level,
                              const std::vector<LevelEntry>& entries) {
  std::vector<LevelEntry> left = entries;
  const auto line_of = [](const LevelEntry& entry) {
    return fmt::format("    {}: {{value: {}, source: {}, note: \"{}\"}}\n", entry.key, entry.value, measured_source,
                       entry.note);
  };
  const auto write_left = [&](std::string& text) {
    for (const LevelEntry& entry : left) text += line_of(entry);
    left.clear();
  };
  std::string text;
  bool in_levels = false, in_level = false, found = false;
  for (const std::string& line : split(profile, '\n')) {
    if (begins_section(line)) in_levels = line.starts_with("levels:");
    const bool outside = !line.empty() && !line.starts_with("    ") && trimmed(line)[0] != '#';
    if (in_level && (outside || line.starts_with("    counters:") || line.empty())) write_left(text);
    if (outside) in_level = in_levels && line == "  " + level + ":";
    found = found || in_level;
    const auto replaced = std::find_if(left.begin(), left.end(), [&](const LevelEntry& entry) {
      return in_level && line.starts_with("    " + entry.key + ":");
    });
    if (replaced == left.end()) {
      text += line + "\n";
    } else {
      text += line_of(*replaced);
      left.erase(replaced);
    }
  }
  if (!found)
    refuse(fmt::format("the base profile must have a line '  {}:' below 'levels:'; write it as the shipped ones are",
                       level));
  write_left(text);
  text.pop_back();  // `split` gives one piece more than there are line ends
  return text;
}

}  // namespace tilescope
