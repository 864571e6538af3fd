#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/workload_file.h"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t largest_extent = std::int64_t{1} << 40;

[[noreturn]] void refuse(const std::string& path, const std::string& message) {
  throw InputError(Diagnostic{.path = path, .message = message});
}

Workload read_workload(const Arguments& arguments) {
  Workload workload;
  if (const auto name = arguments.text("workload")) workload = find_workload(*name, data_directory() / "models");
  const auto extent = [&](const char* name) { return arguments.integer(name, 1, largest_extent); };
  if (const auto batch = extent("batch")) workload.batch = *batch;
  if (const auto heads = extent("heads-q")) workload.heads_q = *heads, workload.heads_kv = arguments.has("workload") ? workload.heads_kv : *heads;
  if (const auto heads = extent("heads-kv")) workload.heads_kv = *heads;
  if (const auto length = extent("q-len")) workload.q_len = *length, workload.kv_len = arguments.has("workload") ? workload.kv_len : *length;
  if (const auto length = extent("kv-len")) workload.kv_len = *length;
  if (const auto dim = extent("head-dim")) workload.d_qk = workload.d_v = *dim;
  if (const auto dim = extent("v-head-dim")) workload.d_v = *dim;
  if (!arguments.has("workload") && !arguments.has("q-len"))
    refuse("--q-len", "is missing: give --q-len (and --kv-len, --heads-q, --head-dim, ...) or --workload");
  const std::vector<std::string> violations = workload.violations();
  std::vector<Diagnostic> diagnostics;
  for (const std::string& violation : violations) diagnostics.push_back({.path = "workload", .message = violation});
  if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
  return workload;
}

Mask read_mask(const Arguments& arguments, const Workload& workload) {
  const std::string text = arguments.text("mask").value_or("none");
  if (const auto mask = parse_mask(text)) return *mask;
  constexpr std::string_view prefix = "block-sparse:";
  if (text.starts_with(prefix) && text.size() > prefix.size()) return load_block_mask(text.substr(prefix.size()), workload);
  static const std::vector<std::string> kinds{"none", "causal", "window:W", "block-sparse:FILE"};
  refuse("--mask", fmt::format("expected none, causal, window:W (W >= 1) or block-sparse:FILE, found '{}'{}", text,
                               nearest(text, kinds) ? did_you_mean(text, kinds) : ""));
}

// "q=128,kv=64,warps=4"
void apply_tile(Point& point, const Plan& plan, const std::string& text) {
  std::vector<std::string> names{"warps"};
  for (const Parameter& parameter : plan.schedule.parameters) names.push_back(parameter.name);
  std::set<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    if (!seen.insert(name).second) refuse("--tile", fmt::format("'{}' is given twice in '{}'", name, text));
    const auto value = equals == std::string::npos ? std::nullopt : parse_count(part.substr(equals + 1));
    if (!value || *value < 1 || *value > largest_extent)
      refuse("--tile", fmt::format("expected NAME=SIZE[,NAME=SIZE...] with positive sizes, as in q=128,kv=64, found '{}'", part));
    const int parameter = plan.schedule.find_parameter(name);
    if (name == "warps" && *value <= 64) point.warps = *value;
    else if (name == "warps") refuse("--tile", fmt::format("warps must be from 1 to 64, found {}", *value));
    else if (parameter >= 0) point.tiles[static_cast<std::size_t>(parameter)] = *value;
    else refuse("--tile", fmt::format("schedule '{}' has no tile '{}'{}", plan.schedule.name, name, did_you_mean(name, names)));
  }
}

}  // namespace

std::vector<OptionSpec> point_options() {
  return {{"hardware", "GPU profile id or YAML file (see: tilescope hardware list)"},
          {"schedule", "schedule name or file: flash2 (default), standard"},
          {"kernel", "kernel name or descriptor file: fused_mma, reference, ..."},
          {"workload", "named shape in models/workloads, or a file"},
          {"batch", "batch size (default 1)"},
          {"heads-q", "query heads (default 1; alias --heads)"},
          {"heads-kv", "KV heads (default: as query heads)"},
          {"q-len", "query length (alias --seqlen); 4k = 4096"},
          {"kv-len", "key length (default: as query length)"},
          {"head-dim", "head dimension of Q and K, and of V unless --v-head-dim (default 64)"},
          {"v-head-dim", "head dimension of V and O"},
          {"mask", "none, causal, window:W or block-sparse:FILE"},
          {"dtype", "fp32 tf32 bf16 fp16 fp8_e4m3 fp8_e5m2 int8 int4, and per array: fp16,kv=int8:g64:b2,o=bf16"},
          {"tile", "tile sizes: q=128,kv=64,warps=4,pack=1"},
          {"pass", "forward (backward comes later)"}};
}

