#include "launches/stated_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "launches/program.h"
#include "request/read_point.h"

namespace tilescope::launches {
namespace {

// The point as `predict` would read it, with the head dimensions of the code where the words have none.
StatedSizes sizes_of(const AttentionFacts& facts, Options options, const char* from) {
  const auto add = [&](const char* name, std::int64_t size) {
    if (!options.has(name)) options = options.with(name, fmt::format("{}", size));
  };
  const bool code_states = facts.depth_of_pass == 0;
  if (!code_states && !options.has("head-dim"))
    return {.missing = "sizes: the code leaves the head dimension to the launch: state head_dim"};
  add("head-dim", facts.head_dim);
  if (code_states) add("v-head-dim", facts.v_head_dim);
  for (const char* of_others : {"hardware", "kernel", "schedule", "dtype", "tile", "splits", "pass"})
    options = options.without(of_others);
  try {
    const Point point = read_point(options, read_plan(options, std::nullopt, std::string("flash2")));
    if ((code_states && point.workload.d_qk > facts.head_dim) || point.workload.d_v > facts.v_head_dim)
      return {.missing = fmt::format("sizes: head dimensions {} and {} are stated, the code computes {} and {}",
                                     point.workload.d_qk, point.workload.d_v, facts.head_dim, facts.v_head_dim)};
    return {.workload = point.workload, .mask = options.text("mask").value_or("none"), .from = from, .missing = {}};
  } catch (const InputError& error) {
    return {.missing = fmt::format("sizes: {}", error.diagnostics().front().message)};
  }
}

}  // namespace

std::optional<imported::GivenPoint> point_of_range(const std::string& range) {
  if (range.find('=') == std::string::npos) return std::nullopt;
  try {
    imported::GivenPoint point = imported::parse_given_point(range);
    if (point.options.has("q-len")) return point;
  } catch (const InputError&) {  // another program's words
  }
  return std::nullopt;
}

StatedSizes stated_sizes(const AttentionFacts& facts, const std::string& kernel, const std::vector<std::string>& ranges,
                         const std::vector<imported::GivenPoint>& given) {
  imported::ToolLaunch launch;
  launch.name = kernel;
  for (const imported::GivenPoint& point : given)
    if (point.covers(launch)) return sizes_of(facts, point.options, "option");
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range)
    if (const auto point = point_of_range(*range)) return sizes_of(facts, point->options, "range");
  return {.missing = unknown_sizes};
}

}  // namespace tilescope::launches
