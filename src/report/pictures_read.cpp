#include <fmt/format.h>

#include "base/text.h"
#include "report/fields.h"
#include "report/pictures.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

// A place on a logarithmic axis, or a divisor.
double positive(const Fields& f, const std::string& key) {
  const auto value = f.number(key, true);
  if (value && *value <= 0) f.complain(f.at(key), "a number above zero", f.node().at(key));
  return value.value_or(1);
}

double amount(const Fields& f, const std::string& key) {
  const auto value = f.number(key, true);
  if (value && *value < 0) f.complain(f.at(key), "a number not below zero", f.node().at(key));
  return value.value_or(0);
}

std::map<std::string, double> units(const Fields& f, const std::string& key) {
  std::map<std::string, double> seconds;
  if (const auto object = f.object(key, true))
    for (const UnitName& unit : kUnits)
      if (const auto value = object->number(unit.key)) seconds[unit.key] = *value;
  return seconds;
}

Residual read_residual(const Fields& f) {
  Residual residual{
      .kernel = f.text("kernel", true), .label = f.text("label"), .third_party = f.boolean("third_party", false)};
  for (const char* quantity : kResidualQuantities)
    if (const auto pair = f.object(quantity))
      residual.quantities[quantity] = {positive(*pair, "predicted"), positive(*pair, "measured"), amount(*pair, "bar")};
  return residual;
}

Bar read_bar(const Fields& f) {
  return {.kernel = f.text("kernel", true),
          .quantity = f.text("quantity", true),
          .regime = f.text("regime"),
          .low = positive(f, "low"),
          .high = positive(f, "high"),
          .p90 = amount(f, "p90"),
          .n = amount(f, "n"),
          .stated = f.boolean("stated", false)};
}

Split read_split(const Fields& f) {
  return {.kernel = f.text("kernel", true),
          .label = f.text("label"),
          .third_party = f.boolean("third_party", false),
          .longest = f.boolean("longest", false),
          .measured = positive(f, "measured"),
          .predicted = positive(f, "predicted"),
          .waits = amount(f, "waits"),
          .idle = amount(f, "idle"),
          .launch = amount(f, "launch"),
          .busiest = units(f, "busiest"),
          .units = units(f, "units")};
}

LengthSeries read_series(const Fields& f) {
  LengthSeries series{
      .kernel = f.text("kernel", true), .label = f.text("label"), .third_party = f.boolean("third_party", false)};
  f.each("points", true, [&](const Fields& p) {
    series.points.push_back({positive(p, "kv_len"), positive(p, "predicted"), positive(p, "measured"),
                             positive(p, "compulsory"), positive(p, "no_cache")});
  });
  return series;
}

ClockRow read_clock(const Fields& f) {
  return {.kernel = f.text("kernel", true),
          .label = f.text("label"),
          .third_party = f.boolean("third_party", false),
          .at_limit = f.boolean("at_limit", false),
          .reports_cap = f.boolean("reports_cap", false),
          .seconds = positive(f, "seconds"),
          .predicted_hz = positive(f, "predicted_hz"),
          .nvml_hz = amount(f, "nvml_hz"),
          .predicted_watts = positive(f, "predicted_watts"),
          .nvml_watts = amount(f, "nvml_watts"),
          .low_hz = f.number("low_hz"),
          .high_hz = f.number("high_hz")};
}

}  // namespace

Pictures read_pictures(const Fields& f) {
  Pictures pictures{
      .records = amount(f, "records"), .kernels = amount(f, "kernels"), .experiments = f.texts("experiments")};
  f.each("residuals", false, [&](const Fields& r) { pictures.residuals.push_back(read_residual(r)); });
  f.each("bars", false, [&](const Fields& b) { pictures.bars.push_back(read_bar(b)); });
  f.each("splits", false, [&](const Fields& s) { pictures.splits.push_back(read_split(s)); });
  f.each("lengths", false, [&](const Fields& s) { pictures.lengths.push_back(read_series(s)); });
  f.each("clocks", false, [&](const Fields& c) { pictures.clocks.push_back(read_clock(c)); });
  if (const auto limits = f.object("limits"))
    pictures.limit_watts = limits->number("watts"), pictures.highest_hz = limits->number("highest_hz"),
    pictures.tensor_hz = limits->number("tensor_hz");
  if (const auto counts = f.object("power_limit"))
    pictures.both = amount(*counts, "both"), pictures.model_only = amount(*counts, "model_only"),
    pictures.gpu_only = amount(*counts, "gpu_only"), pictures.neither = amount(*counts, "neither");
  return pictures;
}

std::string unit_name(const std::string& key) {
  for (const UnitName& unit : kUnits)
    if (key == unit.key) return unit.name;
  return key;
}

std::string records_text(const Pictures& pictures) {
  std::string text = with_thousands(static_cast<long long>(pictures.records)) +
                     (pictures.records == 1 ? " record of " : " records of ") +
                     with_thousands(static_cast<long long>(pictures.kernels)) +
                     (pictures.kernels == 1 ? " kernel" : " kernels");
  if (!pictures.experiments.empty())
    text += (pictures.experiments.size() == 1 ? " (experiment " : " (experiments ") + join(pictures.experiments, ", ") +
            ")";
  return text;
}

}  // namespace tilescope::report
