// Ladders of speed: the kernels measured on one workload from the slowest to the fastest, and what the model and the
// counters say of each step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/family.h"
#include "records/record_label.h"

namespace tilescope::cli {
namespace {

constexpr double worth_telling = 1.05;  // a quantity that changed by less explains nothing

Json number(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }

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
Json changes(const FamilyPoint& before, const FamilyPoint& after) {
  std::vector<std::pair<double, Json>> list;
  for (const Fact& fact : compared_facts) {
    const auto a = predicted_fact(before, fact.name), b = predicted_fact(after, fact.name);
    if (!a || !b || *a == *b) continue;
    const auto factor = quotient(a, b);
    if (factor && std::max(*factor, 1 / *factor) < worth_telling) continue;
    const auto counted_a = counted_fact(before, fact.name), counted_b = counted_fact(after, fact.name);
    list.push_back({factor.value_or(0),
                    {{"quantity", fact.name},
                     {"title", fact.title},
                     {"before", *a},
                     {"after", *b},
                     {"factor", number(factor)},
                     {"counted_before", number(counted_a)},
                     {"counted_after", number(counted_b)},
                     {"counted_factor", number(quotient(counted_a, counted_b))}}});
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  Json json = Json::array();
  for (auto& entry : list) json.push_back(std::move(entry.second));
  return json;
}

bool other_path(const FamilyPoint& before, const FamilyPoint& after) {
  const auto a = path_rate(before), b = path_rate(after);
  return path_of(before) != path_of(after) || a.has_value() != b.has_value() || (a && std::abs(*a / *b - 1) > 0.01);
}

// The gain is the product of two factors: what the model predicts, and how much nearer the kernel runs to its
// prediction.
Json gain(const FamilyPoint& before, const FamilyPoint& after) {
  const TimePrediction &old_time = before.prediction().time, &new_time = after.prediction().time;
  const auto &old_clocks = before.compared->record.clocks, &new_clocks = after.compared->record.clocks;
  const double factor = before.seconds / after.seconds, predicted = old_time.total / new_time.total;
  return {{"factor", factor},
          {"predicted_factor", number(predicted)},
          {"nearness_factor", number(factor / predicted)},
          {"cycles_factor", old_clocks && new_clocks && new_clocks->sm_hz > 0
                                ? number(factor * old_clocks->sm_hz / new_clocks->sm_hz)
                                : Json(nullptr)},
          {"bound_before", to_string(old_time.bound_by)},
          {"bound_before_seconds", number(resource_seconds(before.prediction(), old_time.bound_by))},
          {"bound_before_seconds_now", number(resource_seconds(after.prediction(), old_time.bound_by))},
          {"path_changed", other_path(before, after)},
          {"changes", changes(before, after)}};
}

Json clocks_json(const validate::Record& record) {
  if (!record.clocks) return nullptr;
  return {{"sm_hz", record.clocks->sm_hz},
          {"power_w", record.clocks->power_w},
          {"power_limit_w", record.environment.power_limit_w},
          {"throttle", record.clocks->throttle}};
}

Json step_json(const FamilyPoint& p, std::size_t variants) {
  const double flop = static_cast<double>(p.prediction().work.model_flop);
  return {{"kernel", p.point().kernel},
          {"summary", p.plan().kernel.summary},
          {"third_party", p.third_party()},
          {"implementation", implementation_label(p.point())},
          {"point", point_id(p.point())},
          {"variants", variants},
          {"seconds", p.seconds},
          {"predicted_seconds", p.prediction().time.total},
          {"bound_by", to_string(p.prediction().time.bound_by)},
          {"nearness", p.prediction().time.total / p.seconds},
          {"flop_per_second", flop / p.seconds},
          {"predicted_flop_per_second", number(flop / p.prediction().time.total)},
          {"kv_bytes", p.kv_bytes},
          {"kv_bytes_per_second", p.kv_bytes / p.seconds},
          {"path", path_of(p)},
          {"path_flop_per_second", number(path_rate(p))},
          {"clocks", clocks_json(p.compared->record)},
          {"gain", nullptr}};
}

std::string title_of(const FamilyPoint& p) {
  const validate::PointWorkload& w = p.point().workload;
  const std::string pass = pass_of(p.plan().schedule.diagram), mask = p.point().mask;
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

}  // namespace

Json family_ladders(const std::vector<FamilyPoint>& points, const HardwareProfile& hardware) {
  std::map<std::string, std::map<std::string, std::vector<const FamilyPoint*>>> workloads;
  for (const FamilyPoint& point : points)
    if (point.seconds > 0) workloads[point.workload][point.step].push_back(&point);
  const MemoryLevel* l2 = hardware.level("l2");
  std::vector<Json> ladders;
  for (const auto& [workload, steps] : workloads) {
    if (steps.size() < 2) continue;
    std::vector<std::pair<const FamilyPoint*, std::size_t>> best;  // the fastest record of each step, of how many
    for (const auto& [step, records] : steps)
      best.emplace_back(*std::min_element(records.begin(), records.end(),
                                          [](const auto* a, const auto* b) { return a->seconds < b->seconds; }),
                        records.size());
    std::stable_sort(best.begin(), best.end(),
                     [](const auto& a, const auto& b) { return a.first->seconds > b.first->seconds; });
    const FamilyPoint& fastest = *best.back().first;
    Json list = Json::array();
    for (std::size_t i = 0; i < best.size(); ++i) {
      list.push_back(step_json(*best[i].first, best[i].second));
      if (i > 0) list.back()["gain"] = gain(*best[i - 1].first, *best[i].first);
    }
    const double least_kv = std::min_element(best.begin(), best.end(), [](const auto& a, const auto& b) {
                              return a.first->kv_bytes < b.first->kv_bytes;
                            })->first->kv_bytes;
    ladders.push_back({{"title", title_of(fastest)},
                       {"pass", pass_of(fastest.plan().schedule.diagram)},
                       {"kind", fastest.prediction().time.bound_by == Resource::hbm
                                    ? "bytes"
                                    : "flop"},  // what a faster kernel would have to save
                       {"model_flop", fastest.prediction().work.model_flop},
                       {"fits_l2", l2 && l2->capacity_bytes && least_kv <= l2->capacity_bytes->value},
                       {"steps", std::move(list)}});
  }
  // The longest ladders first, then the largest work.
  std::stable_sort(ladders.begin(), ladders.end(), [](const Json& a, const Json& b) {
    if (a["steps"].size() != b["steps"].size()) return a["steps"].size() > b["steps"].size();
    return a["model_flop"] > b["model_flop"];
  });
  return ladders;
}

}  // namespace tilescope::cli
