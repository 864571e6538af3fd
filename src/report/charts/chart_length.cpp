#include <algorithm>
#include <cmath>

#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

json length_rows(const LengthSeries& series) {
  json rows = json::array();
  for (const LengthPoint& p : series.points)
    rows.push_back({{"n", p.kv_len},
                    {"predicted", p.predicted},
                    {"measured", p.measured},
                    {"compulsory", p.compulsory},
                    {"no_cache", p.no_cache},
                    {"p", quantity_text("bytes", p.predicted)},
                    {"m", quantity_text("bytes", p.measured)},
                    {"e", error_text(p.predicted / p.measured)},
                    {"c", quantity_text("bytes", p.compulsory)},
                    {"w", quantity_text("bytes", p.no_cache)}});
  return rows;
}

json x_of(const LengthFrame& frame) {
  json ticks = json::array();
  const double low = frame.shortest, high = frame.longest;
  for (double tick = std::exp2(std::floor(std::log2(low))); tick <= high * 1.01; tick *= 2) ticks.push_back(tick);
  return {{"field", "n"},
          {"type", "quantitative"},
          {"title", "keys (sequence length)"},
          {"scale", {{"type", "log"}, {"base", 2}, {"domain", {low / 1.15, high * 1.15}}, {"nice", false}}},
          {"axis",
           {{"values", ticks},
            {"labelOverlap", true},
            {"grid", false},
            {"labelExpr", "datum.value >= 1024 ? datum.value / 1024 + 'k' : datum.value"}}}};
}

// Powers of ten, and three times them where there are few.
json byte_ticks(double low, double high) {
  json ticks = json::array();
  for (double tick = std::pow(10, std::floor(std::log10(low))); tick <= high; tick *= 10)
    for (const double factor : {1., 3.})
      if (tick * factor >= low && tick * factor <= high && (factor == 1 || high / low < 300))
        ticks.push_back(tick * factor);
  return ticks;
}

json length_y(const char* field, const LengthFrame& frame) {
  const double low = frame.least, high = frame.most;
  return {{"field", field},
          {"type", "quantitative"},
          {"title", "DRAM read + written"},
          {"scale", {{"type", "log"}, {"domain", {low / 1.6, high * 1.6}}, {"nice", false}}},
          {"axis",
           {{"values", byte_ticks(low / 1.6, high * 1.6)},
            {"labelExpr", "replace(format(datum.value, '~s'), regexp('([a-zA-Z]?)$'), ' $1B')"}}}};
}

}  // namespace

LengthFrame length_frame(const Pictures& pictures) {
  LengthFrame frame;
  for (const LengthSeries& series : pictures.lengths)
    for (const LengthPoint& p : series.points) {
      frame.shortest = std::min(frame.shortest, p.kv_len), frame.longest = std::max(frame.longest, p.kv_len);
      frame.least = std::min({frame.least, p.compulsory, p.predicted, p.measured});
      frame.most = std::max({frame.most, p.no_cache, p.predicted, p.measured});
    }
  return frame;
}

json length_chart(const LengthSeries& series, const LengthFrame& frame) {
  if (series.points.empty()) return nullptr;
  json spec = chart_base("DRAM bytes of " + series.kernel + ", " + series.label +
                             ", over sequence length, both logarithmic: predicted rings, measured discs, the "
                             "compulsory bytes as a line, and as a dashed line "
                             "what a model without a cache says.",
                         230);
  spec["data"] = {{"values", length_rows(series)}};
  const json tooltip = json::array({{{"field", "n"}, {"type", "quantitative"}, {"title", "keys"}, {"format", ",d"}},
                                    {{"field", "p"}, {"title", "predicted"}},
                                    {{"field", "m"}, {"title", "measured"}},
                                    {{"field", "e"}, {"title", "error"}},
                                    {{"field", "c"}, {"title", "compulsory"}},
                                    {{"field", "w"}, {"title", "without a cache"}}});
  const auto layer = [&](const char* field, json mark) {
    json one{{"mark", std::move(mark)}, {"encoding", {{"x", x_of(frame)}, {"y", length_y(field, frame)}}}};
    if (one["mark"]["type"] == "point") one["encoding"]["tooltip"] = tooltip;
    return one;
  };
  const auto line = [](const char* colour, double width, json dash) {
    return json{{"type", "line"}, {"color", colour}, {"strokeWidth", width}, {"strokeDash", std::move(dash)}};
  };
  spec["layer"] = json::array({layer("no_cache", line("var(--l2)", 1.6, {6, 4})),
                               layer("compulsory", line("var(--ink-2)", 1.4, json::array({1, 0}))),
                               layer("predicted", {{"type", "point"},
                                                   {"filled", false},
                                                   {"size", 150},
                                                   {"strokeWidth", 1.8},
                                                   {"stroke", "var(--hbm)"},
                                                   {"opacity", 1}}),
                               layer("measured", {{"type", "point"},
                                                  {"filled", true},
                                                  {"size", 42},
                                                  {"fill", "var(--ink)"},
                                                  {"stroke", "var(--ink)"},
                                                  {"opacity", 1}})});
  return spec;
}

}  // namespace tilescope::report
