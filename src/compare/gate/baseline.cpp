#include "compare/gate/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/escape.h"
#include "base/files.h"
#include "base/text.h"
#include "compare/comparison_columns.h"
#include "compare/gate/parts.h"
#include "compare/gate/source_file.h"
#include "records/json_fields.h"

namespace tilescope {
namespace {

constexpr const char* baseline_schema = "tilescope/baseline/1";
constexpr double worse_points = 0.02, worse_part = 0.10;  // of an error
constexpr double grown = 1.03;                            // of a measured time, or of counted bytes

using BaselineKey = std::tuple<std::string, std::string, std::string, std::string>;

template <class Row>
BaselineKey key_of(const Row& row, const std::string& quantity) {
  return {row.experiment, row.hardware, row.point, quantity};
}

bool is_time(const std::string& quantity) { return quantity.starts_with("seconds") || quantity == "busy_cycles"; }
bool is_bytes(const std::string& quantity) { return quantity.starts_with("traffic"); }

double error_of(double predicted, double measured) {
  return measured == 0 ? (predicted == 0 ? 0 : 1e9) : std::abs(predicted - measured) / measured;
}

std::string moved(const char* side, double from, double to) {
  const auto shown = [](double value) {
    return value == std::floor(value) && std::abs(value) < 9e15 ? with_thousands(static_cast<long long>(value))
                                                                : fmt::format("{:.6g}", value);
  };
  return fmt::format("{} moved from {} to {}{}", side, shown(from), shown(to),
                     from == 0 ? "" : fmt::format(" ({:+.2f} %)", 100 * (to / from - 1)));
}

std::map<std::string, std::string> fingerprints(const std::map<std::string, std::filesystem::path>& files) {
  std::map<std::string, std::string> hashes;
  for (const auto& [name, file] : files) hashes[name] = fingerprint(file);
  return hashes;
}

// "; descriptor of mine changed (commit 1a2b3c4d5e6f of 2026-11-25)", for each file that differs from the baseline's.
class ChangedFiles {
 public:
  ChangedFiles(const Baseline& baseline, const Comparison& comparison, const GateSource& source)
      : baseline_(baseline), source_(source), files_(source_files(comparison, source.data_directory)) {}

  std::string text(const std::string& name) {
    const auto then = baseline_.files.find(name);
    const auto now = files_.find(name);
    if (then == baseline_.files.end() || now == files_.end()) return "";
    const auto [found, added] = texts_.try_emplace(name);
    if (added && fingerprint(now->second) != then->second)
      found->second = fmt::format("; {} changed{}", name, why(now->second));
    return found->second;
  }

 private:
  // Of a file that came with the program, its version says which it is.
  std::string why(const std::filesystem::path& file) const {
    if (const std::string commit = commit_of(file); !commit.empty()) return " (" + commit + ")";
    if (baseline_.program.empty() || source_.program.empty() || baseline_.program == source_.program) return "";
    return fmt::format(" (tilescope {} -> {})", baseline_.program, source_.program);
  }

