// Ladders of speed: the kernels measured on one workload from the slowest to the fastest, and what the model and the
// counters say of each step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/family/points.h"
#include "analysis/number.h"
#include "records/record_label.h"

namespace tilescope::analysis {
namespace {

constexpr double worth_telling = 1.05;  // a quantity that changed by less explains nothing

std::optional<double> resource_seconds(const Prediction& prediction, Resource resource) {
  const double seconds = prediction.time.seconds[static_cast<std::size_t>(resource)];
  return seconds < 0 ? std::nullopt : std::optional(seconds);
}

// "wgmma" or "mma.sync": the instructions of the products, each path once; "fma" where there are no others.
std::string path_of(const FamilyPoint& p) {
  std::set<std::string> paths;
  for (const IslandImplementation& island : p.plan().kernel.islands)
    if (island.tensor_path != TensorPath::none) paths.insert(to_string(island.tensor_path));
  return fmt::format("{}", fmt::join(paths, " + "));
}

// FLOP a second that the instructions of the products reach in the mixture of the point.
std::optional<double> path_rate(const FamilyPoint& p) {
  const bool matrix = p.prediction().work.tensor_flop > 0;
  const auto seconds = resource_seconds(p.prediction(), matrix ? Resource::tensor : Resource::fma);
  if (!matrix || !seconds || *seconds == 0) return std::nullopt;
  return static_cast<double>(p.prediction().work.tensor_flop) / *seconds;
}

struct Fact {
  const char *name, *title;
};
constexpr Fact compared_facts[] = {{"kv_bytes", "K and V in memory"},
                                   {"hbm_bytes", "HBM bytes"},
                                   {"l2_read_bytes", "L2 → SM bytes"},
                                   {"l2_write_bytes", "SM → L2 bytes"},
                                   {"smem_operand_bytes", "shared-memory operand bytes"},
                                   {"tensor_flop", "tensor FLOP"},
                                   {"xu", "XU operations"},
                                   {"fma", "FMA-pipe operations"},
                                   {"launches", "kernel launches"}};

std::optional<double> predicted_fact(const FamilyPoint& p, const std::string& name) {
  if (name == "kv_bytes") return p.kv_bytes;
  if (name == "launches") return static_cast<double>(p.plan().schedule.islands.size());
  if (name == "tensor_flop") return static_cast<double>(p.prediction().work.tensor_flop);  // none is none, not unknown
  return find(p.predicted, name);
}

std::optional<double> counted_fact(const FamilyPoint& p, const std::string& name) {
  if (name == "launches") return static_cast<double>(p.compared->record.islands.size());
  return find(p.measured, name);
}

// Empty when a side is unknown or zero.
std::optional<double> quotient(std::optional<double> a, std::optional<double> b) {
  return a && b && *a > 0 && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

// What fell or rose, largest fall first. A fact that one of the predictions does not have is no change.
std::vector<LadderChange> changes(const FamilyPoint& before, const FamilyPoint& after) {
  std::vector<LadderChange> list;
  for (const Fact& fact : compared_facts) {
    const auto a = predicted_fact(before, fact.name), b = predicted_fact(after, fact.name);
    if (!a || !b || *a == *b) continue;
    const auto factor = quotient(a, b);
    if (factor && std::max(*factor, 1 / *factor) < worth_telling) continue;
    const auto counted_a = counted_fact(before, fact.name), counted_b = counted_fact(after, fact.name);
    list.push_back({.quantity = fact.name,
                    .title = fact.title,
                    .before = *a,
                    .after = *b,
                    .factor = finite(factor),
                    .counted_before = finite(counted_a),
                    .counted_after = finite(counted_b),
                    .counted_factor = finite(quotient(counted_a, counted_b))});
  }
  std::stable_sort(list.begin(), list.end(), [](const LadderChange& x, const LadderChange& y) {
    return x.factor.value_or(0) > y.factor.value_or(0);
  });
  return list;
}

bool other_path(const FamilyPoint& before, const FamilyPoint& after) {
  const auto a = path_rate(before), b = path_rate(after);
  return path_of(before) != path_of(after) || a.has_value() != b.has_value() || (a && std::abs(*a / *b - 1) > 0.01);
}

// The gain is the product of two factors: what the model predicts, and how much nearer the kernel runs to its
// prediction.
Gain gain(const FamilyPoint& before, const FamilyPoint& after) {
  const TimePrediction &old_time = before.prediction().time, &new_time = after.prediction().time;
  const auto &old_clocks = before.compared->record.clocks, &new_clocks = after.compared->record.clocks;
  const double factor = before.seconds / after.seconds, predicted = old_time.total / new_time.total;
  Gain gain{.factor = factor,
            .predicted_factor = finite(predicted),
            .nearness_factor = finite(factor / predicted),
            .bound_before = to_string(old_time.bound_by),
            .bound_before_seconds = finite(resource_seconds(before.prediction(), old_time.bound_by)),
            .bound_before_seconds_now = finite(resource_seconds(after.prediction(), old_time.bound_by)),
            .path_changed = other_path(before, after),
            .changes = changes(before, after)};
  if (old_clocks && new_clocks && new_clocks->sm_hz > 0)
    gain.cycles_factor = finite(factor * old_clocks->sm_hz / new_clocks->sm_hz);
  return gain;
}

std::optional<ClockState> clocks_of(const validate::Record& record) {
  if (!record.clocks) return std::nullopt;
  return ClockState{.sm_hz = record.clocks->sm_hz,
                    .power_w = record.clocks->power_w,
                    .power_limit_w = record.environment.power_limit_w,
                    .throttle = record.clocks->throttle};
}

LadderStep step_of(const FamilyPoint& p, std::size_t variants) {
  const double flop = static_cast<double>(p.prediction().work.model_flop), predicted = p.prediction().time.total;
  return {.kernel = p.point().kernel,
          .summary = p.plan().kernel.summary,
          .implementation = implementation_label(p.point()),
          .point = point_id(p.point()),
          .bound_by = to_string(p.prediction().time.bound_by),
          .path = path_of(p),
          .third_party = p.third_party(),
          .variants = static_cast<double>(variants),
          .seconds = p.seconds,
          .predicted_seconds = finite(predicted),
          .nearness = finite(predicted / p.seconds),
          .flop_per_second = finite(flop / p.seconds),
          .predicted_flop_per_second = finite(flop / predicted),
          .kv_bytes = p.kv_bytes,
          .kv_bytes_per_second = finite(p.kv_bytes / p.seconds),
          .path_flop_per_second = finite(path_rate(p)),
          .clocks = clocks_of(p.compared->record)};
}

std::string title_of(const FamilyPoint& p) {
  const validate::PointWorkload& w = p.point().workload;
  const std::string pass = to_string(pass_of(p.plan().schedule.diagram)), mask = p.point().mask;
  const std::string dims =
      w.d_qk == w.d_v ? fmt::format("head_dim {}", w.d_qk) : fmt::format("head_dim {} (values {})", w.d_qk, w.d_v);
  const std::string lengths = w.q_len == w.kv_len
                                  ? fmt::format("{} queries and keys", w.q_len)
                                  : fmt::format("{} quer{}, {} keys", w.q_len, w.q_len == 1 ? "y" : "ies", w.kv_len);
  const std::string heads = w.heads_q == w.heads_kv ? fmt::format("{} heads", w.heads_q)
                                                    : fmt::format("{} query heads on {} KV head{}", w.heads_q,
                                                                  w.heads_kv, w.heads_kv == 1 ? "" : "s");
  return fmt::format("{}{}, {}, {}, {}, batch {}, {}", static_cast<char>(pass[0] - 'a' + 'A'), pass.substr(1), dims,
                     lengths, heads, w.batch, mask == "none" ? "no mask" : mask + " mask");
}

// The fastest record of each step, and out of how many; slowest step first.
using Best = std::vector<std::pair<const FamilyPoint*, std::size_t>>;
Best best_of(const std::map<std::string, std::vector<const FamilyPoint*>>& steps) {
  Best best;
  for (const auto& [step, records] : steps)
    best.emplace_back(*std::min_element(records.begin(), records.end(),
                                        [](const auto* a, const auto* b) { return a->seconds < b->seconds; }),
                      records.size());
  std::stable_sort(best.begin(), best.end(),
                   [](const auto& a, const auto& b) { return a.first->seconds > b.first->seconds; });
  return best;
}

Ladder ladder_of(const Best& best, const MemoryLevel* l2) {
  const FamilyPoint& fastest = *best.back().first;
  const double least_kv = std::min_element(best.begin(), best.end(), [](const auto& a, const auto& b) {
                            return a.first->kv_bytes < b.first->kv_bytes;
                          })->first->kv_bytes;
  const bool memory = fastest.prediction().time.bound_by == Resource::hbm;
  Ladder ladder{.title = title_of(fastest),
                .pass = to_string(pass_of(fastest.plan().schedule.diagram)),
                .kind = memory ? LadderKind::bytes : LadderKind::flop,
                .model_flop = fastest.prediction().work.model_flop,
                .fits_l2 = l2 && l2->capacity_bytes && least_kv <= l2->capacity_bytes->value};
  for (std::size_t i = 0; i < best.size(); ++i) {
    ladder.steps.push_back(step_of(*best[i].first, best[i].second));
    if (i > 0) ladder.steps.back().gain = gain(*best[i - 1].first, *best[i].first);
  }
  return ladder;
}

}  // namespace

std::vector<Ladder> family_ladders(const std::vector<FamilyPoint>& points, const HardwareProfile& hardware) {
  std::map<std::string, std::map<std::string, std::vector<const FamilyPoint*>>> workloads;
  for (const FamilyPoint& point : points)
    if (point.seconds > 0) workloads[point.workload][point.step].push_back(&point);
  std::vector<Ladder> ladders;
  for (const auto& [workload, steps] : workloads)
    if (steps.size() >= 2) ladders.push_back(ladder_of(best_of(steps), hardware.level(LevelId::l2)));
  std::stable_sort(ladders.begin(), ladders.end(), [](const Ladder& a, const Ladder& b) {
    if (a.steps.size() != b.steps.size()) return a.steps.size() > b.steps.size();
    return a.model_flop > b.model_flop;
  });
  return ladders;
}

}  // namespace tilescope::analysis
