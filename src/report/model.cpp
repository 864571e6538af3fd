#include "report/model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/contains.h"
#include "report/fields.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

constexpr const char* kSchema = "tilescope/report/1";

Traffic read_traffic(const Fields& f) {
  return {f.text("level", true), f.number("read_bytes"), f.number("write_bytes"), f.number("operand_read_bytes")};
}

// Numbers of the object under `key`; anything else in it is not a count and is left out.
std::map<std::string, double> read_counts(const Fields& f, const std::string& key) {
  std::map<std::string, double> counts;
  const auto object = f.object(key);
  if (!object) return counts;
  for (const auto& [name, value] : object->node().items())
    if (const auto number = value.is_number() ? object->number(name) : std::nullopt) counts[name] = *number;
  return counts;
}

Side read_measured(const Fields& f) {
  Side side;
  f.each("traffic", false, [&](const Fields& t) { side.traffic.push_back(read_traffic(t)); });
  side.work = read_counts(f, "work");
  side.seconds = f.number("seconds");
  side.seconds_cold = f.number("seconds_cold");
  side.clock_hz = f.number("clock_hz");
  return side;
}

ReportPoint read_point(const Fields& f) {
  ReportPoint point{.id = f.text("id", true), .kernel = f.text("kernel", true), .label = f.text("label")};
  if (point.label.empty()) point.label = point.id;
  if (const auto prediction = f.object("prediction", true)) {
    prediction->each("traffic", false, [&](const Fields& t) { point.predicted.traffic.push_back(read_traffic(t)); });
    point.predicted.work = read_counts(*prediction, "work");
    if (const auto time = prediction->object("time")) {
      point.predicted.seconds = time->number("seconds");
      point.predicted.clock_hz = time->number("clock_hz");
      point.bound_by = time->text("bound_by");
    }
    if (const auto identity = prediction->object("point"))
      if (const auto dtypes = identity->object("dtypes")) point.dtype = dtypes->text("q");
  }
  if (const auto measured = f.object("measured")) point.measured = read_measured(*measured);
  return point;
}

Hardware read_hardware(const Fields& f) {
  Hardware hardware{.id = f.text("id", true), .name = f.text("name"), .chip = f.text("chip")};
  if (hardware.name.empty()) hardware.name = hardware.id;
  // A rate of zero or below has no place on a logarithmic axis: it is as good as missing, so say so.
  const auto positive = [](const Fields& g, const std::string& key) {
    const auto value = g.number(key, true);
    if (value && *value <= 0) g.complain(g.at(key), "a number above zero", g.node().at(key));
    return value.value_or(1);
  };
  f.each("roofs", false, [&](const Fields& r) {
    hardware.roofs.push_back({r.text("level", true), r.text("basis"), positive(r, "bytes_per_second")});
  });
  f.each("peaks", false, [&](const Fields& p) {
    hardware.peaks.push_back({p.text("dtype", true), p.text("path"), positive(p, "flop_per_second")});
  });
  return hardware;
}

ReportRow read_row(const Fields& f) {
  ReportRow row{.point = f.text("point", true), .kernel = f.text("kernel"), .quantity = f.text("quantity", true)};
  row.level = f.text("level");
  row.predicted = f.number("predicted");
  row.measured = f.number("measured");
  row.ratio = f.number("ratio");
  row.tolerance = f.number("tolerance");
  row.reason = f.text("reason");
  row.verdict = f.text("verdict");
  if (!row.verdict.empty() && row.verdict != "pass" && row.verdict != "fail" && row.verdict != "info")
    f.complain(f.at("verdict"), "pass, fail or info", f.node().at("verdict"));
  return row;
}

Summary read_summary(const Fields& f) {
  return {.kernel = f.text("kernel"),
          .quantity = f.text("quantity", true),
          .level = f.text("level"),
          .n = f.number("n"),
          .failed = f.number("failed"),
          .mean = f.number("mean"),
          .median = f.number("median"),
          .p90 = f.number("p90"),
          .worst = f.number("worst")};
}

TileMap read_tile_map(const Fields& f) {
  TileMap map{.title = f.text("title"), .kernel = f.text("kernel"), .hardware = f.text("hardware")};
  f.each("cells", true, [&](const Fields& c) {
    map.cells.push_back({.q = c.number("q", true).value_or(0),
                         .kv = c.number("kv", true).value_or(0),
                         .feasible = c.boolean("feasible", true),
                         .seconds = c.number("seconds"),
                         .l2_read_bytes = c.number("l2_read_bytes"),
                         .level = c.text("level"),
                         .needed_bytes = c.number("needed_bytes"),
                         .available_bytes = c.number("available_bytes")});
  });
  return map;
}

ReportDerivation read_derivation(const Fields& f) {
  ReportDerivation derivation{.point = f.text("point"), .title = f.text("title"), .pseudocode = f.text("pseudocode")};
  derivation.paragraphs = f.texts("paragraphs");
  f.each("terms", false, [&](const Fields& t) {
    derivation.terms.push_back({t.text("boundary", true), t.text("array"), t.text("direction"), t.text("formula"),
                                t.number("bytes"), t.texts("because")});
  });
  return derivation;
}

