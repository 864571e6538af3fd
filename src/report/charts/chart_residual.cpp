#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

// Errors beyond stand on the edge; the tooltip says the real value.
constexpr double kResidualLargestShown = 1;

// Six digits are finer than a mark is wide, and than a tooltip says.
json rounded(double value) { return json::parse(fmt::format("{:.6g}", value)); }

struct Axis {
  double low = INFINITY, high = 0, worst = 0.02;  // sizes; the largest error either way
};

Axis axis_of(const Pictures& pictures, const std::string& quantity) {
  Axis axis;
  for (const Residual& residual : pictures.residuals)
    if (const auto pair = residual.quantities.find(quantity); pair != residual.quantities.end()) {
      axis.low = std::min(axis.low, pair->second.measured), axis.high = std::max(axis.high, pair->second.measured);
      axis.worst = std::max(axis.worst, std::abs(pair->second.predicted / pair->second.measured - 1));
    }
  axis.worst = std::min(axis.worst, kResidualLargestShown);
  return axis;
}

const char* size_title(const std::string& quantity) {
  if (quantity == "seconds") return "measured time";
  if (quantity == "hbm_read_bytes") return "measured bytes read from DRAM";
  return "measured clocks with a block";
}

json x_of(const char* field, const Axis& axis, const std::string& quantity) {
  json ticks = json::array();
  for (double tick = std::pow(10, std::floor(std::log10(axis.low))); tick <= axis.high * 2; tick *= 10)
    if (tick >= axis.low / 2) ticks.push_back(tick);
  return {
      {"field", field},
      {"type", "quantitative"},
      {"title", size_title(quantity)},
      {"scale", {{"type", "log"}, {"domain", {axis.low / 1.3, axis.high * 1.3}}, {"nice", false}}},
      {"axis",
       {{"values", ticks},
        {"grid", false},
        {"labelExpr", "replace(format(datum.value, '~s'), regexp('([a-zA-Zµ]?)$'), ' $1" + unit_of(quantity) + "')"}}}};
}

json residual_y(const char* field, const Axis& axis) {
  json ticks = json::array();
  const double most = axis.worst * 1.25;
  for (const double t : {-1., -0.3, -0.1, -0.03, -0.01, 0., 0.01, 0.03, 0.1, 0.3, 1.})
    if (std::abs(t) <= most) ticks.push_back(t);
  return {{"field", field},
          {"type", "quantitative"},
          {"title", "predicted / measured − 1"},
          {"scale", {{"type", "symlog"}, {"constant", 0.01}, {"domain", {-most, most}}, {"nice", false}}},
          {"axis", {{"values", ticks}, {"labelExpr", "(datum.value > 0 ? '+' : '') + format(datum.value, '~%')"}}}};
}

std::string chosen() {
  return fmt::format(
      "kernel == '{}' || (kernel == '{}' ? datum.ours : kernel == '{}' ? !datum.ours : datum.kernel == kernel)",
      kEverything, kOurs, kTheirs);
}

// Bars of the chosen kernel by regime; for all kernels, and for groups of them, nine of ten of their records.
json bar_layer(const Pictures& pictures, const std::string& quantity, const Axis& axis) {
  json values = json::array();
  for (const Bar& bar : pictures.bars) {
    if (bar.quantity != quantity) continue;
    const bool all = bar.kernel == kEverything || bar.kernel == kOurs || bar.kernel == kTheirs;
    values.push_back(
        {{"kernel", bar.kernel},
         {"from", rounded(all ? axis.low / 1.3 : bar.low / 1.12)},
         {"to", rounded(all ? axis.high * 1.3 : bar.high * 1.12)},
         {"low", rounded(-std::min(bar.p90, axis.worst * 1.25))},
         {"high", rounded(std::min(bar.p90, axis.worst * 1.25))},
         {"text", tolerance_text(bar.p90)},
         {"regime", bar.regime.empty() ? "all records" : bar.regime},
         {"basis", bar.stated ? "stated by predict"
                              : fmt::format("holds nine of ten of {} records", static_cast<long long>(bar.n))}});
  }
  json layer;
  layer["data"] = {{"values", values}};
  layer["transform"] = json::array({{{"filter", "datum.kernel == kernel"}}});
  layer["mark"] = {{"type", "rect"}, {"fill", "var(--band)"}, {"stroke", "var(--band-edge)"}, {"strokeWidth", 1}};
  layer["encoding"] = {
      {"x", x_of("from", axis, quantity)},
      {"x2", {{"field", "to"}}},
      {"y", residual_y("low", axis)},
      {"y2", {{"field", "high"}}},
      {"tooltip",
       json::array({{{"field", "text"}, {"title", "error bar"}}, {{"field", "regime"}}, {{"field", "basis"}}})}};
  return layer;
}

// The bar that the chart shows for a mark: that of the chosen group, else that of its kernel and regime.
std::string shown_bar(const Pictures& pictures, const std::string& quantity, const std::string& own) {
  std::string text;
  for (const Bar& bar : pictures.bars)
    if (bar.quantity == quantity && (bar.kernel == kEverything || bar.kernel == kOurs || bar.kernel == kTheirs))
      text += fmt::format("kernel == '{}' ? {} : ", bar.kernel, bar.p90);
  return "(" + text + own + ")";
}

