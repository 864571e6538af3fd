#include "compare/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "compare/catalogue.h"
#include "compare/comparison_columns.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "records/json_fields.h"
#include "records/with_place.h"

namespace tilescope {
namespace {

using validate::PublishedRow;
using validate::PublishedTable;

[[noreturn]] void refuse(const PublishedTable& table, const PublishedRow& row, const std::string& message) {
  throw InputError(Diagnostic{.file = table.rows_file, .line = row.line, .message = message});
}

// The row's point with the tile that it names, or the kernel's first variant that serves it.
Point point_of(const PublishedTable& table, const PublishedRow& row, const validate::MeasurePoint& measured,
               const Plan& plan, const HardwareProfile& hardware, const std::filesystem::path& data_directory) {
  validate::Record record;
  record.file = table.rows_file, record.point = measured;
  Point point = model_point(record, plan, data_directory);
  bool built = plan.kernel.variants.empty();
  for (const KernelVariant& variant : plan.kernel.variants) {
    const auto wanted = [](std::int64_t given, std::int64_t has) { return given == 0 || given == has; };
    if (built || !serves(plan, point, variant) || !wanted(measured.tile_q, variant.tile_q) ||
        !wanted(measured.tile_kv, variant.tile_kv) || !wanted(measured.warps, variant.warps))
      continue;
    take_variant(point, plan.schedule, variant);
    built = true;
  }
  if (!built) refuse(table, row, fmt::format("kernel '{}' has no variant for {}", measured.kernel, point_id(measured)));
  std::vector<std::string> reasons = unsupported(plan, hardware, point);
  if (const std::string reason = unsupported_on(plan, hardware); !reason.empty()) reasons.push_back(reason);
  for (const std::string& reason : outside_shapes(plan.kernel, hardware, point.workload)) reasons.push_back(reason);
  if (!reasons.empty()) refuse(table, row, join(reasons, "; "));
  return point;
}

double hbm_rate(const HardwareProfile& hardware) {
  if (hardware.measured && hardware.measured->hbm.copy) return hardware.measured->hbm.copy->value;
  const MemoryLevel* hbm = hardware.level(LevelId::hbm);
  if (hbm && hbm->measured_bandwidth_bytes_per_second) return hbm->measured_bandwidth_bytes_per_second->value;
  return hbm && hbm->bandwidth_bytes_per_second ? hbm->bandwidth_bytes_per_second->value : 0;
}

// A kernel that copies whole arrays: read and written once, and a launch.
double copy_seconds(const PublishedTable& table, const PublishedRow& row, const Plan& plan, const Point& point,
                    const HardwareProfile& hardware) {
  if (table.copies.empty()) return 0;
  const Diagram& diagram = plan.schedule.diagram;
  double bytes = 0;
  for (const std::string& name : table.copies) {
    const auto id = diagram.find_array(name);
    if (!id)
      refuse(table, row, fmt::format("{}: copies: kernel '{}' has no array '{}'", table.file, plan.kernel.name, name));
    std::int64_t values = 1;
    for (const AxisId axis : diagram.array(*id).axes)
      values *= diagram.axes[static_cast<std::size_t>(axis)].size_in(point.workload);
    bytes += 2 * static_cast<double>(bytes_of(point, diagram, *id, values));
  }
  const double launch = hardware.measured && hardware.measured->launch.interval
                            ? hardware.measured->launch.interval->value
                        : hardware.launch_seconds ? hardware.launch_seconds->value
                                                  : 0;
  const double rate = hbm_rate(hardware);
  return launch + (rate > 0 ? bytes / rate : 0);
}

double roofline_seconds(const Prediction& prediction, const HardwareProfile& hardware, Format format) {
  const auto rate = hardware.tensor_flop_per_cycle.find(format);
  const auto clock = hardware.tensor_hz ? hardware.tensor_hz : hardware.boost_hz;
  const MemoryLevel* hbm = hardware.level(LevelId::hbm);
  double seconds = 0;
  if (rate != hardware.tensor_flop_per_cycle.end() && clock)
    seconds = static_cast<double>(prediction.work.model_flop) /
              (rate->second.value * static_cast<double>(hardware.units.value) * clock->value);
  if (hbm && hbm->bandwidth_bytes_per_second)
    seconds =
        std::max(seconds, static_cast<double>(prediction.compulsory_bytes) / hbm->bandwidth_bytes_per_second->value);
  return seconds;
}

PublishedTime predict_row(const PublishedTable& table, const PublishedRow& row, const Catalogue& catalogue) {
  const HardwareProfile& hardware = catalogue.profiles.at(table.hardware);
  PublishedTime time{.point = point_id(row.points.front()), .measured = row.seconds};
  Prediction prediction;
  for (std::size_t i = 0; i < row.points.size(); ++i) {
    const validate::MeasurePoint& measured = row.points[i];
    const Plan& plan = catalogue.plans.at(measured.kernel);
    const Point point = point_of(table, row, measured, plan, hardware, catalogue.data_directory);
    predict(plan, hardware, point, prediction, Wanted::times);
    time.kernels.push_back(measured.kernel);
    time.sizes = error_sizes(point.workload);
    time.predicted += prediction.time.total + (i == 0 ? copy_seconds(table, row, plan, point, hardware) : 0);
    time.roofline += roofline_seconds(prediction, hardware, measured.dtype);
    time.flop += static_cast<double>(prediction.work.model_flop);
    for (const FootprintRow& footprint : prediction.footprint)
      if (!footprint.within())
        time.excess = std::max(time.excess, static_cast<double>(footprint.bytes) / footprint.capacity_bytes);
    if (i > 0) time.point += "+" + measured.kernel;
  }
  return time;
}

// `knows_fit`: whether this way of predicting says that a kernel does not fit.
PublishedScore score(const std::vector<PublishedTime>& rows, double PublishedTime::*predicted, bool knows_fit) {
  PublishedScore out;
  std::vector<double> errors, ratios, measured_rates, predicted_rates;
  double slowest = 1e300;
  for (const PublishedTime& row : rows) slowest = std::min(slowest, row.flop / row.*predicted);
  for (const PublishedTime& row : rows) {
    measured_rates.push_back(row.flop / row.measured);
    // What does not fit comes after all that does, the more it lacks the later.
    const bool fits = row.fits() || !knows_fit;
    predicted_rates.push_back(fits ? row.flop / row.*predicted : slowest / (1 + row.excess));
    if (!fits) continue;
    ratios.push_back(row.*predicted / row.measured - 1);
    errors.push_back(std::abs(ratios.back()));
  }
  out.rank = rank_correlation(measured_rates, predicted_rates);
  if (errors.empty()) return out;
  out.error = spread(errors);
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  out.bias = *middle;
  return out;
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) rank[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

}  // namespace

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    xx += (x[i] - mean) * (x[i] - mean), yy += (y[i] - mean) * (y[i] - mean), xy += (x[i] - mean) * (y[i] - mean);
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

bool PublishedResult::passed() const {
  return (!most_mape || model.error.mean <= *most_mape) && (!least_rank || model.rank >= *least_rank);
}

std::vector<PublishedResult> compare_published(const std::vector<PublishedTable>& tables,
                                               const std::filesystem::path& data_directory, RatesFrom rates,
                                               std::size_t threads) {
  Catalogue catalogue{.data_directory = data_directory, .plans = {}, .profiles = {}, .rates = rates};
  std::vector<PublishedResult> results;
  struct Place {
    std::size_t table, row;
  };
  std::vector<Place> places;
  // What threads share is read before they start.
  for (const PublishedTable& table : tables) {
    PublishedResult& result = results.emplace_back();
    result.name = table.name, result.hardware = table.hardware, result.source = table.source;
    result.most_mape = table.mape, result.least_rank = table.rank;
    result.rows.resize(table.rows.size());
    with_place({.file = table.file, .path = "hardware"}, [&] { catalogue.profile(table.hardware); });
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      places.push_back({results.size() - 1, row});
      for (const validate::MeasurePoint& point : table.rows[row].points)
        with_place({.file = table.rows_file, .line = table.rows[row].line, .path = "kernel"},
                   [&] { catalogue.plan(point.kernel); });
    }
  }
  in_order(
      places.size(), threads,
      [&](std::size_t i, std::size_t) {
        const auto [table, row] = places[i];
        results[table].rows[row] = predict_row(tables[table], tables[table].rows[row], catalogue);
      },
      [](std::size_t, std::size_t) {});
  for (PublishedResult& result : results) {
    result.model = score(result.rows, &PublishedTime::predicted, true);
    result.roofline = score(result.rows, &PublishedTime::roofline, false);
  }
  return results;
}

Json to_json(const std::vector<PublishedResult>& results) {
  return {{"schema", "tilescope/published-comparison/1"}, {"tables", objects_of(published_columns(), results)}};
}

std::vector<PublishedResult> read_published_results(const std::filesystem::path& file) {
  std::vector<PublishedResult> results;
  const std::string what = "comparison that tilescope validate --published DIRECTORY --format json has printed";
  try {
    const Json json = validate::parse_object(read_file(file), file.string(), "a " + what);
    for (const Json& table : json.at("tables")) {
      PublishedResult& result = results.emplace_back();
      result.name = table.at("name"), result.hardware = table.at("hardware");
      for (const Json& row : table.at("rows")) {
        PublishedTime& time = result.rows.emplace_back(PublishedTime{.point = row.at("point")});
        time.measured = row.at("measured"), time.kernels = row.at("kernels").get<std::vector<std::string>>();
        time.sizes = row.at("sizes").get<ErrorSizes>();
        if (row.at("fits").get<bool>()) time.predicted = row.at("predicted");
        else time.excess = std::numeric_limits<double>::infinity();
      }
    }
  } catch (const Json::exception& error) {
    const std::string finding = error.what();  // "[json.exception...] key 'tables' not found"
    throw InputError(Diagnostic{
        .file = file.string(),
        .message =
            fmt::format("is no {}: {}", what, finding.substr(std::min(finding.find("] ") + 2, finding.size())))});
  }
  return results;
}

}  // namespace tilescope