// A label that several points share is no label: theirs get the id as well.
void tell_apart(std::vector<ReportPoint>& points) {
  std::map<std::string, int> uses;
  for (const ReportPoint& point : points) ++uses[point.label];
  for (ReportPoint& point : points)
    if (uses[point.label] > 1 && point.label != point.id) point.label += " (" + point.id + ")";
}

}  // namespace

Report read_report(const nlohmann::json& data) {
  std::vector<Diagnostic> problems;
  const Fields f(data, "", problems);
  const std::string schema = f.text("schema", true);
  if (!schema.empty() && schema != kSchema)
    problems.push_back(
        {.file = "report data", .path = "schema", .message = fmt::format("expected {}, found {}", kSchema, schema)});
  Report report{.title = f.text("title"), .generated = f.text("generated"), .revision = f.text("revision")};
  if (report.title.empty()) report.title = "tilescope report";
  report.notes = f.texts("notes");
  if (const auto hardware = f.object("hardware", true)) report.hardware = read_hardware(*hardware);
  f.each("points", true, [&](const Fields& p) {
    report.points.push_back(read_point(p));
    report.points.back().key = fmt::format("{}", report.points.size() - 1);
  });
  tell_apart(report.points);
  if (const auto comparison = f.object("comparison")) {
    comparison->each("rows", false, [&](const Fields& r) { report.rows.push_back(read_row(r)); });
    comparison->each("summary", false, [&](const Fields& s) { report.summary.push_back(read_summary(s)); });
  }
  if (const auto map = f.object("tile_map")) report.tile_map = read_tile_map(*map);
  if (const auto derivation = f.object("derivation")) report.derivation = read_derivation(*derivation);
  if (const auto drawn = f.object("pictures")) report.pictures = read_pictures(*drawn);
  if (!problems.empty()) throw InputError(std::move(problems));
  return report;
}

namespace {

Number count(const std::map<std::string, double>& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? Number{} : Number{found->second};
}

Traffic at_level(const Side& side, const std::string& level) {
  for (const Traffic& traffic : side.traffic)
    if (traffic.level == level) return traffic;
  return {.level = level};
}

// Everything the point itself carries, predicted beside measured.
std::vector<ReportRow> rows_of(const ReportPoint& point) {
  std::vector<ReportRow> rows;
  const Side none;
  const Side& measured = point.measured ? *point.measured : none;
  const auto add = [&](const std::string& quantity, const std::string& level, Number predicted, Number observed) {
    if (!predicted && !observed) return;
    rows.push_back({.point = point.id,
                    .kernel = point.kernel,
                    .quantity = quantity,
                    .level = level,
                    .predicted = predicted,
                    .measured = observed});
  };
  std::vector<std::string> levels;
  for (const auto* side : {&point.predicted, &measured})
    for (const Traffic& t : side->traffic)
      if (!contains(levels, t.level)) levels.push_back(t.level);
  for (const std::string& level : levels) {
    const Traffic expected = at_level(point.predicted, level), observed = at_level(measured, level);
    add("read_bytes", level, expected.read_bytes, observed.read_bytes);
    add("write_bytes", level, expected.write_bytes, observed.write_bytes);
    add("operand_read_bytes", level, expected.operand_read_bytes, observed.operand_read_bytes);
  }
  std::set<std::string> names;
  for (const auto* side : {&point.predicted, &measured})
    for (const auto& [name, value] : side->work) names.insert(name);
  for (const std::string& name : names) add(name, "", count(point.predicted.work, name), count(measured.work, name));
  add("seconds", "", point.predicted.seconds, measured.seconds);
  add("seconds_cold", "", {}, measured.seconds_cold);
  add("clock_hz", "", point.predicted.clock_hz, measured.clock_hz);
  return rows;
}

}  // namespace

std::vector<ReportRow> all_rows(const Report& report) {
  std::vector<ReportRow> rows = report.rows;
  // By the name that is shown: the comparison's "traffic read" at hbm is the point's "read_bytes" at hbm.
  std::set<std::pair<std::string, std::string>> known;
  for (const ReportRow& row : rows) known.emplace(row.point, quantity_name(row.quantity, row.level));
  for (const ReportPoint& point : report.points)
    for (ReportRow& row : rows_of(point))
      if (!known.contains({row.point, quantity_name(row.quantity, row.level)})) rows.push_back(std::move(row));
  return rows;
}

bool only_operands(const Report& report, const std::string& level) {
  bool operands = false;
  for (const ReportPoint& point : report.points) {
    if (!point.measured) continue;
    const Traffic traffic = at_level(*point.measured, level);
    if (traffic.read_bytes || traffic.write_bytes) return false;
    operands = operands || traffic.operand_read_bytes;
  }
  return operands;
}

Traffic shown_traffic(const Report& report, const Side& side, const std::string& level) {
  Traffic traffic = at_level(side, level);
  if (only_operands(report, level)) traffic = {.level = level, .read_bytes = traffic.operand_read_bytes};
  return traffic;
}

std::string label_of(const Report& report, const std::string& id) {
  for (const ReportPoint& point : report.points)
    if (point.id == id) return point.label;
  return id;
}

}  // namespace tilescope::report