json mark_layer(const Pictures& pictures, const std::string& quantity, const Axis& axis) {
  const std::string p = "datum['" + quantity + "_predicted']", m = "datum['" + quantity + "_measured']",
                    b = shown_bar(pictures, quantity, "datum['" + quantity + "_bar']");
  json layer;
  layer["data"] = {{"name", "records"}};
  layer["transform"] = json::array(
      {{{"filter", "isValid(" + m + ") && (" + chosen() + ")"}},
       {{"calculate", m}, {"as", "size"}},
       {{"calculate", p + " / " + m + " - 1"}, {"as", "e"}},
       {{"calculate", fmt::format("clamp(datum.e, {}, {})", -kResidualLargestShown, kResidualLargestShown)},
        {"as", "shown"}},
       {{"calculate", "abs(datum.e) <= " + b + " * 1.0001 ? 'within' : 'outside'"}, {"as", "held"}},
       {{"calculate", "datum.ours ? 'ours' : 'third party'"}, {"as", "whose"}},
       {{"calculate", "(datum.e > 0 ? '+' : '') + format(datum.e, '.2%')"}, {"as", "error"}},
       {{"calculate", "'± ' + format(" + b + ", '.2%')"}, {"as", "bar"}},
       {{"calculate", "replace(format(" + p + ", '.4s'), regexp('([a-zA-Zµ]?)$'), ' $1" + unit_of(quantity) + "')"},
        {"as", "p"}},
       {{"calculate", "replace(format(" + m + ", '.4s'), regexp('([a-zA-Zµ]?)$'), ' $1" + unit_of(quantity) + "')"},
        {"as", "m"}}});
  layer["mark"] = {{"type", "point"}, {"filled", true}, {"strokeWidth", 1.3}, {"opacity", 0.85}, {"clip", true}};
  const json field = {{"field", "held"}, {"type", "nominal"}, {"legend", nullptr}};
  json fill = field, stroke = field;
  fill["scale"] = {{"domain", {"within", "outside"}}, {"range", {"var(--pass)", "var(--paper)"}}};
  stroke["scale"] = {{"domain", {"within", "outside"}}, {"range", {"var(--pass)", "var(--fail)"}}};
  const json shape = {{"field", "whose"},
                      {"type", "nominal"},
                      {"legend", nullptr},
                      {"scale", {{"domain", {"ours", "third party"}}, {"range", {"circle", "triangle-up"}}}}};
  const json size = {{"condition", {{"test", "datum.whose == 'ours'"}, {"value", 30}}}, {"value", 62}};
  layer["encoding"] = {{"x", x_of("size", axis, quantity)},
                       {"y", residual_y("shown", axis)},
                       {"fill", fill},
                       {"stroke", stroke},
                       {"shape", shape},
                       {"size", size},
                       {"tooltip", json::array({{{"field", "kernel"}},
                                                {{"field", "label"}, {"title", "record"}},
                                                {{"field", "whose"}, {"title", "kernel is"}},
                                                {{"field", "p"}, {"title", "predicted"}},
                                                {{"field", "m"}, {"title", "measured"}},
                                                {{"field", "error"}},
                                                {{"field", "bar"}, {"title", "error bar"}}})}};
  return layer;
}

}  // namespace

json residual_chart(const Report& report, const std::string& quantity) {
  if (!report.pictures) return nullptr;
  const Axis axis = axis_of(*report.pictures, quantity);
  if (axis.high <= 0) return nullptr;
  json spec = chart_base("Relative error of every record over its " + std::string(size_title(quantity)) +
                             ". Discs are our kernels, triangles third-party ones; filled marks lie within the error "
                             "bar that is shown, hollow ones outside.",
                         240);
  spec["params"] = json::array({{{"name", "kernel"}, {"value", kEverything}}});
  json zero;
  zero["data"] = {{"values", json::array({{{"e", 0}}})}};
  zero["mark"] = {{"type", "rule"}, {"color", "var(--ink)"}, {"strokeWidth", 1}};
  zero["encoding"] = {{"y", residual_y("e", axis)}};
  spec["layer"] =
      json::array({bar_layer(*report.pictures, quantity, axis), zero, mark_layer(*report.pictures, quantity, axis)});
  return spec;
}

json residual_data(const Report& report) {
  json columns = {"kernel", "label", "ours"}, rows = json::array();
  for (const char* quantity : kResidualQuantities)
    for (const char* part : {"_predicted", "_measured", "_bar"}) columns.push_back(std::string(quantity) + part);
  if (!report.pictures) return {{"columns", columns}, {"rows", rows}};
  for (const Residual& residual : report.pictures->residuals) {
    json row = {residual.kernel, residual.label, !residual.third_party};
    for (const char* quantity : kResidualQuantities) {
      const auto pair = residual.quantities.find(quantity);
      const bool known = pair != residual.quantities.end();
      for (const double PredictedMeasured::*part :
           {&PredictedMeasured::predicted, &PredictedMeasured::measured, &PredictedMeasured::bar})
        row.push_back(known ? rounded(pair->second.*part) : json(nullptr));
    }
    rows.push_back(std::move(row));
  }
  return {{"columns", columns}, {"rows", rows}};
}

}  // namespace tilescope::report
