#include "request/workload_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "config/reader.h"
#include "schedule/schedule.h"

namespace tilescope {
namespace {

Workload load_workload(const std::filesystem::path& file) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/workload/1");
  const Node root = document.root();
  root.only({"schema", "workload", "summary", "source", "batch", "heads_q", "heads_kv", "q_len", "kv_len", "head_dim",
             "v_head_dim"});
  root["workload"].text();
  root["summary"].text();
  if (const auto source = root.find("source")) source->text();
  const auto extent = [&](const char* key) { return root[key].count(1, largest_extent); };
  Workload workload{
      extent("batch"), extent("heads_q"), extent("heads_kv"), extent("q_len"), extent("kv_len"), extent("head_dim"), 0};
  const auto v_head_dim = root.find("v_head_dim");
  workload.d_v = v_head_dim ? v_head_dim->count(1, largest_extent) : workload.d_qk;
  if (document.clean())
    for (const std::string& violation : workload.violations()) root.report(violation);
  document.finish();
  return workload;
}

}  // namespace

Workload find_workload(const std::string& name_or_file, const std::filesystem::path& models_directory) {
  const std::filesystem::path shipped = models_directory / "workloads" / (name_or_file + ".yaml");
  std::error_code ignored;
  if (name_or_file.find('/') == std::string::npos && std::filesystem::exists(shipped, ignored))
    return load_workload(shipped);
  if (std::filesystem::exists(name_or_file, ignored)) return load_workload(name_or_file);
  throw InputError(
      Diagnostic{.path = "--workload",
                 .message = fmt::format("no workload or file '{}'{}", name_or_file,
                                        did_you_mean(name_or_file, shipped_names(models_directory / "workloads")))});
}

}  // namespace tilescope
