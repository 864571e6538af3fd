// Records from JSON, every field checked.
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "records/record_fields.h"

namespace tilescope::validate {
namespace {

// Values that a record of our own must have and an imported one may lack.
class Facts {
 public:
  Facts(const JsonFields& json, bool imported) : json_(&json), imported_(imported) {}
  bool has(const std::string& key) const { return !imported_ || json_->has(key); }
  std::string text(const std::string& key) const { return has(key) ? json_->text(key) : ""; }
  double number(const std::string& key) const { return has(key) ? json_->number(key) : 0; }
  std::int64_t integer(const std::string& key, std::int64_t least) const {
    return has(key) ? json_->integer(key, least) : 0;
  }
  std::optional<std::int64_t> known_integer(const std::string& key, std::int64_t least) const {
    return has(key) ? std::optional(json_->integer(key, least)) : std::nullopt;
  }

 private:
  const JsonFields* json_;
  bool imported_;
};

Environment read_environment_fields(const JsonFields& json) {
  Environment e;
  if (json.has("tool")) e.tool = json.text("tool");
  const Facts facts(json, json.has("tool"));
  e.hardware = json.text("hardware");
  e.gpu = facts.text("gpu");
  e.chip = facts.text("chip");
  e.driver = facts.text("driver");
  e.cuda = facts.text("cuda");
  e.cupti = facts.text("cupti");
  e.sm_clock_max_hz = facts.number("sm_clock_max_hz");
  e.memory_clock_hz = facts.number("memory_clock_hz");
  e.power_limit_w = facts.number("power_limit_w");
  if (facts.has("ecc")) e.ecc = json.boolean("ecc");
  e.l2_bytes = facts.integer("l2_bytes", 1);
  e.revision = facts.text("revision");
  if (json.has("l2_groups")) e.l2_groups = json.text("l2_groups");
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
  json.refuse_other_keys({"kernel", "mask", "workload", "dtype", "dtypes", "tile", "warps", "stages", "splits"});
  const JsonFields workload = json.object("workload");
  workload.refuse_other_keys({"batch", "heads_q", "heads_kv", "q_len", "kv_len", "d_qk", "d_v"});
  point.workload = {workload.integer("batch", 1), workload.integer("heads_q", 1), workload.integer("heads_kv", 1),
                    workload.integer("q_len", 1), workload.integer("kv_len", 1),  workload.integer("d_qk", 1),
                    workload.integer("d_v", 1)};
  const std::string dtype = json.text("dtype");
  const std::optional<Dtype> parsed = parse_dtype(dtype);
  if (parsed && parsed->scale_group == 0) point.dtype = parsed->format;
  else if (!dtype.empty()) json.report("dtype", "is not a number format: " + dtype);
  const JsonFields tile = json.object("tile");
  tile.refuse_other_keys({"q", "kv"});
  point.tile_q = tile.integer("q", 0);
  point.tile_kv = tile.integer("kv", 0);
  point.warps = json.integer("warps", 0);
  if (json.has("dtypes")) read_dtypes(json.object("dtypes"), point);
  if (json.has("stages")) point.stages = json.integer("stages", 1);
  if (json.has("splits")) point.splits = json.integer("splits", 1);
  for (const PointProblem& problem : problems_of(point))
    if (problem.key != "mask" || !point.mask.empty()) json.report(problem.key, problem.message);  // "": said above
  return point;
}

std::array<std::int64_t, 3> read_extent(const JsonFields& json, const std::string& key) {
  const std::vector<std::int64_t> values = json.integers(key, 1);
  if (values.size() == 3) return {values[0], values[1], values[2]};
  if (json.has(key)) json.report(key, "expected three positive integers");
  return {1, 1, 1};
}

LaunchFacts read_launch(const JsonFields& json, bool imported) {
  LaunchFacts launch;
  const Facts facts(json, imported);
  launch.grid = read_extent(json, "grid");
  launch.block = read_extent(json, "block");
  launch.registers_per_thread = facts.known_integer("registers_per_thread", 0);
  const JsonFields smem = json.object("smem_per_block");
  const Facts smem_facts(smem, imported);
  launch.static_smem = smem_facts.known_integer("static", 0);
  launch.dynamic_smem = smem_facts.known_integer("dynamic", 0);
  if (imported && smem.has("total")) launch.total_smem = smem.integer("total", 0);
  launch.local_bytes_per_thread = facts.known_integer("spills", 0);
  launch.blocks_per_unit = facts.integer("blocks_per_unit", 0);
  return launch;
}

Clocks read_clocks(const JsonFields& json) {
  Clocks clocks;
  clocks.sm_hz = json.number("sm_hz");
  clocks.memory_hz = json.number("memory_hz");
  clocks.power_w = json.number("power_w");
  clocks.temperature_c = json.number("temperature_c");
  clocks.throttle = json.texts("throttle");
  if (json.has("other_processes")) clocks.other_processes = json.integer("other_processes", 0);
  return clocks;
}

ImportSource read_source(const JsonFields& json) {
  ImportSource source;
  source.file = json.text("file");
  source.launches = json.text("launches");
  const std::string caches = json.text("caches");
  if (const auto known = parse_kind<Caches>(caches)) source.caches = *known;
  else if (!caches.empty()) json.report("caches", "expected cold, warm or unknown, found " + shown_text(caches));
  if (json.has("sm_hz")) source.sm_hz = json.number("sm_hz");
  return source;
}

std::vector<MeasuredLaunch> read_islands(const JsonFields& root, bool imported) {
  std::vector<MeasuredLaunch> islands;
  for (const JsonFields& json : root.objects("islands")) {
    MeasuredLaunch island;
    island.name = json.text("name");
    island.launch = read_launch(json.object("launch"), imported);
    island.counters = json.number_map("counters");
    if (!imported || json.has("counters_with_flush"))
      island.counters_with_flush = json.number_map("counters_with_flush");
    island.samples = json.numbers_map("samples");
    if (!imported || json.has("samples_with_flush")) island.samples_with_flush = json.numbers_map("samples_with_flush");
    if (imported && json.has("rounding")) island.rounding = json.number_map("rounding");
    islands.push_back(std::move(island));
  }
  if (islands.empty() && root.has("islands")) root.report("islands", "expected at least one kernel launch");
  return islands;
}

Correctness read_correctness_fields(const JsonFields& json) {
  Correctness correctness;
  correctness.max_error = json.number("max_error");
  correctness.tolerance = json.number("tolerance");
  correctness.checked_elements = json.integer("checked_elements", 1);
  correctness.passed = json.boolean("passed");
  if (correctness.passed && correctness.max_error > correctness.tolerance)
    json.report("passed", "is true, and max_error is above the tolerance");
  return correctness;
}

using Counters = std::map<std::string, double>;

// `counters` or `counters_with_flush` of a record: what it states, or the sum over its islands. Only version 2 may
// leave them out.
Counters read_sum(const JsonFields& root, const std::string& key, bool required,
                  const std::vector<MeasuredLaunch>& islands, Counters MeasuredLaunch::*member) {
  return required || root.has(key) ? root.number_map(key) : sum_over(islands, member);
}

Environment read_record_environment(const JsonFields& root, const FindEnvironment& find_environment) {
  if (!root.holds_text("environment")) {
    const JsonFields json = root.object("environment");
    Environment environment = read_environment_fields(json);
    if (environment.tool.empty() || json.has("date")) environment.date = json.text("date");
    return environment;
  }
  Environment environment = find_environment(root.text("environment"));
  if (environment.tool.empty() || root.has("date")) environment.date = root.text("date");
  return environment;
}

}  // namespace

Counters sum_over(const std::vector<MeasuredLaunch>& islands, Counters MeasuredLaunch::*member) {
  Counters sum;
  for (const MeasuredLaunch& island : islands)
    for (const auto& [name, value] : island.*member) sum[name] += value;
  return sum;
}

Environment read_environment(const JsonFields& root) { return read_environment_fields(root); }

double spread_of_samples(std::vector<double> seconds) {
  if (seconds.size() < 2) return 0;
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) {
    return seconds[static_cast<std::size_t>(part * static_cast<double>(seconds.size() - 1) + 0.5)];
  };
  return at(0.5) > 0 ? (at(0.9) - at(0.1)) / at(0.5) : 0;
}

