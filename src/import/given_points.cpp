#include "import/given_points.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "request/option_specs.h"

namespace tilescope::imported {
namespace {

std::pair<std::int64_t, std::int64_t> parse_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_count(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_count(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first)
    refuse("--point", fmt::format("expected launches as in launches=0-3,7, found {}", shown_text(text)));
  return {*first, *last};
}

}  // namespace

bool GivenPoint::covers(const ToolLaunch& launch) const {
  if (launch.name.find(name) == std::string::npos) return false;
  if (numbers.empty()) return true;
  const auto number = parse_count(launch.id);
  return number && std::any_of(numbers.begin(), numbers.end(),
                               [&](const auto& range) { return range.first <= *number && *number <= range.second; });
}

std::vector<GivenPoint> stated_points(const ToolFile& file) {
  std::vector<GivenPoint> points;
  std::vector<Diagnostic> findings;
  for (const StatedPoint& stated : file.stated.points) {
    GivenPoint point;
    point.file = file.path, point.place = stated.place;
    point.numbers = {{stated.first, stated.last}};
    try {
      point.options = checked_options(stated.words, point_options());
    } catch (const InputError& error) {
      findings.push_back(at_place(point, error.diagnostics().front()));
    }
    points.push_back(std::move(point));
  }
  if (!findings.empty()) throw InputError(std::move(findings));
  return points;
}

Diagnostic at_place(const GivenPoint& point, Diagnostic finding) {
  if (point.file.empty() || !finding.file.empty()) return finding;
  finding.file = point.file;
  finding.path = point.place + (finding.path.empty() || finding.path == "--point" ? "" : ": " + finding.path);
  return finding;
}

GivenPoint parse_given_point(const std::string& text) {
  GivenPoint point;
  std::vector<std::pair<std::string, std::string>> words;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      refuse("--point", fmt::format("expected NAME=VALUE words as in batch=2 q_len=4k, found {}", shown_text(word)));
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "name") point.name = value;
    else if (name == "launches")
      for (const std::string& range : split(value, ',')) point.numbers.push_back(parse_range(range));
    else words.emplace_back(name, value);
  }
  point.options = checked_options(words, point_options());
  return point;
}

}  // namespace tilescope::imported
