#include "boundaries/formats.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/text.h"

namespace tilescope {
namespace {

// An array in one direction, at a schedule's best whole tiles.
struct Moves {
  double beta = 0;   // of the term that it belongs to
  double width = 0;  // bytes a value
  double bytes = 0;
  bool state = false;
};

struct Counted {
  std::map<std::string, Moves> arrays;  // by "array direction"
  std::map<double, double> bytes;       // by exponent
  std::vector<std::string> tiles;       // a text a kernel
};

Counted counted(const BoundSchedule& schedule) {
  Counted all;
  for (const BoundKernel& kernel : schedule.kernels) {
    const std::vector<std::int64_t> tiles = whole_tiles(kernel);
    all.tiles.push_back(whole_tiles_text(kernel, tiles));
    const double beta = kernel.optimum.terms.empty() ? 0 : kernel.optimum.terms.front().beta.to_double();
    for (const KernelCount::Moved& array : count_kernel(kernel, schedule.request, tiles).moved) {
      Moves& sum = all.arrays[array.array + (array.store ? " store" : " load")];
      sum.beta = array.repeated ? beta : 0, sum.state = array.state;
      sum.width = array.bytes / static_cast<double>(array.values), sum.bytes += array.bytes;
      all.bytes[sum.beta] += array.bytes;
    }
  }
  return all;
}

// The ratio of the widths if all arrays that move have the same one; running state keeps its width in every format.
std::optional<double> common_ratio(const Counted& first, const Counted& other) {
  std::optional<double> ratio;
  for (const auto& [name, array] : first.arrays) {
    const auto same = other.arrays.find(name);
    if (same == other.arrays.end() || array.state) continue;
    const double widths = array.width / same->second.width;
    if (ratio && std::abs(widths - *ratio) > 1e-9) return std::nullopt;
    ratio = widths;
  }
  return ratio;
}

double alpha_of(const PowerLaw& law, double beta) {
  double alpha = 0;
  for (const PowerTerm& term : law)
    if (term.beta == beta) alpha += term.alpha;
  return alpha;
}

void add_terms(FormatChange& change, const Counted& first, const FormatCase& other, const Counted& counts) {
  const PowerLaw before = change.cases.front().schedule.law(), after = other.schedule.law();
  const std::optional<double> q = common_ratio(first, counts);
  const auto add = [&](const std::string& array, double beta, double bytes_first, double bytes) {
    FormatTerm term{other.format, array, beta, {}, {}, bytes_first, bytes};
    if (q) term.factor = std::pow(*q, 1 + beta);
    if (array == "all" && alpha_of(after, beta) > 0) term.law = alpha_of(before, beta) / alpha_of(after, beta);
    change.terms.push_back(std::move(term));
  };
  for (const auto& [name, array] : first.arrays)
    if (const auto same = counts.arrays.find(name); same != counts.arrays.end() && !array.state)
      add(name, array.beta, array.bytes, same->second.bytes);
  for (const auto& [beta, bytes] : first.bytes)
    if (const auto same = counts.bytes.find(beta); same != counts.bytes.end()) add("all", beta, bytes, same->second);
}

std::string optional_text(const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : ""; }

}  // namespace

FormatChange format_change(const BoundSchedule& schedule, const std::vector<std::string>& formats,
                           const std::vector<DeriveRequest>& requests) {
  FormatChange change;
  for (std::size_t i = 0; i < formats.size(); ++i)
    change.cases.push_back({formats[i], rebound(schedule, requests[i]), {}});
  for (const FormatCase& one : change.cases) {
    if (!one.schedule.feasible()) change.open_because = fmt::format("in {} it does not fit the memory", one.format);
    else if (const std::string why = one.schedule.open_because(); !why.empty()) change.open_because = why;
    if (!change.open_because.empty()) return change;
  }
  const Counted first = counted(change.cases.front().schedule);
  change.cases.front().tiles = first.tiles;
  for (std::size_t i = 1; i < change.cases.size(); ++i) {
    const Counted counts = counted(change.cases[i].schedule);
    change.cases[i].tiles = counts.tiles;
    add_terms(change, first, change.cases[i], counts);
  }
  return change;
}

PageSection formats_section(const FormatChange& change) {
  const FormatCase& first = change.cases.front();
  PageSection section{.heading = "Change of number format: q^(1+beta)"};
  if (!change.open_because.empty()) {
    section.paragraphs.push_back("No prediction: " + change.open_because + ".");
    return section;
  }
  section.paragraphs.push_back(fmt::format(
      "A term of exponent beta falls by q^(1+beta) when every array becomes q times narrower: fewer bytes a value, and "
      "more values in {} bytes (Napkin, arXiv 2412.03317, section 5.2). Ratios are {} divided by the other format. "
      "law: "
      "ratio of alpha in bytes, with running state in fp32. counted: exact bytes at the best whole tiles.",
      with_thousands(std::llround(first.schedule.request.memory)), first.format));
  for (const FormatCase& one : change.cases)
    section.paragraphs.push_back(
        fmt::format("{}: {}; tiles {}.", one.format, one.schedule.law_text(), join(one.tiles, "; then ")));
  PageTable table{
      .columns = {"format", "array", "beta", "q^(1+beta)", "law", "bytes in " + first.format, "bytes", "counted"}};
  for (const FormatTerm& term : change.terms)
    table.rows.push_back({term.format, term.array, fmt::format("{:g}", term.beta),
                          term.factor ? optional_text(term.factor) : "widths differ", optional_text(term.law),
                          with_thousands(std::llround(term.bytes_first)), with_thousands(std::llround(term.bytes)),
                          fmt::format("{:.3f}", term.counted())});
  section.tables.push_back(std::move(table));
  return section;
}

nlohmann::ordered_json formats_json(const FormatChange& change) {
  using Json = nlohmann::ordered_json;
  Json cases = Json::array(), terms = Json::array();
  for (const FormatCase& one : change.cases)
    cases.push_back({{"format", one.format}, {"law", one.schedule.law_text()}, {"tiles", one.tiles}});
  for (const FormatTerm& term : change.terms)
    terms.push_back({{"format", term.format},
                     {"array", term.array},
                     {"beta", term.beta},
                     {"factor", term.factor ? Json(*term.factor) : Json()},
                     {"law", term.law ? Json(*term.law) : Json()},
                     {"bytes_first", term.bytes_first},
                     {"bytes", term.bytes},
                     {"counted", term.counted()}});
  return {{"schedule", change.cases.front().schedule.name},
          {"formula", "q^(1+beta)"},
          {"origin", "arXiv 2412.03317, section 5.2"},
          {"no_prediction", change.open_because.empty() ? Json() : Json(change.open_because)},
          {"formats", cases},
          {"terms", terms}};
}

}  // namespace tilescope
