// Records from JSON, every field checked.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "records/json_fields.h"
#include "records/record.h"

namespace tilescope::validate {
namespace {

constexpr std::size_t largest_record = std::size_t{8} << 20;  // bytes
constexpr std::size_t most_nesting = 32;

Environment read_environment(const JsonFields& json) {
  Environment e;
  e.hardware = json.text("hardware");
  e.gpu = json.text("gpu");
  e.chip = json.text("chip");
  e.driver = json.text("driver");
  e.cuda = json.text("cuda");
  e.cupti = json.text("cupti");
  e.sm_clock_max_hz = json.number("sm_clock_max_hz");
  e.memory_clock_hz = json.number("memory_clock_hz");
  e.power_limit_w = json.number("power_limit_w");
  e.ecc = json.boolean("ecc");
  e.l2_bytes = json.integer("l2_bytes", 1);
  e.date = json.text("date");
  e.revision = json.text("revision");
  return e;
}

void read_dtypes(const JsonFields& json, MeasurePoint& point) {
  for (const std::string& key : json.keys()) {
    const std::string text = json.text(key);
    if (const std::optional<Dtype> dtype = parse_dtype(text)) point.dtypes[key] = *dtype;
    else json.report(key, "is not a number format: " + text);
  }
}

MeasurePoint read_point(const JsonFields& json) {
  MeasurePoint point;
  point.kernel = json.text("kernel");
  point.mask = json.text("mask");
  if (!point.mask.empty() && !known_mask(point.mask))
    json.report("mask", "expected none, causal, window:W or block-sparse:FILE, found " + point.mask);
  const JsonFields workload = json.object("workload");
  point.workload = {workload.integer("batch", 1), workload.integer("heads_q", 1), workload.integer("heads_kv", 1),
                    workload.integer("q_len", 1), workload.integer("kv_len", 1),  workload.integer("d_qk", 1),
                    workload.integer("d_v", 1)};
  const std::string dtype = json.text("dtype");
  const std::optional<Dtype> parsed = parse_dtype(dtype);
  if (parsed && parsed->scale_group == 0) point.dtype = parsed->format;
  else if (!dtype.empty()) json.report("dtype", "is not a number format: " + dtype);
  const JsonFields tile = json.object("tile");
  point.tile_q = tile.integer("q", 0);
  point.tile_kv = tile.integer("kv", 0);
  point.warps = json.integer("warps", 0);
  if (json.has("dtypes")) read_dtypes(json.object("dtypes"), point);
  if (json.has("stages")) point.stages = json.integer("stages", 1);
  if (json.has("splits")) point.splits = json.integer("splits", 1);
  return point;
}

std::array<std::int64_t, 3> read_extent(const JsonFields& json, const std::string& key) {
  const std::vector<std::int64_t> values = json.integers(key, 1);
  if (values.size() == 3) return {values[0], values[1], values[2]};
  if (json.has(key)) json.report(key, "expected three positive integers");
  return {1, 1, 1};
}

LaunchFacts read_launch(const JsonFields& json) {
  LaunchFacts launch;
  launch.grid = read_extent(json, "grid");
  launch.block = read_extent(json, "block");
  launch.registers_per_thread = json.integer("registers_per_thread", 0);
  const JsonFields smem = json.object("smem_per_block");
  launch.static_smem = smem.integer("static", 0);
  launch.dynamic_smem = smem.integer("dynamic", 0);
  launch.local_bytes_per_thread = json.integer("spills", 0);
  launch.blocks_per_unit = json.integer("blocks_per_unit", 0);
  return launch;
}

Clocks read_clocks(const JsonFields& json) {
  Clocks clocks;
  clocks.sm_hz = json.number("sm_hz");
  clocks.memory_hz = json.number("memory_hz");
  clocks.power_w = json.number("power_w");
  clocks.temperature_c = json.number("temperature_c");
  clocks.throttle = json.texts("throttle");
  return clocks;
}

std::vector<MeasuredLaunch> read_islands(const JsonFields& root) {
  std::vector<MeasuredLaunch> islands;
  for (const JsonFields& json : root.objects("islands")) {
    MeasuredLaunch island;
    island.name = json.text("name");
    island.launch = read_launch(json.object("launch"));
    island.counters = json.number_map("counters");
    island.counters_with_flush = json.number_map("counters_with_flush");
    island.samples = json.numbers_map("samples");
    island.samples_with_flush = json.numbers_map("samples_with_flush");
    islands.push_back(std::move(island));
  }
  if (islands.empty() && root.has("islands")) root.report("islands", "expected at least one kernel launch");
  return islands;
}

Record read_fields(const JsonFields& root) {
  Record record;
  record.experiment = root.text("experiment");
  record.environment = read_environment(root.object("environment"));
  record.point = read_point(root.object("point"));
  record.counters = root.number_map("counters");
  record.counters_with_flush = root.number_map("counters_with_flush");
  record.flush_bytes = root.number("flush_bytes");
  record.passes = static_cast<int>(std::min<std::int64_t>(root.integer("passes", 1), 1000000));
  record.unavailable = root.texts("unavailable");
  const JsonFields seconds = root.object("seconds");
  record.cold_seconds = seconds.numbers("cold");
  record.steady_seconds = seconds.numbers("steady");
  if (root.has("clocks")) record.clocks = read_clocks(root.object("clocks"));
  const JsonFields correctness = root.object("correctness");
  record.correctness.max_error = correctness.number("max_error");
  record.correctness.tolerance = correctness.number("tolerance");
  record.correctness.checked_elements = correctness.integer("checked_elements", 1);
  record.correctness.passed = correctness.boolean("passed");
  record.islands = read_islands(root);
  return record;
}

// nlohmann's parser recurses; a file nested thousands deep must not end the program.
bool too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    else if (c == '"') in_string = !in_string;
    else if (!in_string && (c == '{' || c == '[') && ++depth > most_nesting) return true;
    else if (!in_string && (c == '}' || c == ']') && depth > 0) --depth;
  }
  return false;
}

