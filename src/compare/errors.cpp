#include "compare/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"

namespace tilescope {
namespace {

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

std::string bar_quantity(const ComparisonRow& row) {
  if (row.quantity == "seconds" || row.quantity == "seconds_cold") return row.quantity;
  return row.quantity == "traffic" && row.level == "hbm" && row.direction == "read" ? "hbm_read_bytes" : "";
}

// kernel and regime may be empty: of all.
struct Group {
  std::string hardware, kernel, quantity, regime;
  bool published = false;
  auto operator<=>(const Group&) const = default;
};

using Observed = std::vector<const ObservedError*>;

std::map<Group, Observed> groups_of(const std::vector<ObservedError>& observed) {
  std::map<Group, Observed> groups;
  for (const ObservedError& one : observed) {
    const bool published = !one.table.empty();
    groups[{one.hardware, one.kernel, one.quantity, "", published}].push_back(&one);
    if (published) continue;
    groups[{one.hardware, one.kernel, one.quantity, one.regime, false}].push_back(&one);
    groups[{one.hardware, "", one.quantity, one.regime, false}].push_back(&one);
    groups[{one.hardware, "", one.quantity, "", false}].push_back(&one);
  }
  return groups;
}

std::string basis_of(const Group& group, const Observed& members) {
  const std::string of = fmt::format("{} on {}", group.kernel.empty() ? "all kernels" : group.kernel, group.hardware);
  if (!group.published)
    return fmt::format("{} {}records of {}", members.size(), group.regime.empty() ? "" : group.regime + " ", of);
  std::set<std::string> tables;
  for (const ObservedError* one : members) tables.insert(one->table);
  return fmt::format("{} published times of {} ({})", members.size(), of,
                     join(std::vector<std::string>(tables.begin(), tables.end()), ", "));
}

ErrorRow row_of(const Group& group, const Observed& members) {
  std::vector<double> errors;
  for (const ObservedError* one : members) errors.push_back(one->error);
  ErrorRow row{.hardware = group.hardware,
               .kernel = group.kernel,
               .quantity = group.quantity,
               .regime = group.regime,
               .published = group.published,
               .mape = spread(errors).mean,
               .p90 = bar_of(errors),
               .n = static_cast<std::int64_t>(errors.size()),
               .held = errors.size() < 2 ? std::nullopt : std::optional(bar_held(errors)),
               .basis = basis_of(group, members)};
  for (const ObservedError* one : members)
    for (const auto& [name, size] : one->sizes) {
      const auto [range, first] = row.sizes.try_emplace(name, size, size);
      if (!first) range->second = {std::min(range->second.first, size), std::max(range->second.second, size)};
    }
  return row;
}

// The bar of errors, where they are enough for one.
std::optional<double> bar_if_enough(const std::vector<double>& errors) {
  return static_cast<std::int64_t>(errors.size()) < enough_errors ? std::nullopt : std::optional(bar_of(errors));
}

std::vector<double> errors_where(const std::vector<ObservedError>& observed, const auto& chosen) {
  std::vector<double> errors;
  for (const ObservedError& one : observed)
    if (chosen(one)) errors.push_back(one.error);
  return errors;
}

// Errors over the bar that other measurements state for them.
using Ratios = std::vector<double>;

ErrorWidening widening_of(const std::string& quantity, const char* cause, const Ratios& ratios) {
  return {quantity, cause, ratios.empty() ? 1 : std::max(1.0, bar_of(ratios)),
          static_cast<std::int64_t>(ratios.size())};
}

// Each error over the bar of the other measurements that lend it one: of the same GPU, chosen by `lends(other, one)`,
// which may depend on the kernel and the regime of `one`.
Ratios over_bars_lent(const std::vector<ObservedError>& of, const auto& lends) {
  Ratios ratios;
  std::map<std::vector<std::string>, std::optional<double>> bars;
  for (const ObservedError& one : of) {
    const auto [bar, fresh] = bars.try_emplace({one.hardware, one.kernel, one.regime});
    if (fresh)
      bar->second = bar_if_enough(errors_where(
          of, [&](const ObservedError& other) { return other.hardware == one.hardware && lends(other, one); }));
    if (bar->second && *bar->second > 0) ratios.push_back(one.error / *bar->second);
  }
  return ratios;
}

Ratios over_other_regimes(const std::vector<ObservedError>& of) {
  return over_bars_lent(of, [](const ObservedError& other, const ObservedError& one) {
    return other.kernel == one.kernel && other.regime != one.regime;
  });
}

Ratios over_other_kernels(const std::vector<ObservedError>& of) {
  return over_bars_lent(of, [](const ObservedError& other, const ObservedError& one) {
    return other.kernel != one.kernel && other.regime == one.regime;
  });
}

// The GPU whose measurements need the widest bar decides.
Ratios over_other_gpus(const std::vector<ObservedError>& of) {
  std::map<std::string, Ratios> by_gpu;
  std::map<std::vector<std::string>, std::optional<double>> bars;
  std::set<std::string> gpus;
  for (const ObservedError& one : of) gpus.insert(one.hardware);
  for (const ObservedError& one : of)
    for (const std::string& gpu : gpus) {
      if (gpu == one.hardware) continue;
      const auto [bar, fresh] = bars.try_emplace({gpu, one.kernel, one.regime});
      if (fresh)
        bar->second = bar_if_enough(errors_where(of, [&](const ObservedError& other) {
          return other.hardware == gpu && other.kernel == one.kernel && other.regime == one.regime;
        }));
      if (bar->second && *bar->second > 0) by_gpu[one.hardware].push_back(one.error / *bar->second);
    }
  Ratios widest;
  for (const auto& [gpu, ratios] : by_gpu)
    if (static_cast<std::int64_t>(ratios.size()) >= enough_errors &&
        (widest.empty() || bar_of(ratios) > bar_of(widest)))
      widest = ratios;
  return widest;
}

// What the bar of a kernel's records without the quarter of the largest (smallest) sizes lacks for these, a doubling.
Ratios beyond_inner_sizes(const Observed& of, const std::string& size, bool larger) {
  std::vector<double> sizes;
  for (const ObservedError* one : of) sizes.push_back(one->sizes.at(size));
  std::sort(sizes.begin(), sizes.end());
  const double edge = larger ? sizes[sizes.size() - sizes.size() / 4 - 1] : sizes[sizes.size() / 4];
  const auto outer = [&](const ObservedError* one) {
    return larger ? one->sizes.at(size) > edge : one->sizes.at(size) < edge;
  };
  std::vector<double> inner;
  for (const ObservedError* one : of)
    if (!outer(one)) inner.push_back(one->error);
  Ratios ratios;
  const auto bar = bar_if_enough(inner);
  if (!bar || *bar <= 0) return ratios;
  for (const ObservedError* one : of)
    if (outer(one))
      ratios.push_back(std::max(0.0, one->error / *bar - 1) /
                       std::max(1.0, std::abs(std::log2(one->sizes.at(size) / edge))));
  return ratios;
}

// The size that needs most decides.
ErrorWidening beyond_sizes(const std::vector<ObservedError>& of, const std::string& quantity, bool larger) {
  constexpr std::size_t enough_for_parts = 20;
  std::map<std::vector<std::string>, Observed> kernels;
  for (const ObservedError& one : of) kernels[{one.hardware, one.kernel}].push_back(&one);
  std::map<std::string, Ratios> by_size;
  for (const auto& [kernel, members] : kernels) {
    if (members.size() < enough_for_parts) continue;
    for (const auto& [size, value] : members.front()->sizes)
      for (const double ratio : beyond_inner_sizes(members, size, larger)) by_size[size].push_back(ratio);
  }
  ErrorWidening widest{quantity, larger ? "larger" : "smaller", 0, 0};
  for (const auto& [size, ratios] : by_size)
    if (static_cast<std::int64_t>(ratios.size()) >= enough_errors && bar_of(ratios) >= widest.factor)
      widest.factor = bar_of(ratios), widest.n = static_cast<std::int64_t>(ratios.size());
  return widest;
}

}  // namespace

std::vector<ObservedError> observed_errors(const Comparison& comparison,
                                           const std::vector<PublishedResult>& published) {
  std::vector<ObservedError> observed;
  for (const ComparisonRow& row : comparison.rows) {
    const std::string quantity = bar_quantity(row);
    if (quantity.empty() || !std::isfinite(row.relative_error())) continue;
    const ComparedRecord& record = comparison.records.at(row.record);
    observed.push_back(
        {row.hardware, row.kernel, quantity, record.regime, "", record.sizes, row.relative_error(), record.blind});
  }
  for (const PublishedResult& table : published)
    for (const PublishedTime& row : table.rows)
      for (const std::string& kernel : row.kernels)
        if (row.fits())
          observed.push_back({table.hardware, kernel, "seconds", "", table.name, row.sizes,
                              std::abs(row.predicted / row.measured - 1), false});
  return observed;
}

std::vector<ErrorWidening> widenings(const std::vector<ObservedError>& observed, const std::string& quantity) {
  std::vector<ObservedError> of;
  for (const ObservedError& one : observed)
    if (one.quantity == quantity && one.table.empty()) of.push_back(one);
  return {widening_of(quantity, "regime", over_other_regimes(of)), widening_of(quantity, "gpu", over_other_gpus(of)),
          widening_of(quantity, "kernel", over_other_kernels(of)), beyond_sizes(of, quantity, false),
          beyond_sizes(of, quantity, true)};
}

ErrorBars error_bars(const std::vector<ObservedError>& observed) {
  std::vector<ErrorRow> rows;
  std::set<std::string> quantities;
  for (const auto& [group, members] : groups_of(observed))
    rows.push_back(row_of(group, members)), quantities.insert(group.quantity);
  std::vector<ErrorWidening> all;
  for (const std::string& quantity : quantities)
    for (ErrorWidening& each : widenings(observed, quantity)) all.push_back(std::move(each));
  return {std::move(rows), std::move(all)};
}

// Without one of the errors, the bar of the others is the one at its place or the next larger one. Those up to that
// place are held by the next one; those beyond it are where they equal it. So all are held that are no larger than the
// bar of all but the largest.
double bar_held(const std::vector<double>& errors) {
  if (errors.size() < 2) return 0;
  std::vector<double> others = errors;
  others.erase(std::max_element(others.begin(), others.end()));
  const double bar = bar_of(std::move(others));
  const auto held = std::count_if(errors.begin(), errors.end(), [&](double error) { return error <= bar; });
  return static_cast<double>(held) / static_cast<double>(errors.size());
}

std::vector<Calibration> calibration(const std::vector<ObservedError>& observed) {
  std::vector<ObservedError> others;
  for (const ObservedError& one : observed)
    if (!one.blind) others.push_back(one);
  const ErrorBars bars = error_bars(others);
  std::map<std::pair<std::string, std::string>, Calibration> found;
  for (const ObservedError& one : observed) {
    if (!one.blind) continue;
    Calibration& part = found[{one.quantity, one.hardware}];
    part.hardware = one.hardware, part.quantity = one.quantity, ++part.n;
    const auto bar = bars.find({one.hardware, one.kernel, one.quantity, one.regime, one.sizes});
    part.held += bar && one.error <= bar->p90;
    part.borrowed += bar && !bar->borrowed_from.empty();
  }
  std::vector<Calibration> list;
  for (auto& [key, part] : found) list.push_back(std::move(part));
  return list;
}

Json to_json(const ErrorBars& bars) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json rows = Json::array(), widening = Json::array();
  for (const ErrorRow& row : bars.rows()) {
    Json sizes = Json::object();
    for (const auto& [name, range] : row.sizes) sizes[name] = {range.first, range.second};
    rows.push_back({{"hardware", row.hardware},
                    {"kernel", or_null(row.kernel)},
                    {"quantity", row.quantity},
                    {"regime", or_null(row.regime)},
                    {"source", row.published ? "published" : "records"},
                    {"mape", rounded(row.mape)},
                    {"p90", rounded(row.p90)},
                    {"n", row.n},
                    {"held", row.held ? Json(rounded(*row.held)) : Json(nullptr)},
                    {"basis", row.basis},
                    {"sizes", std::move(sizes)}});
  }
  for (const ErrorWidening& each : bars.widening())
    widening.push_back(
        {{"quantity", each.quantity}, {"cause", each.cause}, {"factor", rounded(each.factor)}, {"n", each.n}});
  return {{"schema", "tilescope/errors/1"}, {"rows", std::move(rows)}, {"widening", std::move(widening)}};
}

}  // namespace tilescope
