// The groups of metrics of a capture, with CUPTI's tables, without a GPU.
#include "validate/capture/inject/metric_groups.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "hardware/profile.h"
#include "validate/measure/counters/counters.h"

using namespace tilescope;
using namespace tilescope::capture;

namespace {

// Found once a chip: CUPTI takes a second for them.
const std::vector<MetricGroup>& groups_of(const std::string& chip) {
  static std::map<std::string, std::vector<MetricGroup>> found;
  const auto [groups, is_new] = found.try_emplace(chip);
  if (is_new) groups->second = metric_groups(chip);
  return groups->second;
}

}  // namespace

TEST_CASE("each group of metrics is collected in one pass, and no metric stands in two") {
  for (const std::string chip : {"GA100", "AD102", "GH100", "GB100", "GB202"}) {
    CAPTURE(chip);
    std::set<std::string> seen;
    for (const MetricGroup& group : groups_of(chip)) {
      CAPTURE(group.name);
      const auto plan = validate::plan_counters(chip, group.metrics);
      REQUIRE(plan.has_value());
      CHECK(plan->unknown.empty());
      CHECK(plan->passes == 1);
      for (const std::string& metric : group.metrics) CHECK(seen.insert(metric).second);
    }
    CHECK(seen.contains("l1tex__m_xbar2l1tex_read_bytes.sum"));
  }
}

TEST_CASE("metrics counted by patched instructions stand in one group of their own") {
  for (const MetricGroup& group : groups_of("GH100"))
    for (const std::string& metric : group.metrics)
      CHECK((metric.find("__sass_") != std::string::npos) == (group.name == "sass"));
}

TEST_CASE("a capture counts what the profile of its GPU compares, where one pass can") {
  for (const HardwareProfile& profile : list_profiles(TILESCOPE_SOURCE_DIR "/hardware")) {
    std::set<std::string> counted;
    if (profile.vendor != "NVIDIA" || !validate::plan_counters(profile.chip, {})) continue;
    for (const MetricGroup& group : groups_of(profile.chip)) counted.insert(group.metrics.begin(), group.metrics.end());
    const auto check = [&](const std::string& metric) {
      CAPTURE(profile.id);
      CAPTURE(metric);
      if (!counted.contains(metric)) CHECK(validate::plan_counters(profile.chip, {metric})->passes != 1);
    };
    for (const MemoryLevel& level : profile.levels) {
      if (level.counters.read) check(level.counters.read->metric);
      if (level.counters.write) check(level.counters.write->metric);
    }
    for (const auto& [name, counter] : profile.work_counters) check(counter.metric);
  }
}
