#include "validate/capture/inject/metric_groups.h"

#include <algorithm>

#include "validate/measure/counters/cupti_call.h"

namespace tilescope::capture {
namespace {

using validate::CuptiHost;

// What the model compares with counters, the most telling first. Where a total needs two passes, its parts stand here:
// FLOP of fp16 on Hopper are those of wgmma (hgmma) and of mma (hmma).
constexpr const char* hardware_metrics[] = {
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__bytes_op_read.sum",
    "dram__bytes_op_write.sum",
    "l1tex__m_xbar2l1tex_read_bytes.sum",
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_red.sum",
    "l1tex__m_l1tex2xbar_write_bytes.sum",
    "sm__ops_path_tensor_op_hgmma_src_fp16.sum",
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum",
    "sm__ops_path_tensor_src_fp16_dst_fp32.sum",
    "smsp__inst_executed_pipe_xu.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "sm__cycles_active.sum",
    "sm__pipe_tensor_cycles_active.sum",
    "smsp__inst_executed.sum",
    "sm__inst_executed_pipe_tensor.sum",
    "sm__inst_executed_pipe_tensor_v2.sum",
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum",
    "smsp__inst_executed_op_ldsm.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    "smsp__inst_executed_op_tma_ld.sum",
    "smsp__inst_executed_op_tma_st.sum",
    "smsp__inst_executed_pipe_fma.sum",
    "smsp__inst_executed_pipe_alu.sum",
    "sm__ops_path_tensor_src_fp8.sum",
    "sm__ops_path_tensor_src_fp8_dst_fp32.sum",
    "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum",
    "sm__ops_path_tensor_src_int8.sum",
    "sm__ops_path_tensor_op_igmma_src_int8.sum",
    "sm__ops_path_tensor_op_imma_src_int8_sparsity_off.sum",
    "sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum",
};

// Counted by patched instructions, which slow the kernel, so they share no pass with the others. All of them fit one
// pass, and their values are wrong unless they are added together.
const std::vector<std::string> sass_metrics{"sm__sass_data_bytes_mem_shared_op_ldsm.sum",
                                            "sm__sass_data_bytes_mem_shared_op_ld.sum",
                                            "sm__sass_data_bytes_mem_shared_op_st.sum",
                                            "sm__sass_data_bytes_mem_shared_op_stsm.sum",
                                            "sm__sass_data_bytes_mem_shared_op_ldgsts.sum",
                                            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
                                            "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
                                            "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
                                            "smsp__sass_thread_inst_executed_op_ffma2_pred_on.sum",
                                            "smsp__sass_thread_inst_executed_op_fadd2_pred_on.sum",
                                            "smsp__sass_thread_inst_executed_op_fmul2_pred_on.sum",
                                            "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum"};

}  // namespace

std::vector<MetricGroup> metric_groups(const std::string& chip, const std::vector<std::uint8_t>& availability) {
  const auto in_one_pass = [&](const std::vector<std::string>& metrics) {
    CuptiHost host(chip, availability);
    if (!host.add(metrics)) return false;
    std::vector<std::uint8_t> image = host.config_image();
    return CuptiHost::passes_of(image) == 1;
  };
  std::vector<MetricGroup> groups;
  const auto place = [&](const std::string& metric) {
    if (!in_one_pass({metric})) return;
    for (MetricGroup& group : groups) {
      group.metrics.push_back(metric);
      if (in_one_pass(group.metrics)) return;
      group.metrics.pop_back();
    }
    groups.push_back({std::to_string(groups.size() + 1), {metric}});
  };
  for (const char* metric : hardware_metrics) place(metric);
  const std::vector<std::string> sass = validate::sort_metrics(chip, sass_metrics, availability).known;
  if (!sass.empty() && in_one_pass(sass)) groups.push_back({"sass", sass});
  return groups;
}

}  // namespace tilescope::capture
