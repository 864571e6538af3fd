// The sentence that a page begins with. Every number in it is a value of the report.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/text/headline.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

std::string gpu_name(const Report& report, const std::string& id) {
  for (const Hardware& gpu : report.gpus)
    if (gpu.id == id) return gpu.name;
  return id;
}

std::vector<const ReportPoint*> timed_points(const Report& report) {
  std::vector<const ReportPoint*> points;
  for (const ReportPoint& point : report.points)
    if (point.predicted.seconds) points.push_back(&point);
  return points;
}

std::string takes(const Report& report, const ReportPoint& point) {
  return fmt::format("{} ({}) takes {}{} on {}", point.kernel, point.formats.empty() ? point.dtype : point.formats,
                     point.modelled ? "" : "at least ", quantity_short("seconds", point.predicted.seconds, 3),
                     gpu_name(report, point.gpu));
}

// What takes most of the time: the busiest unit, or what no unit is busy with.
std::string mostly(const ReportPoint& point) {
  const std::string bound = "bound by " + resource_name(point.bound_by);
  if (!point.split || !point.predicted.seconds) return bound;
  const TimeSplit& split = *point.split;
  double busiest = 0;
  for (const auto& [unit, seconds] : split.busiest) busiest = std::max(busiest, seconds);
  std::pair<double, const char*> most{split.launch, "launches"};
  most = std::max(most, {split.idle, "multiprocessors without a block"});
  most = std::max(most, {split.waits, "waits"});
  if (most.first <= busiest) return bound;
  return fmt::format("the largest part of it ({}) {}", percent_text(most.first / *point.predicted.seconds),
                     most.second);
}

std::string how_sure(const ReportPoint& point) {
  if (!point.modelled)
    return " The time is a lower bound: that of the slowest resource at the highest rate that the profile states.";
  if (!point.error) return " No error is stated for it: no measurement is near.";
  return fmt::format(
      " For 90 % of {} comparable records{}, the prediction error is at most {}.", plain_number(point.error->n),
      point.error->borrowed_from.empty() ? "" : " of " + point.error->borrowed_from, percent_text(point.error->p90));
}

// "tensor cores bound 7 of them, HBM 5".
std::string bounds_text(const std::vector<const ReportPoint*>& points) {
  std::map<std::string, int> uses;
  for (const ReportPoint* point : points) ++uses[point->bound_by];
  std::vector<std::pair<std::string, int>> order(uses.begin(), uses.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.size() == 1)
    return fmt::format("All {} points are bound by {}", points.size(), resource_name(order[0].first));
  std::vector<std::string> texts;
  for (const auto& [resource, n] : order) texts.push_back(fmt::format("{} ({})", resource_name(resource), n));
  return fmt::format("{} points are bound by {}", points.size(), join(texts, ", "));
}

std::string widest_error(const std::vector<const ReportPoint*>& points) {
  const ReportPoint* widest = nullptr;
  std::size_t bounds = 0, unknown = 0;
  for (const ReportPoint* point : points) {
    bounds += !point->modelled;
    unknown += point->modelled && !point->error;
    if (point->error && (!widest || point->error->p90 > widest->error->p90)) widest = point;
  }
  std::string text;
  if (widest)
    text = fmt::format(" For 90 % of comparable records, the prediction error is at most {}.",
                       percent_text(widest->error->p90));
  if (bounds > 0) text += fmt::format(" {} of the times are lower bounds.", bounds);
  if (unknown > 0) text += fmt::format(" For {} no error is stated.", unknown);
  return text;
}

std::string measured_text(const Report& report) {
  if (!report.time_error) return widest_error(timed_points(report));
  return fmt::format(
      " Measured times differ from predicted ones by {} in the median and by {} or less in nine of ten "
      "of {} comparisons.",
      percent_text(report.time_error->median), percent_text(report.time_error->p90),
      plain_number(report.time_error->n));
}

}  // namespace

std::string answer_sentence(const Report& report) {
  const std::vector<const ReportPoint*> points = timed_points(report);
  if (points.empty()) return headline_sentence(report, headline_of(report));
  const bool measured = std::any_of(points.begin(), points.end(), [](const auto* point) { return point->measured; });
  // A lower bound is not ranked among predicted times.
  std::vector<const ReportPoint*> ranked = points;
  const bool bounds = std::none_of(points.begin(), points.end(), [](const auto* point) { return point->modelled; });
  if (!bounds) std::erase_if(ranked, [](const auto* point) { return !point->modelled; });
  const auto [fast, slow] = std::minmax_element(ranked.begin(), ranked.end(), [](const auto* a, const auto* b) {
    return *a->predicted.seconds < *b->predicted.seconds;
  });
  if (points.size() == 1)
    return fmt::format("{}, {}.{}", takes(report, **fast), mostly(**fast),
                       measured ? measured_text(report) : how_sure(**fast));
  if (measured) return bounds_text(points) + "." + measured_text(report);
  const std::string start = bounds_text(points) + ". ";
  if (ranked.size() == 1)
    return start + "The only predicted time: " + takes(report, **fast) + "." + widest_error(points);
  return start + fmt::format("The {}: {}; the {}: {} on {}.{}", bounds ? "lowest bound" : "shortest time",
                             takes(report, **fast), bounds ? "highest" : "longest",
                             quantity_short("seconds", (*slow)->predicted.seconds, 3), gpu_name(report, (*slow)->gpu),
                             widest_error(points));
}

}  // namespace tilescope::report
