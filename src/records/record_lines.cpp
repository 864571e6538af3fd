#include "records/record_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/files/open_problem.h"
#include "records/json_fields.h"
#include "records/record_fields.h"

namespace tilescope::validate {
namespace {

// What the lines read so far say of a file.
class LineReader {
 public:
  LineReader(std::string file, std::vector<Diagnostic>& findings) : file_(std::move(file)), findings_(&findings) {}

  std::optional<Record> read(std::string_view text, int line);

 private:
  std::optional<Record> read_checked(const nlohmann::json& json, int line);
  void define(const JsonFields& root);
  Environment named(const JsonFields& root, const std::string& name);

  std::string file_;
  std::vector<Diagnostic>* findings_;
  std::map<std::string, Environment> environments_;
  std::set<std::string> missing_;          // reported once
  std::map<std::string, int> first_line_;  // by experiment and point
};

void LineReader::define(const JsonFields& root) {
  const std::string name = root.text("name");
  environments_[name] = read_environment(root);
}

Environment LineReader::named(const JsonFields& root, const std::string& name) {
  const auto found = environments_.find(name);
  if (found != environments_.end()) return found->second;
  if (missing_.insert(name).second) {
    root.report(
        "environment",
        fmt::format("'{}' is not named by a line of schema {} above; copy that line from the file that this record "
                    "comes from",
                    name, environment_schema));
  }
  return {};
}

std::optional<Record> LineReader::read_checked(const nlohmann::json& json, int line) {
  const std::string schema = schema_of(json, file_);
  const std::size_t before = findings_->size();
  const JsonFields root(json, file_, "", *findings_);
  if (schema == environment_schema) {
    define(root);
    return std::nullopt;
  }
  if (schema != line_schema && schema != record_schema) {
    throw InputError(Diagnostic{.file = file_,
                                .message = fmt::format("has schema {}; this program reads {}, {} and {}", schema,
                                                       line_schema, environment_schema, record_schema)});
  }
  Record record = read_record_fields(root, schema == line_schema ? 2 : 1,
                                     [&](const std::string& name) { return named(root, name); });
  if (findings_->size() != before) return std::nullopt;
  const std::string key = record.experiment + " " + point_id(record.point);
  const auto [first, is_new] = first_line_.emplace(key, line);
  if (!is_new) {
    root.report("point", fmt::format("{} stands on line {} already; keep one of the two", point_id(record.point),
                                     first->second));
    return std::nullopt;
  }
  record.file = fmt::format("{}:{}", file_, line);
  return record;
}

std::optional<Record> LineReader::read(std::string_view text, int line) {
  const std::size_t before = findings_->size();
  std::optional<Record> record;
  try {
    record = read_checked(parse_object(text, file_, "a record"), line);
  } catch (const InputError& error) {
    findings_->insert(findings_->end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  for (std::size_t i = before; i < findings_->size(); ++i) (*findings_)[i].line = line;
  return record;
}

}  // namespace

std::string environment_name(const Environment& environment) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : environment_json(environment).dump())
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

std::string environment_line(const Environment& environment) {
  nlohmann::ordered_json json = {{"schema", environment_schema}, {"name", environment_name(environment)}};
  json.update(environment_json(environment));
  return json.dump() + "\n";
}

std::string record_line(const Record& record) {
  nlohmann::ordered_json json = {{"schema", line_schema},
                                 {"experiment", record.experiment},
                                 {"environment", environment_name(record.environment)}};
  if (!record.source || !record.environment.date.empty()) json["date"] = record.environment.date;
  for (auto& [key, value] : middle_sections(record, false)) json[key] = std::move(value);
  for (const MeasuredLaunch& island : record.islands)
    json["islands"].push_back(island_json(island, record.source.has_value()));
  return json.dump() + "\n";
}

std::string to_lines(const std::vector<Record>& records) {
  std::map<std::string, std::string> environments, lines;
  for (const Record& record : records) {
    environments[environment_name(record.environment)] = environment_line(record.environment);
    lines[point_id(record.point)] = record_line(record);
  }
  std::string text;
  for (const auto& [name, line] : environments) text += line;
  for (const auto& [id, line] : lines) text += line;
  return text;
}

void read_lines(const std::filesystem::path& file, const std::function<void(Record&&)>& use,
                std::vector<Diagnostic>& findings) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw InputError(Diagnostic{.file = file.string(), .message = open_problem(errno)});
  }
  LineReader reader(file.string(), findings);
  const std::unique_ptr<char[]> buffer(new char[largest_record]);  // not zeroed
  for (int line = 1; stream.getline(buffer.get(), static_cast<std::streamsize>(largest_record)); ++line) {
    const std::string_view text = line_of(stream, buffer.get());
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (std::optional<Record> record = reader.read(text, line)) use(std::move(*record));
  }
  if (!stream.eof()) {
    findings.push_back(
        {.file = file.string(),
         .message = fmt::format("has a line of more than {} bytes, or cannot be read to its end", largest_record)});
  }
}

}  // namespace tilescope::validate
