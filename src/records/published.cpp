#include "records/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "config/reader.h"
#include "diagram/workload.h"

namespace tilescope::validate {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> columns{"kernel", "dtype",    "mask",       "batch",  "heads_q", "heads_kv", "q_len",
                                       "kv_len", "head_dim", "v_head_dim", "tile_q", "tile_kv", "warps",    "ms"};

// The cells of one row by column; those that all rows share come from the table's file.
class Row {
 public:
  Row(std::map<std::string, std::string> cells, std::string file, int line, std::vector<Diagnostic>& findings)
      : cells_(std::move(cells)), file_(std::move(file)), line_(line), findings_(findings) {}

  std::string text(const std::string& column, const std::string& otherwise) const {
    const auto found = cells_.find(column);
    return found == cells_.end() || found->second.empty() ? otherwise : found->second;
  }
  std::int64_t integer(const std::string& column, std::int64_t otherwise) const {
    const std::string cell = text(column, "");
    if (cell.empty() && otherwise >= 0) return otherwise;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    constexpr std::int64_t most = largest_extent;
    if (error == std::errc() && end == cell.data() + cell.size() && value >= 1 && value <= most) return value;
    report(column, fmt::format("expected an integer from 1 to {}, found {}", most, shown_text(cell)));
    return 1;
  }
  double positive(const std::string& column) const {
    const std::string cell = text(column, "");
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc() && end == cell.data() + cell.size() && value > 0 && value < 1e9) return value;
    report(column, fmt::format("expected a positive number, found {}", shown_text(cell)));
    return 1;
  }
  void report(const std::string& column, const std::string& message) const {
    findings_.push_back({.file = file_, .line = line_, .path = column, .message = message});
  }

 private:
  std::map<std::string, std::string> cells_;
  std::string file_;
  int line_;
  std::vector<Diagnostic>& findings_;
};

PublishedRow read_row(const Row& row, int line) {
  MeasurePoint point;
  point.mask = row.text("mask", "none");
  const std::string dtype = row.text("dtype", "fp16");
  if (const auto parsed = parse_dtype(dtype)) point.dtype = parsed->format;
  else row.report("dtype", fmt::format("{} is not a dtype", shown_text(dtype)));
  PointWorkload& w = point.workload;
  w.batch = row.integer("batch", -1), w.heads_q = row.integer("heads_q", -1),
  w.heads_kv = row.integer("heads_kv", w.heads_q);
  w.q_len = row.integer("q_len", -1), w.kv_len = row.integer("kv_len", w.q_len);
  w.d_qk = row.integer("head_dim", -1), w.d_v = row.integer("v_head_dim", w.d_qk);
  point.tile_q = row.integer("tile_q", 0), point.tile_kv = row.integer("tile_kv", 0),
  point.warps = row.integer("warps", 0);
  PublishedRow out{.points = {}, .seconds = row.positive("ms") / 1e3, .line = line};
  for (const std::string& kernel : split(row.text("kernel", ""), '+')) {
    point.kernel = trimmed(kernel);
    if (point.kernel.empty()) row.report("kernel", "names no kernel; give one, or several joined by '+'");
    out.points.push_back(point);
  }
  for (const PointProblem& problem : problems_of(point)) row.report(problem.key, problem.message);
  return out;
}

void read_rows(PublishedTable& table, const std::map<std::string, std::string>& shared) {
  std::vector<Diagnostic> findings;
  std::vector<std::string> header;
  int line = 0;
  for (const std::string& raw : split(read_file(table.rows_file), '\n')) {
    ++line;
    const std::string text{trimmed(raw)};
    if (text.empty() || text.starts_with('#')) continue;
    const std::vector<std::string> cells = split(text, ',');
    const auto fail = [&](const std::string& message) {
      findings.push_back({.file = table.rows_file, .line = line, .message = message});
    };
    if (header.empty()) {
      header = cells;
      for (const std::string& name : header) {
        if (std::find(columns.begin(), columns.end(), name) == columns.end())
          fail(fmt::format("unknown column '{}'{}", name, did_you_mean(name, columns)));
        if (shared.contains(name))
          fail(fmt::format("column '{}' is also given for every row in {}; keep one", name, table.file));
        if (std::count(header.begin(), header.end(), name) > 1) fail(fmt::format("column '{}' is given twice", name));
      }
      if (!findings.empty()) break;
      continue;
    }
    if (cells.size() != header.size()) {
      fail(fmt::format("has {} cells, the header names {}", cells.size(), header.size()));
      continue;
    }
    std::map<std::string, std::string> values = shared;
    for (std::size_t i = 0; i < cells.size(); ++i) values[header[i]] = std::string(trimmed(cells[i]));
    table.rows.push_back(read_row(Row(std::move(values), table.rows_file, line, findings), line));
  }
  if (findings.empty() && table.rows.size() < 2)
    findings.push_back({.file = table.rows_file, .message = "has fewer than two rows; ranks need two"});
  if (!findings.empty()) throw InputError(std::move(findings));
}

}  // namespace

PublishedTable load_published(const fs::path& file) {
  const Document document = Document::load(file);
  document.expect_schema(published_schema);
  const Node root = document.root();
  root.only({"schema", "name", "source", "rights", "hardware", "rows", "every_row", "copies", "bars"});
  PublishedTable table;
  table.file = file.string();
  table.name = root["name"].text(), table.source = root["source"].text(), table.rights = root["rights"].text();
  table.hardware = root["hardware"].text();
  table.rows_file = (file.parent_path() / root["rows"].text()).string();
  std::map<std::string, std::string> shared;
  if (const auto every = root.find("every_row")) {
    every->only(columns);
    for (const auto& [key, value] : every->entries()) shared[key] = value.text();
  }
  if (const auto copies = root.find("copies"))
    for (const Node& array : copies->items()) table.copies.push_back(array.text());
  if (const auto bars = root.find("bars")) {
    bars->only({"mape", "rank"});
    if (const auto node = bars->find("mape")) table.mape = node->number(0, 10);
    if (const auto node = bars->find("rank")) table.rank = node->number(0, 1);
  }
  document.finish();
  read_rows(table, shared);
  return table;
}

std::vector<PublishedTable> read_published(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(directory, failed))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  if (files.empty())
    throw InputError(Diagnostic{.file = directory.string(),
                                .message = "holds no table (*.yaml); give a directory like validate/published"});
  std::sort(files.begin(), files.end());
  std::vector<PublishedTable> tables;
  for (const fs::path& file : files) tables.push_back(load_published(file));
  return tables;
}

}  // namespace tilescope::validate