  const Baseline& baseline_;
  const GateSource& source_;
  std::map<std::string, std::filesystem::path> files_;
  std::map<std::string, std::string> texts_;  // by name
};

// The row against its baseline; nothing where it did not move.
std::optional<BaselineChange> change_of(const BaselineRow& before, const ComparisonRow& now) {
  const std::string quantity = now.label();
  const double error = error_of(now.predicted, now.measured), old = error_of(before.predicted, before.measured);
  const bool worse = error - old >= worse_points && error >= old * (1 + worse_part);
  const bool grew = before.measured > 0 && now.measured >= grown * before.measured;
  const bool predicted_moved = before.predicted != now.predicted, measured_moved = before.measured != now.measured;
  if (!predicted_moved && !measured_moved) return std::nullopt;
  const bool exact_moved = !is_time(quantity) && (predicted_moved || (measured_moved && !is_bytes(quantity)));
  std::vector<std::string> parts;
  if (predicted_moved) {
    const std::string causes = moved_parts(before.parts, now.parts);
    parts.push_back(moved("the prediction", before.predicted, now.predicted) +
                    (causes.empty() ? "" : ", most of it " + causes));
  }
  if (measured_moved) parts.push_back(moved("the measurement", before.measured, now.measured));
  if (is_time(quantity) || is_bytes(quantity))
    parts.push_back(fmt::format("error {:.2f} % -> {:.2f} %", 100 * old, 100 * error));
  return BaselineChange{now.experiment,
                        now.hardware,
                        now.kernel,
                        now.point,
                        quantity,
                        join(parts, "; "),
                        exact_moved || worse || grew ? Verdict::fail : Verdict::info};
}

}  // namespace

Baseline baseline_of(const Comparison& comparison, const GateSource& source) {
  Baseline baseline{
      .rows = {}, .files = fingerprints(source_files(comparison, source.data_directory)), .program = source.program};
  for (const ComparisonRow& row : comparison.rows)
    baseline.rows.push_back(
        {row.experiment, row.hardware, row.kernel, row.point, row.label(), row.predicted, row.measured, row.parts});
  return baseline;
}

Json to_json(const Baseline& baseline) {
  Json rows = Json::array(), files = Json::object();
  for (const BaselineRow& row : baseline.rows) {
    Json parts = Json::object();
    for (const PredictedPart& part : row.parts) parts[part.name] = part.value;
    rows.push_back({{"experiment", row.experiment},
                    {"hardware", row.hardware},
                    {"kernel", row.kernel},
                    {"point", row.point},
                    {"quantity", row.quantity},
                    {"predicted", row.predicted},
                    {"measured", row.measured},
                    {"parts", std::move(parts)}});
  }
  for (const auto& [name, hash] : baseline.files) files[name] = hash;
  Json json{{"schema", baseline_schema}};
  if (!baseline.program.empty()) json["program"] = baseline.program;
  json["files"] = std::move(files), json["rows"] = std::move(rows);
  return json;
}

Baseline read_baseline(const std::filesystem::path& file) {
  const nlohmann::json json = validate::parse_object(read_file(file), file.string(), "a baseline");
  std::vector<Diagnostic> findings;
  const validate::JsonFields root(json, file.string(), "", findings);
  if (const std::string schema = root.text("schema"); !schema.empty() && schema != baseline_schema)
    root.report("schema", fmt::format("expected {}, found {}", baseline_schema, shown_text(schema)));
  Baseline baseline;
  const validate::JsonFields files = root.object("files");
  for (const std::string& name : files.keys()) baseline.files[name] = files.holds_text(name) ? files.text(name) : "";
  if (root.has("program")) baseline.program = root.text("program");
  for (const validate::JsonFields& row : root.objects("rows")) {
    baseline.rows.push_back({row.text("experiment"), row.text("hardware"), row.text("kernel"), row.text("point"),
                             row.text("quantity"), row.number("predicted"), row.number("measured")});
    if (!row.has("parts")) continue;
    for (const auto& [name, value] : row.number_map("parts")) baseline.rows.back().parts.push_back({name, value});
  }
  if (findings.empty() && baseline.rows.empty()) root.report("rows", "is empty: such a baseline gates nothing");
  if (!findings.empty()) throw InputError(std::move(findings));
  return baseline;
}

std::vector<BaselineChange> changes_since(const Baseline& baseline, const Comparison& comparison,
                                          const GateSource& source) {
  std::map<BaselineKey, const BaselineRow*> before;
  for (const BaselineRow& row : baseline.rows) before.emplace(key_of(row, row.quantity), &row);
  ChangedFiles changed_files(baseline, comparison, source);
  std::vector<BaselineChange> changes;
  for (const ComparisonRow& row : comparison.rows) {
    const auto found = before.find(key_of(row, row.label()));
    if (found == before.end()) {
      changes.push_back({row.experiment, row.hardware, row.kernel, row.point, row.label(),
                         "is not in the baseline; --update-baseline adds it", Verdict::info});
      continue;
    }
    if (auto change = change_of(*found->second, row)) {
      change->what += changed_files.text(profile_name(row.hardware));
      for (const std::string& name : kernel_names(row.kernel)) change->what += changed_files.text(name);
      changes.push_back(std::move(*change));
    }
    before.erase(found);
  }
  for (const auto& [key, row] : before)
    changes.push_back({row->experiment, row->hardware, row->kernel, row->point, row->quantity,
                       "is in the baseline and is not compared any more", Verdict::fail});
  std::stable_sort(changes.begin(), changes.end(), [](const BaselineChange& a, const BaselineChange& b) {
    return a.verdict == Verdict::fail && b.verdict != Verdict::fail;
  });
  return changes;
}

bool passes(const std::vector<BaselineChange>& changes) {
  return std::none_of(changes.begin(), changes.end(),
                      [](const BaselineChange& change) { return change.verdict == Verdict::fail; });
}

const Columns<BaselineChange>& baseline_columns() {
  using R = BaselineChange;
  static const Columns<R> columns{
      json_only<R>({"experiment", "experiment", "", "Experiment of the record.", Origin::records},
                   [](const R& r) { return r.experiment; }),
      json_only<R>({"hardware", "GPU", "", "Id of the GPU that was measured.", Origin::records},
                   [](const R& r) { return r.hardware; }),
      json_only<R>({"kernel", "kernel", "", "Kernel that was measured.", Origin::records},
                   [](const R& r) { return r.kernel; }),
      {{"point", "point", "", "Id of the recorded point.", Origin::records}, [](const R& r) { return r.point; }},
      {{"quantity", "quantity", "", "What is compared, with level and direction.", Origin::records},
       [](const R& r) { return r.quantity; }},
      {{"verdict", "verdict", "", "fail, or info: moved and not worse, or new.", Origin::records},
       [](const R& r) { return to_string(r.verdict); }},
      {{"what", "what moved", "", "Which side moved, by how much, its parts that moved most, and which file changed.",
        Origin::records},
       [](const R& r) { return r.what; }}};
  return columns;
}

std::string to_junit(const std::vector<BaselineChange>& changes, std::size_t rows) {
  std::string cases;
  std::size_t failed = 0;
  for (const BaselineChange& change : changes) {
    if (change.verdict != Verdict::fail) continue;
    ++failed;
    cases += fmt::format(
        "  <testcase classname=\"{}.{}.{}.{}\" name=\"{}\">\n    <failure message=\"{}\"/>\n  </testcase>\n",
        xml_escaped(change.hardware), xml_escaped(change.experiment), xml_escaped(change.kernel),
        xml_escaped(change.quantity), xml_escaped(change.point), xml_escaped(change.what));
  }
  if (failed < rows) cases += "  <testcase classname=\"baseline\" name=\"all other rows\"/>\n";
  return fmt::format("<testsuite name=\"tilescope baseline\" tests=\"{}\" failures=\"{}\">\n{}</testsuite>\n",
                     failed + (failed < rows ? 1 : 0), failed, cases);
}

}  // namespace tilescope
