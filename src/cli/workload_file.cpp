#include "cli/workload_file.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "config/reader.h"
#include "schedule/schedule.h"

namespace tilescope::cli {
namespace {

constexpr std::int64_t largest_extent = std::int64_t{1} << 40;

Workload load_workload(const std::filesystem::path& file) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/workload/1");
  const Node root = document.root();
  root.only({"schema", "workload", "summary", "source", "batch", "heads_q", "heads_kv", "q_len", "kv_len", "head_dim", "v_head_dim"});
  root["workload"].text();
  root["summary"].text();
  if (const auto source = root.find("source")) source->text();
  const auto extent = [&](const char* key) { return root[key].integer(1, largest_extent); };
  Workload workload{extent("batch"), extent("heads_q"), extent("heads_kv"), extent("q_len"), extent("kv_len"), extent("head_dim"), 0};
  const auto v_head_dim = root.find("v_head_dim");
  workload.d_v = v_head_dim ? v_head_dim->integer(1, largest_extent) : workload.d_qk;
  if (document.clean())
    for (const std::string& violation : workload.violations()) root.report(violation);
  document.finish();
  return workload;
}

}  // namespace

Workload find_workload(const std::string& name_or_file, const std::filesystem::path& models_directory) {
  const std::filesystem::path shipped = models_directory / "workloads" / (name_or_file + ".yaml");
  std::error_code ignored;
  if (name_or_file.find('/') == std::string::npos && std::filesystem::exists(shipped, ignored)) return load_workload(shipped);
  if (std::filesystem::exists(name_or_file, ignored)) return load_workload(name_or_file);
  throw InputError(Diagnostic{.path = "--workload", .message = fmt::format("no workload or file '{}'{}", name_or_file,
                                  did_you_mean(name_or_file, shipped_names(models_directory / "workloads")))});
}

Mask load_block_mask(const std::string& file, const Workload& workload) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/mask/1");
  const Node root = document.root();
  root.only({"schema", "block_q", "block_kv", "rows"});
  auto blocks = std::make_shared<Mask::Blocks>();
  blocks->block_q = root["block_q"].integer(1, largest_extent);
  blocks->block_kv = root["block_kv"].integer(1, largest_extent);
  if (!document.clean()) document.finish();
  const auto columns = static_cast<std::size_t>(ceil_div(workload.kv_len, blocks->block_kv));
  const Node rows = root["rows"];
  for (const Node& row : rows.items()) {
    const std::string text = row.text();
    if (!text.empty() && (text.size() != columns || text.find_first_not_of("01") != std::string::npos))
      row.report(fmt::format("expected {} digits 0 or 1, one a key block of {}, found '{}'", columns, blocks->block_kv, text.substr(0, 40)));
    std::vector<bool> live;
    for (const char c : text) live.push_back(c == '1');
    blocks->live.push_back(std::move(live));
  }
  const std::int64_t expected = ceil_div(workload.q_len, blocks->block_q);
  if (static_cast<std::int64_t>(blocks->live.size()) != expected)
    rows.report(fmt::format("expected {} rows, one a query block of {}, found {}", expected, blocks->block_q, blocks->live.size()));
  document.finish();
  return Mask{.kind = Mask::Kind::blocks, .blocks = std::move(blocks), .text = "block-sparse:" + file};
}

}  // namespace tilescope::cli
