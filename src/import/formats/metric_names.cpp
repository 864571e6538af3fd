#include "import/formats/metric_names.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/text.h"
#include "config/read_kind.h"
#include "config/reader.h"

namespace tilescope::imported {
namespace {

// Cycles that elapsed are kept as the largest of the SMs too: what `measure` counts.
constexpr const char* kept_maximum = "sm__cycles_elapsed.max";

bool fits_one_of(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
  });
}

std::string base_of(const std::string& metric) { return metric.substr(0, metric.find('.')); }

// What may follow the name of a counter: which of its instances, and in relation to what.
bool is_rollup(std::string_view text) {
  static const std::set<std::string_view> first{"sum", "avg", "min", "max", "ratio", "pct", "max_rate"};
  static const std::set<std::string_view> second{"per_second",
                                                 "per_cycle_active",
                                                 "per_cycle_elapsed",
                                                 "pct_of_peak_sustained_active",
                                                 "pct_of_peak_sustained_elapsed",
                                                 "peak_sustained",
                                                 "peak_sustained_active",
                                                 "peak_sustained_active.per_second",
                                                 "peak_sustained_elapsed",
                                                 "peak_sustained_elapsed.per_second"};
  if (text.empty()) return true;  // printed without one
  const std::size_t point = text.find('.');
  return first.contains(text.substr(0, point)) &&
         (point == std::string_view::npos || second.contains(text.substr(point + 1)));
}

std::vector<std::string> words_of(const std::string& base) {
  const std::size_t unit = base.find("__");
  return unit == std::string::npos ? std::vector<std::string>() : split(base.substr(unit + 2), '_');
}

// Whether two names have the same words in another order: no unit has both.
bool is_reordered(const std::string& base, const std::set<std::string>& counters) {
  std::vector<std::string> words = words_of(base);
  std::sort(words.begin(), words.end());
  return std::any_of(counters.begin(), counters.end(), [&](const std::string& counter) {
    if (counter == base || counter.substr(0, counter.find("__")) != base.substr(0, base.find("__"))) return false;
    std::vector<std::string> others = words_of(counter);
    std::sort(others.begin(), others.end());
    return others == words;
  });
}

void add_counters(const HardwareProfile& profile, std::set<std::string>& counters) {
  const auto add = [&](const Counter& counter) { counters.insert(base_of(counter.metric)); };
  for (const MemoryLevel& level : profile.levels) {
    if (level.counters.read) add(*level.counters.read);
    if (level.counters.write) add(*level.counters.write);
  }
  for (const auto& [key, counter] : profile.work_counters) add(counter);
}

}  // namespace

std::string MetricNames::metric_of(const std::string& name) const {
  const auto title = titles.find(name);
  return title == titles.end() ? name : title->second;
}

MetricUse MetricNames::use_of(const std::string& name) const {
  const std::string metric = metric_of(name);
  if (facts.contains(metric)) return MetricUse::fact;
  const std::string base = base_of(metric);
  const std::string_view rollup = std::string_view(metric).substr(std::min(metric.size(), base.size() + 1));
  if (counters.contains(base) && is_rollup(rollup))
    return rollup == "sum" || metric == kept_maximum ? MetricUse::counter : MetricUse::not_kept;
  if (fits_one_of(metric, others) || other_titles.contains(name)) return MetricUse::not_kept;
  const auto vocabulary = words.find(base.substr(0, base.find("__")));
  const std::vector<std::string> own = words_of(base);
  const auto is_word = [&](const std::string& word) { return vocabulary->second.contains(word); };
  if (vocabulary != words.end() && !own.empty() && is_rollup(rollup) && std::all_of(own.begin(), own.end(), is_word) &&
      !is_reordered(base, counters))
    return MetricUse::not_kept;
  return MetricUse::unknown;
}

std::string MetricNames::hint(const std::string& name) const {
  std::vector<std::string> known(counters.begin(), counters.end());
  const std::string base = base_of(name);
  if (name.find("__") != std::string::npos) {
    if (counters.contains(base)) return "; expected .sum after it";
    const auto near = nearest(base, known);
    return near ? "; did you mean '" + *near + ".sum'?" : "";
  }
  known.clear();
  for (const auto& [title, metric] : titles) known.push_back(title);
  const auto near = nearest(name, known);
  return near ? "; did you mean '" + *near + "'?" : "";
}

MetricNames load_metric_names(const std::filesystem::path& file, const std::vector<HardwareProfile>& profiles,
                              const std::vector<std::string>& ignored) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/metric-names/1");
  const Node root = document.root();
  root.only({"schema", "titles", "facts", "counters", "words", "others", "other_titles"});
  MetricNames names;
  for (const auto& [title, metric] : root["titles"].entries()) names.titles[title] = metric.text();
  for (const auto& [key, metric] : root["facts"].entries()) {
    if (const auto fact = parse_kind<MetricFact>(key)) names.facts[metric.text()] = *fact;
    else metric.report("is no fact that the importer keeps" + did_you_mean(key, kind_names<MetricFact>()));
  }
  for (const Node& item : root["counters"].items()) names.counters.insert(item.text());
  for (const auto& [unit, list] : root["words"].entries())
    for (const Node& item : list.items()) names.words[unit].insert(item.text());
  for (const Node& item : root["others"].items()) names.others.push_back(item.text());
  for (const Node& item : root["other_titles"].items()) names.other_titles.insert(item.text());
  document.finish();
  for (const HardwareProfile& profile : profiles) add_counters(profile, names.counters);
  names.others.insert(names.others.end(), ignored.begin(), ignored.end());
  return names;
}

}  // namespace tilescope::imported
