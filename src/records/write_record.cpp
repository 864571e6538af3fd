// Records to JSON: one line a section, so that a change of a measurement is readable as a diff.
#include <fmt/format.h>

#include <cmath>

#include "base/files.h"
#include "records/record_fields.h"

namespace tilescope::validate {
namespace {

using Json = nlohmann::ordered_json;

// Counters are whole numbers far below 2^53; written without ".0" they are shorter and diff better.
Json compact(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

Json compact(const std::map<std::string, double>& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = compact(value);
  return object;
}

Json compact(const std::map<std::string, std::vector<double>>& samples) {
  Json object = Json::object();
  for (const auto& [name, values] : samples) {
    object[name] = Json::array();
    for (const double value : values) object[name].push_back(compact(value));
  }
  return object;
}

// Nanosecond resolution, below what CUDA events resolve.
Json seconds(const std::vector<double>& samples) {
  Json list = Json::array();
  for (const double sample : samples) list.push_back(std::round(sample * 1e9) / 1e9);
  return list;
}

Json point_json(const MeasurePoint& p) {
  const PointWorkload& w = p.workload;
  Json json = {{"kernel", p.kernel},
               {"mask", p.mask},
               {"workload",
                {{"batch", w.batch},
                 {"heads_q", w.heads_q},
                 {"heads_kv", w.heads_kv},
                 {"q_len", w.q_len},
                 {"kv_len", w.kv_len},
                 {"d_qk", w.d_qk},
                 {"d_v", w.d_v}}},
               {"dtype", to_string(p.dtype)},
               {"tile", {{"q", p.tile_q}, {"kv", p.tile_kv}}},
               {"warps", p.warps}};
  for (const auto& [key, dtype] : p.dtypes) json["dtypes"][key] = to_string(dtype);
  if (p.stages != 0) json["stages"] = p.stages;
  if (p.splits != 0) json["splits"] = p.splits;
  return json;
}

void add_known(Json& json, const char* key, const std::optional<std::int64_t>& value) {
  if (value) json[key] = *value;
}

// Of our own launches every fact is written; one that nobody filled in is 0.
Json launch_json(LaunchFacts l, bool imported) {
  if (!imported)
    for (auto* fact : {&l.registers_per_thread, &l.static_smem, &l.dynamic_smem, &l.local_bytes_per_thread})
      *fact = fact->value_or(0);
  Json json = {{"grid", l.grid}, {"block", l.block}}, smem = Json::object();
  add_known(json, "registers_per_thread", l.registers_per_thread);
  add_known(smem, "static", l.static_smem);
  add_known(smem, "dynamic", l.dynamic_smem);
  add_known(smem, "total", l.total_smem);
  json["smem_per_block"] = std::move(smem);
  add_known(json, "spills", l.local_bytes_per_thread);
  json["blocks_per_unit"] = l.blocks_per_unit;
  return json;
}

Json source_json(const ImportSource& source) {
  Json json = {{"file", source.file}, {"launches", source.launches}, {"caches", to_string(source.caches)}};
  if (source.sm_hz > 0) json["sm_hz"] = compact(source.sm_hz);
  return json;
}

Json clocks_json(const Clocks& c) {
  Json json{{"sm_hz", compact(c.sm_hz)},
            {"memory_hz", compact(c.memory_hz)},
            {"power_w", compact(c.power_w)},
            {"temperature_c", compact(c.temperature_c)},
            {"throttle", c.throttle}};
  if (c.other_processes) json["other_processes"] = *c.other_processes;
  return json;
}

}  // namespace

namespace {

// Only what is known of an imported file's environment.
Json imported_environment_json(const Environment& e) {
  Json json = {{"tool", e.tool}, {"hardware", e.hardware}};
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  const auto number = [&](const char* key, double value) {
    if (value > 0) json[key] = compact(value);
  };
  text("gpu", e.gpu), text("chip", e.chip), text("driver", e.driver), text("cuda", e.cuda), text("cupti", e.cupti);
  number("sm_clock_max_hz", e.sm_clock_max_hz), number("memory_clock_hz", e.memory_clock_hz);
  number("power_limit_w", e.power_limit_w);
  if (e.ecc) json["ecc"] = *e.ecc;
  number("l2_bytes", static_cast<double>(e.l2_bytes)), text("revision", e.revision);
  return json;
}

}  // namespace

nlohmann::ordered_json environment_json(const Environment& e) {
  if (!e.tool.empty()) return imported_environment_json(e);
  Json json = {{"hardware", e.hardware},
               {"gpu", e.gpu},
               {"chip", e.chip},
               {"driver", e.driver},
               {"cuda", e.cuda},
               {"cupti", e.cupti},
               {"sm_clock_max_hz", compact(e.sm_clock_max_hz)},
               {"memory_clock_hz", compact(e.memory_clock_hz)},
               {"power_limit_w", compact(e.power_limit_w)},
               {"ecc", e.ecc.value_or(false)},
               {"l2_bytes", e.l2_bytes},
               {"revision", e.revision}};
  if (!e.l2_groups.empty()) json["l2_groups"] = e.l2_groups;
  return json;
}

nlohmann::ordered_json island_json(const MeasuredLaunch& island, bool imported) {
  Json json = {{"name", island.name},
               {"launch", launch_json(island.launch, imported)},
               {"counters", compact(island.counters)},
               {"counters_with_flush", compact(island.counters_with_flush)},
               {"samples", compact(island.samples)},
               {"samples_with_flush", compact(island.samples_with_flush)}};
  if (!island.rounding.empty()) json["rounding"] = compact(island.rounding);
  return json;
}

Sections middle_sections(const Record& record, bool sums) {
  Sections sections;
  const auto section = [&](const std::string& key, Json value) { sections.emplace_back(key, std::move(value)); };
  if (record.source) section("source", source_json(*record.source));
  section("point", point_json(record.point));
  if (sums || record.counters != sum_over(record.islands, &MeasuredLaunch::counters))
    section("counters", compact(record.counters));
  if (sums || record.counters_with_flush != sum_over(record.islands, &MeasuredLaunch::counters_with_flush))
    section("counters_with_flush", compact(record.counters_with_flush));
  if (!record.source || record.flush_bytes > 0) section("flush_bytes", compact(record.flush_bytes));
  if (!record.source || record.passes > 0) section("passes", record.passes);
  if (!record.source || !record.unavailable.empty()) section("unavailable", record.unavailable);
  Json times = {{"cold", seconds(record.cold_seconds)}, {"steady", seconds(record.steady_seconds)}};
  if (!record.program_seconds.empty()) times["program"] = seconds(record.program_seconds);
  section("seconds", std::move(times));
  if (record.clocks) section("clocks", clocks_json(*record.clocks));
  if (record.correctness)
    section("correctness", {{"max_error", record.correctness->max_error},
                            {"tolerance", record.correctness->tolerance},
                            {"checked_elements", record.correctness->checked_elements},
                            {"passed", record.correctness->passed}});
  return sections;
}

std::string to_json(const Record& record) {
  Json environment = environment_json(record.environment);
  environment.erase("revision");  // it stands last
  if (!record.source || !record.environment.date.empty()) environment["date"] = record.environment.date;
  if (!record.source || !record.environment.revision.empty()) environment["revision"] = record.environment.revision;
  Sections sections{{"schema", record_schema}, {"experiment", record.experiment}, {"environment", environment}};
  for (auto& section : middle_sections(record, true)) sections.push_back(std::move(section));
  if (record.islands.size() == 1)
    sections.emplace_back("launch", launch_json(record.islands.front().launch, record.source.has_value()));
  std::string text = "{\n";
  for (const auto& [key, value] : sections) text += fmt::format("\"{}\":{},\n", key, value.dump());
  text += "\"islands\":[";
  for (std::size_t i = 0; i < record.islands.size(); ++i) {
    text += (i == 0 ? "\n" : ",\n") + island_json(record.islands[i], record.source.has_value()).dump();
  }
  return text + "\n]}\n";
}

std::filesystem::path record_path(const std::filesystem::path& directory, const std::string& experiment,
                                  const MeasurePoint& point) {
  return directory / experiment / (point_id(point) + ".json");
}

void write_record_file(const std::filesystem::path& file, std::string_view text) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) {
    throw InputError(Diagnostic{.file = file.parent_path().string(),
                                .message = fmt::format("the folder cannot be created: {}", error.message())});
  }
  write_file(file, text);
}

void write_record(const Record& record, const std::filesystem::path& file) { write_record_file(file, to_json(record)); }

}  // namespace tilescope::validate
