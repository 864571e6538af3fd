#include "import/formats/measured_yaml.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/reader.h"
#include "records/record.h"

namespace tilescope::imported {
namespace {

// What a point may state besides its options.
const std::vector<std::string>& own_keys() {
  static const std::vector<std::string> keys{"seconds", "counters", "grid", "block"};
  return keys;
}

bool is_own(const std::string& key) { return std::find(own_keys().begin(), own_keys().end(), key) != own_keys().end(); }

// "128 KiB", or a plain number of bytes, instructions, sectors, cycles.
double read_value(const std::string& metric, const Node& node) {
  const std::string text = node.is_scalar() ? node.text() : "";
  const bool bytes = metric.find("bytes") != std::string::npos;
  if (bytes && text.find(' ') != std::string::npos) return node.quantity(Dimension::bytes);
  if (!bytes && node.is_scalar() && !parse_decimal(text) && parse_quantity(text, Dimension::bytes).value)
    node.report("is not counted in bytes; give a plain number");
  return node.number(0, most_count);
}

void read_counters(const Node& node, const MetricNames& names, ToolLaunch& launch) {
  for (const auto& [name, value] : node.entries()) {
    const MetricUse use = names.use_of(name);
    if (use == MetricUse::counter) launch.counters[name] = read_value(name, value);
    else if (use == MetricUse::unknown) value.report("is no metric that is known" + names.hint(name));
    else if (use == MetricUse::fact) value.report("is no counter; times stand under seconds");
  }
}

std::optional<std::array<std::int64_t, 3>> read_extent(const Node& point, const char* key) {
  const auto node = point.find(key);
  if (!node) return std::nullopt;
  std::array<std::int64_t, 3> extent{1, 1, 1};
  const std::vector<Node> items = node->items();
  if (items.empty() || items.size() > 3) node->report("expected one to three counts, as in [64, 16]");
  for (std::size_t i = 0; i < std::min<std::size_t>(items.size(), 3); ++i) extent[i] = items[i].integer(1, 1LL << 31);
  return extent;
}

std::vector<double> read_seconds(const Node& point) {
  std::vector<double> seconds;
  const auto node = point.find("seconds");
  if (!node) return seconds;
  if (!node->is_list()) return {node->quantity(Dimension::seconds)};
  if (node->items().empty()) node->report("is an empty list; expected a time, or several in a list, or leave it out");
  for (const Node& item : node->items()) seconds.push_back(item.quantity(Dimension::seconds));
  return seconds;
}

void read_point(const Node& node, const std::string& kernel, const MetricNames& names, ToolFile& file) {
  StatedPoint point{
      .words = {}, .first = static_cast<std::int64_t>(file.launches.size()), .last = 0, .place = node.path()};
  ToolLaunch launch;
  launch.name = kernel;
  for (const auto& [key, value] : node.entries()) {
    if (is_own(key)) continue;
    if (key == "hardware" || key == "gpu" || key == "set") value.report("is for the whole file; state it above points");
    point.words.emplace_back(key, value.text());
    if (key == "kernel") launch.name = value.text();
  }
  launch.grid = read_extent(node, "grid"), launch.block = read_extent(node, "block");
  const std::vector<double> seconds = read_seconds(node);
  if (const auto counters = node.find("counters")) read_counters(*counters, names, launch);
  if (seconds.empty() && launch.counters.empty()) node.report("measures nothing; give seconds or counters");
  for (std::size_t i = 0; i == 0 || i < seconds.size(); ++i) {
    launch.id = std::to_string(file.launches.size());
    if (i < seconds.size()) launch.seconds = seconds[i];
    file.launches.push_back(launch);
    launch.counters.clear();
  }
  point.last = static_cast<std::int64_t>(file.launches.size()) - 1;
  file.stated.points.push_back(std::move(point));
}

}  // namespace

ToolFile read_measured_yaml(const std::filesystem::path& path, const MetricNames& names) {
  const Document document = Document::load(path);
  document.expect_schema(measured_schema);
  const Node root = document.root();
  root.only({"schema", "hardware", "kernel", "caches", "sm_clock", "points"});
  ToolFile file;
  file.path = path.string(), file.form = ToolForm::measured_yaml;
  file.stated.hardware = root["hardware"].text();
  if (const auto kernel = root.find("kernel")) file.stated.kernel = kernel->text();
  if (const auto caches = root.find("caches")) file.stated.caches = caches->one_of(kind_names<validate::Caches>());
  const auto clock = root.find("sm_clock");
  const double sm_hz = clock ? clock->quantity(Dimension::hertz) : 0;
  constexpr std::size_t most_launches = 100'000;
  const Node points = root["points"];
  for (const Node& point : points.items()) {
    read_point(point, file.stated.kernel.value_or("kernel"), names, file);
    if (file.launches.size() > most_launches) {
      points.report(fmt::format("has more than {} measurements; split the file", most_launches));
      break;
    }
  }
  if (document.clean() && file.launches.empty()) points.report("has no point; give at least one");
  document.finish();
  for (ToolLaunch& launch : file.launches) launch.sm_hz = sm_hz;
  return file;
}

}  // namespace tilescope::imported
