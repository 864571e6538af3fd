// The parts of measure.h that need no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "validate/measure/measure.h"

namespace tilescope::validate {
namespace {

// Requested on every chip in addition to the profile's counters. Metrics that a chip lacks are recorded as unavailable.
constexpr const char* always[] = {
    // traffic, counted at both ends of each link
    "dram__bytes_read.sum", "dram__bytes_write.sum", "l1tex__m_xbar2l1tex_read_bytes.sum",
    "l1tex__m_l1tex2xbar_write_bytes.sum", "lts__t_sectors_srcunit_tex_op_read.sum",
    // shared memory: wavefronts of at most 128 B (shuffles included), and the bytes requested by instructions
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "sm__sass_data_bytes_mem_shared_op_ldsm.sum",
    "sm__sass_data_bytes_mem_shared_op_ld.sum", "sm__sass_data_bytes_mem_shared_op_st.sum",
    // work
    "sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "smsp__inst_executed_pipe_xu.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
    // executed instructions by type: register traffic is these times operand widths
    "smsp__inst_executed.sum", "smsp__inst_executed_pipe_tensor_op_hmma.sum",
    "smsp__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum", "smsp__inst_executed_pipe_fma.sum",
    "smsp__inst_executed_pipe_alu.sum", "smsp__sass_inst_executed_op_ldsm.sum",
    "smsp__sass_inst_executed_op_shared_ld.sum", "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_inst_executed_op_global_ld.sum", "smsp__sass_inst_executed_op_global_st.sum",
    "smsp__sass_inst_executed_op_ldgsts.sum",
    // wgmma, the copy engine (TMA), atomic additions executed in L2
    "smsp__inst_executed_pipe_tensor_op_gmma.sum", "sm__pipe_tensor_cycles_active.sum",
    "smsp__inst_executed_op_tma_ld.sum", "smsp__inst_executed_op_tma_st.sum", "lts__t_sectors_srcunit_tex_op_red.sum",
    // spills and cycles
    "smsp__inst_executed_op_local_ld.sum", "smsp__inst_executed_op_local_st.sum", "sm__cycles_active.sum",
    "sm__cycles_elapsed.max"};

// Number formats that bundled kernels do not compute in would only cost passes.
bool wanted(const std::string& work_counter) {
  return !work_counter.starts_with("tensor_flop.") || work_counter == "tensor_flop.fp16" ||
         work_counter == "tensor_flop.bf16" || work_counter == "tensor_flop.fp8_e4m3";
}

bool is_traffic(const std::string& metric) {
  return metric.starts_with("dram__") || metric.starts_with("lts__") || metric.starts_with("l1tex__m_");
}

std::string first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return std::string(trimmed(line));
}

bool is_hash(std::string_view text) {
  return text.size() >= 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

MetricSets metrics_to_collect(const HardwareProfile& profile) {
  MetricSets sets;
  const auto add = [&](const std::string& metric) {
    std::vector<std::string>& set = is_traffic(metric) ? sets.traffic : sets.work;
    if (std::find(set.begin(), set.end(), metric) == set.end()) set.push_back(metric);
  };
  for (const char* metric : always) add(metric);
  for (const MemoryLevel& level : profile.levels) {
    if (level.counters.read) add(level.counters.read->metric);
    if (level.counters.write) add(level.counters.write->metric);
  }
  for (const auto& [name, counter] : profile.work_counters) {
    if (wanted(name)) add(counter.metric);
  }
  return sets;
}

std::string to_string(const MeasureProgress& progress) {
  const std::string head = fmt::format("[{}/{}] {}: ", progress.index, progress.total, progress.point);
  switch (progress.state) {
    case PointState::measured:
      return head + fmt::format("measured, {:.1f} s{}{}", progress.seconds,
                                progress.message.empty() ? "" : "; note: ", progress.message);
    case PointState::kept:
      return head + "already recorded, kept";
    case PointState::unsupported:
      return head + "not supported: " + progress.message;
    case PointState::incorrect:
      return head + "WRONG RESULT: " + progress.message;
  }
  return head;
}

std::string source_revision(const std::filesystem::path& repository) {
  std::filesystem::path git = repository / ".git";
  if (std::filesystem::is_regular_file(git)) {  // a linked worktree: "gitdir: <path>"
    const std::string line = first_line(git);
    if (line.starts_with("gitdir: ")) git = repository / line.substr(8);
  }
  const std::string head = first_line(git / "HEAD");
  if (is_hash(head)) return head;
  if (!head.starts_with("ref: ")) return "unknown";
  const std::string reference = head.substr(5);
  for (const std::filesystem::path& base : {git, git / ".." / ".."}) {  // a worktree keeps branches in the main folder
    const std::string hash = first_line(base / reference);
    if (is_hash(hash)) return hash;
    std::ifstream packed(base / "packed-refs");
    for (std::string line; std::getline(packed, line);) {
      if (line.ends_with(" " + reference) && is_hash(line.substr(0, 40))) return line.substr(0, 40);
    }
  }
  return "unknown";
}

}  // namespace tilescope::validate