std::vector<OptionSpec> output_options() {
  return {{"format", "text, json, csv or md"}, {"output", "write to this file (alias -o)"}, {"quiet", "no progress or notes", true}, {"help", "this text", true}};
}

fs::path data_directory() {
  if (const char* given = std::getenv("TILESCOPE_DATA")) return given;
  std::error_code ignored;
  fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (; !ignored && folder.has_relative_path(); folder = folder.parent_path())
    if (fs::is_directory(folder / "models" / "schedules", ignored) && fs::is_directory(folder / "hardware", ignored)) return folder;
  return TILESCOPE_DATA_DIR;
}

Plan read_plan(const std::optional<std::string>& kernel, const std::optional<std::string>& schedule) {
  if (kernel && schedule) refuse("--kernel", "give --kernel or --schedule, not both: a kernel names its schedule");
  return kernel ? load_plan_for_kernel(*kernel, data_directory()) : load_plan_for_schedule(schedule.value_or("flash2"), data_directory());
}

Plan read_plan(const Arguments& arguments) { return read_plan(arguments.text("kernel"), arguments.text("schedule")); }

HardwareProfile read_hardware(const Arguments& arguments) {
  const auto name = arguments.text("hardware");
  if (!name) refuse("--hardware", "is missing: give a GPU, as in --hardware h200_sxm; see tilescope hardware list");
  return find_profile(*name, data_directory() / "hardware");
}

void apply_dtypes(Point& point, const Plan& plan, const std::string& text) {
  std::set<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == 0) refuse("--dtype", fmt::format("expected ARRAY=FORMAT, as in kv=int8, found '{}'", part));
    const std::string key = equals == std::string::npos ? "" : part.substr(0, equals);
    const std::string name = equals == std::string::npos ? part : part.substr(equals + 1);
    if (!seen.insert(key).second)
      refuse("--dtype", key.empty() ? fmt::format("more than one format for all arrays in '{}'", text)
                                    : fmt::format("'{}' is given twice in '{}'", key, text));
    const auto dtype = parse_dtype(name);
    if (!dtype)
      refuse("--dtype", fmt::format("expected a format, optionally with scales as in int8:g64:b2, found '{}'{}", name, did_you_mean(name, dtype_names())));
    if (!set_dtype(point, plan.schedule.diagram, key, *dtype)) {
      std::vector<std::string> keys{"kv"};
      for (const Array& array : plan.schedule.diagram.arrays) keys.push_back(array.dtype_key);
      refuse("--dtype", fmt::format("no array takes the key '{}'{}", key, did_you_mean(key, keys)));
    }
  }
}

void default_tile(Point& point, const Plan& plan) {
  for (const KernelVariant& variant : plan.kernel.variants) {
    if (variant.head_dim != 0 && variant.head_dim != point.workload.d_qk) continue;
    const int q = plan.schedule.find_parameter("q"), kv = plan.schedule.find_parameter("kv");
    if (q >= 0) point.tiles[static_cast<std::size_t>(q)] = variant.tile_q;
    if (kv >= 0) point.tiles[static_cast<std::size_t>(kv)] = variant.tile_kv;
    point.warps = variant.warps;
    return;
  }
}

bool tile_given(const Arguments& arguments) { return arguments.has("tile"); }

Point read_point(const Arguments& arguments, const Plan& plan) {
  if (const auto pass = arguments.text("pass"); pass && *pass != "forward")
    refuse("--pass", fmt::format("expected forward, found '{}'; no backward schedule is shipped yet", *pass));
  Point point = default_point(plan);
  point.workload = read_workload(arguments);
  point.mask = read_mask(arguments, point.workload);
  if (!plan.kernel.dtypes.empty()) apply_dtypes(point, plan, to_string(plan.kernel.dtypes.front()));
  if (const auto dtypes = arguments.text("dtype")) apply_dtypes(point, plan, *dtypes);
  default_tile(point, plan);
  if (const auto tile = arguments.text("tile")) apply_tile(point, plan, *tile);
  return point;
}

}  // namespace tilescope::cli
