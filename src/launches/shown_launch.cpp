#include "launches/shown_launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/parallel.h"
#include "kernel/describe/nested/launched_dims.h"
#include "launches/captured_sizes.h"

namespace tilescope::launches {
namespace {

using capture::Capture;
using capture::CapturedLaunch;

constexpr std::size_t word_bytes = 4, pointer_bytes = 8, tensor_map_bytes = 128;
constexpr std::int64_t warp_threads = 32;

// Parameters without what differs between launches of the same sizes: addresses, which tensor maps hold too.
std::string plain_parameters(const CapturedLaunch& launch) {
  std::string bytes = launch.parameters;
  const auto clear = [&](std::int64_t offset, std::size_t count) {
    const auto begin = static_cast<std::size_t>(std::max<std::int64_t>(0, offset));
    for (std::size_t i = begin; i < std::min(bytes.size(), begin + count); ++i) bytes[i] = 0;
  };
  for (const std::int64_t offset : launch.addresses) clear(offset, pointer_bytes);
  for (const capture::MapPlace& place : launch.tensor_maps) clear(place.offset, tensor_map_bytes);
  return bytes;
}

// Launches of one kernel and geometry, by their parameters.
struct Family {
  AskedLaunch asked;  // one of them
  std::map<std::string, std::vector<std::size_t>> launches;
};

std::string family_key(const Capture& capture, const AskedLaunch& asked) {
  const CapturedLaunch& launch = capture.launches[asked.launch];
  std::string key =
      fmt::format("{} {} {} {} {} {}", launch.kernel, fmt::join(launch.grid, ","), fmt::join(launch.block, ","),
                  fmt::join(launch.cluster, ","), launch.dynamic_shared_bytes, launch.parameters.size());
  key += fmt::format(" {}", fmt::join(launch.addresses, ","));
  if (const auto& w = asked.known)
    key += fmt::format(" stated {} {} {} {} {}", w->batch, w->heads_q, w->heads_kv, w->q_len, w->kv_len);
  for (const capture::MapPlace& place : launch.tensor_maps) {
    const capture::CapturedTensorMap& map = capture.tensor_maps.at(static_cast<std::size_t>(place.map));
    key += fmt::format(" {} {} {} {} {}", place.offset, map.type, fmt::join(map.dims, ","), fmt::join(map.strides, ","),
                       fmt::join(map.box, ","));
  }
  return key;
}

// Words in which the parameters of a family differ.
std::vector<std::int64_t> varying_words(const Family& family) {
  std::set<std::int64_t> words;
  const std::string& first = family.launches.begin()->first;
  for (const auto& [parameters, launches] : family.launches)
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i] != first[i]) words.insert(static_cast<std::int64_t>(i / word_bytes * word_bytes));
  return {words.begin(), words.end()};
}

// Whether the words on which something depends are the same.
bool same_words(const std::string& a, const std::string& b, const std::vector<std::int64_t>& varying,
                VaryingWords depends) {
  for (std::size_t i = 0; i < varying.size(); ++i) {
    const auto offset = static_cast<std::size_t>(varying[i]);
    if ((depends & varying_bit(i)) != 0 && a.compare(offset, word_bytes, b, offset, word_bytes) != 0) return false;
  }
  return true;
}

struct Shown {
  ShownLaunch launch;
  std::vector<std::int64_t> varying;  // of the family
  VaryingWords varies = 0;
};

// The first of the family.
Shown carried_out(const Capture& capture, const Family& family) {
  const AskedLaunch& asked = family.asked;
  const CapturedLaunch& launch = capture.launches[family.launches.begin()->second.front()];
  const auto& [kernel, code, facts] = *asked.code;
  TracedLaunch traced = traced_launch(launch, kernel);
  traced.varying = varying_words(family);
  Shown shown{.launch = {}, .varying = traced.varying};
  const LaunchedRows rows = facts.stores_log_sum_exp ? leaves_out_rows(code, traced) : LaunchedRows{};
  const LaunchedDims dims = facts.depth_of_pass > 0 ? launched_head_dims(code, traced, facts) : LaunchedDims{};
  shown.launch.leaves_out_rows = rows.left_out, shown.launch.head_dims = dims.dims;
  const bool copies = facts.copied_bytes > 0 && !facts.copy_engine && facts.pass == AttentionPass::forward;
  const LaunchedStages stages = copies ? stages_of_copies(code, traced, facts.copied_bytes) : LaunchedStages{};
  shown.launch.stages = stages.stages;
  const LaunchedEnds ends = facts.unit_threads > warp_threads && facts.pass == AttentionPass::forward
                                ? ends_of_warpgroups(code, traced)
                                : LaunchedEnds{};
  const LaunchEvidence evidence = captured_evidence(capture, launch, std::move(traced), code);
  shown.launch.sizes = sizes_of(evidence, launched_facts(facts, shown.launch), launch_of(launch), asked.known);
  shown.launch.tensor_maps = !evidence.maps.empty();
  shown.launch.sizes.own_last_tile = ends.differ;
  shown.varies = rows.varies | dims.varies | stages.varies | ends.varies | evidence.varies;
  return shown;
}

}  // namespace

AttentionFacts launched_facts(AttentionFacts facts, const ShownLaunch& shown) {
  if (shown.leaves_out_rows) facts.stores_log_sum_exp = false;
  if (facts.depth_of_pass == 0 || !shown.head_dims) return facts;
  return with_head_dims(std::move(facts), shown.head_dims->first, shown.head_dims->second);
}

ShownLaunch shown_launch(const Capture& capture, std::size_t launch, const KernelCode& code,
                         const std::optional<Workload>& known) {
  return carried_out(capture, {{launch, &code, known}, {{capture.launches[launch].parameters, {launch}}}}).launch;
}

std::map<std::size_t, ShownLaunch> shown_launches(const Capture& capture, const std::vector<AskedLaunch>& asked) {
  std::map<std::string, Family> by_key;
  for (const AskedLaunch& each : asked) {
    if (each.code == nullptr || capture.launches[each.launch].parameters.empty()) continue;
    Family& family = by_key.try_emplace(family_key(capture, each), Family{each, {}}).first->second;
    family.launches[plain_parameters(capture.launches[each.launch])].push_back(each.launch);
  }
  std::vector<Family> families;
  for (auto& [key, family] : by_key) families.push_back(std::move(family));
  std::map<std::size_t, ShownLaunch> found;
  std::vector<Shown> slots(slots_of(all_cores()));
  while (!families.empty()) {
    std::vector<Family> rest;  // those that differ in words that matter
    in_order(
        families.size(), all_cores(),
        [&](std::size_t i, std::size_t slot) { slots[slot] = carried_out(capture, families[i]); },
        [&](std::size_t i, std::size_t slot) {
          const Shown& shown = slots[slot];
          Family others{families[i].asked, {}};
          const std::string& first = families[i].launches.begin()->first;
          for (const auto& [parameters, launches] : families[i].launches)
            if (!same_words(first, parameters, shown.varying, shown.varies)) others.launches[parameters] = launches;
            else
              for (const std::size_t launch : launches) found[launch] = shown.launch;
          if (!others.launches.empty()) rest.push_back(std::move(others));
        });
    families = std::move(rest);
  }
  return found;
}

}  // namespace tilescope::launches