bool is_experiment_name(std::string_view name) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name.size() <= 100 && name[0] != '.' &&
         name.find_first_not_of(allowed) == std::string_view::npos;
}

Record read_record_fields(const JsonFields& root, int version, const FindEnvironment& find_environment) {
  Record record;
  record.experiment = root.text("experiment");
  if (!record.experiment.empty() && !is_experiment_name(record.experiment))  // "": said above
    root.report("experiment", fmt::format("{}, found {}", experiment_name_rule, shown_text(record.experiment)));
  record.environment = read_record_environment(root, find_environment);
  const bool imported = root.has("source");
  if (imported) record.source = read_source(root.object("source"));
  if (imported == record.environment.tool.empty() && !record.environment.hardware.empty())
    root.report("source", "a record has a source exactly when its environment names the tool that was imported");
  record.point = read_point(root.object("point"));
  record.islands = read_islands(root, imported);
  record.counters = read_sum(root, "counters", version == 1, record.islands, &MeasuredLaunch::counters);
  record.counters_with_flush =
      read_sum(root, "counters_with_flush", version == 1, record.islands, &MeasuredLaunch::counters_with_flush);
  const Facts facts(root, imported);
  record.flush_bytes = facts.number("flush_bytes");
  record.passes = static_cast<int>(std::min<std::int64_t>(facts.integer("passes", 1), 1000000));
  if (facts.has("unavailable")) record.unavailable = root.texts("unavailable");
  const JsonFields seconds = root.object("seconds");
  record.cold_seconds = seconds.numbers("cold");
  record.steady_seconds = seconds.numbers("steady");
  if (imported && seconds.has("program")) record.program_seconds = seconds.numbers("program");
  for (const auto& [key, samples] :
       {std::pair("cold", &record.cold_seconds), std::pair("steady", &record.steady_seconds),
        std::pair("program", &record.program_seconds)})
    if (std::find(samples->begin(), samples->end(), 0.0) != samples->end())
      seconds.report(key, "holds a time of 0 s, which nothing takes");
  if (root.has("clocks")) record.clocks = read_clocks(root.object("clocks"));
  if (facts.has("correctness")) record.correctness = read_correctness_fields(root.object("correctness"));
  return record;
}

std::string schema_of(const nlohmann::json& json, const std::string& file) {
  const auto schema = json.find("schema");
  if (schema != json.end() && schema->is_string()) return schema->get<std::string>();
  throw InputError(Diagnostic{
      .file = file, .message = fmt::format("has no schema; expected a record with schema {}", record_schema)});
}

Record parse_record(std::string_view text, const std::string& file_name) {
  const nlohmann::json json = parse_object(text, file_name, "a record");
  const std::string schema = schema_of(json, file_name);
  if (schema != record_schema) {
    throw InputError(Diagnostic{.file = file_name,
                                .message = fmt::format("has schema {}; this program reads {}", schema, record_schema)});
  }
  std::vector<Diagnostic> findings;
  const JsonFields root(json, file_name, "", findings);
  const auto no_environments = [&](const std::string&) {
    root.report("environment", "expected an object, found the name of one; only lines of a .jsonl file have names");
    return Environment{};
  };
  Record record = read_record_fields(root, 1, no_environments);
  if (!findings.empty()) throw InputError(std::move(findings));
  record.file = file_name;
  return record;
}

Record read_record(const std::filesystem::path& file) {
  return parse_record(read_file(file, largest_record), file.string());
}

}  // namespace tilescope::validate