// A record of microbenchmarks, which `hardware measure` writes: it may lie among the others and is no point.
bool of_hardware(const std::filesystem::path& file) {
  char head[80] = "";
  std::ifstream(file).read(head, sizeof head - 1);
  return std::string_view(head).find("tilescope/hardware-record/") != std::string_view::npos;
}

}  // namespace

Record parse_record(std::string_view text, const std::string& file_name) {
  const auto fail = [&](const std::string& message) {
    throw InputError(Diagnostic{.file = file_name, .message = message});
  };
  if (too_deep(text)) fail("is nested too deep for a record");
  // The parser itself would keep the last of two values.
  std::vector<std::set<std::string>> open_objects;
  std::string repeated;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open_objects.pop_back();
    if (event == nlohmann::json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second)
      repeated = parsed.get<std::string>();
    return true;
  };
  const nlohmann::json json = nlohmann::json::parse(text, watch, false);
  if (json.is_discarded()) fail("is not complete JSON (cut short or damaged); measure the point again");
  if (!repeated.empty()) fail(fmt::format("key '{}' is given twice in one object; keep one", repeated));
  if (!json.is_object()) fail("expected a record, found JSON that is not an object");
  const auto schema = json.find("schema");
  if (schema == json.end() || !schema->is_string())
    fail("has no schema; expected a record with schema " + std::string(record_schema));
  if (*schema != record_schema) {
    fail(fmt::format("has schema {}; this program reads {}", schema->get<std::string>(), record_schema));
  }
  std::vector<Diagnostic> findings;
  Record record = read_fields(JsonFields(json, file_name, "", findings));
  if (!findings.empty()) throw InputError(std::move(findings));
  record.file = file_name;
  return record;
}

Record read_record(const std::filesystem::path& file) {
  return parse_record(read_file(file, largest_record), file.string());
}

std::vector<Record> read_records(const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator walk(directory, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    if (walk->is_regular_file() && walk->path().extension() == ".json" && !of_hardware(walk->path()))
      files.push_back(walk->path());
  }
  if (error)
    throw InputError(Diagnostic{.file = directory.string(), .message = "cannot be listed: " + error.message()});
  if (files.empty()) {
    throw InputError(Diagnostic{.file = directory.string(),
                                .message = "holds no record (*.json); measure first or name another directory"});
  }
  std::sort(files.begin(), files.end());
  std::vector<Record> records;
  std::vector<Diagnostic> findings;
  for (const fs::path& file : files) {
    try {
      records.push_back(read_record(file));
    } catch (const InputError& problem) {
      findings.insert(findings.end(), problem.diagnostics().begin(), problem.diagnostics().end());
    }
  }
  if (!findings.empty()) throw InputError(std::move(findings));
  return records;
}

}  // namespace tilescope::validate
