#include "report/text/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.h"

namespace tilescope::report {
namespace {

// Without a ratio (something was measured as zero) a failure is beyond every size.
double size_of(const ReportRow& row) {
  if (row.ratio) return std::abs(*row.ratio - 1);
  return row.verdict == Verdict::fail ? std::numeric_limits<double>::infinity() : 0;
}

// Multiples of the tolerance; an exact comparison (tolerance 0) that fails is beyond every multiple.
double use_of(const ReportRow& row) {
  const double tolerance = row.tolerance.value_or(0);
  if (tolerance > 0) return size_of(row) / tolerance;
  return size_of(row) > 0 ? 1e9 + size_of(row) : 0;
}

// What failed comes before what an absolute allowance lets pass, whatever their sizes.
bool worse(const ReportRow& a, const ReportRow& b) {
  if (a.verdict != b.verdict) return a.verdict == Verdict::fail;
  return use_of(a) > use_of(b);
}

std::string counted(int n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

}  // namespace

Headline headline_of(const Report& report) {
  Headline headline;
  std::set<std::string> kernels;
  headline.points = static_cast<int>(report.points.size());
  for (const ReportPoint& point : report.points) {
    headline.measured_points += point.measured.has_value();
    kernels.insert(point.kernel);
  }
  headline.kernels.assign(kernels.begin(), kernels.end());
  for (const ReportRow& row : report.rows) {
    if (row.verdict == Verdict::info) ++headline.informative;
    if (row.verdict != Verdict::pass && row.verdict != Verdict::fail) continue;
    ++headline.checked;
    ++(row.verdict == Verdict::pass ? headline.passed : headline.failed);
    if (row.verdict == Verdict::fail) headline.failures.push_back(row);
    if (!headline.worst || worse(row, *headline.worst)) headline.worst = row;
  }
  std::stable_sort(headline.failures.begin(), headline.failures.end(),
                   [](const ReportRow& a, const ReportRow& b) { return size_of(a) > size_of(b); });
  return headline;
}

std::vector<std::string> gpu_names(const Report& report) {
  std::vector<std::string> names;
  for (const Hardware& gpu : report.gpus)
    names.push_back(gpu.chip.empty() ? gpu.name : fmt::format("{} ({})", gpu.name, gpu.chip));
  return names;
}

std::string headline_sentence(const Report& report, const Headline& headline) {
  const std::string gpus = join(gpu_names(report), ", ");
  if (headline.points == 0) return fmt::format("For {} there are no points yet.", gpus);
  const std::string what = fmt::format("{} of {}", counted(headline.points, "point"),
                                       counted(static_cast<int>(headline.kernels.size()), "kernel"));
  const std::string measured = headline.measured_points == 0 ? "none of them measured"
                               : headline.measured_points == headline.points
                                   ? "every one measured"
                                   : fmt::format("{} of them measured", headline.measured_points);
  return fmt::format("On {}, {} {} predicted and {}.", gpus, what, headline.points == 1 ? "was" : "were", measured);
}

}  // namespace tilescope::report
