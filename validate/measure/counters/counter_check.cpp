// Checks the hardware counters of this machine: runs work with exactly known bytes and operations and prints each
// counter beside its expected value. Run it once per machine before using records made there.
//
//   counter_check            table on stdout; exit 1 when a counter that records rely on is off by more than 1 %
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "validate/measure/check_kernels.h"
#include "validate/measure/counters/counters.h"
#include "validate/measure/device_work.h"

namespace tilescope::validate {
namespace {

constexpr int rounds = 64;  // iterations of each instruction loop

bool all_right = true;

// `binding`: a wrong value makes the program exit 1; otherwise the row is for information.
void row(const std::string& work, const std::string& metric, double expected, double measured, bool binding = true) {
  const double ratio = expected == 0 ? 0 : measured / expected;
  const bool right = std::abs(ratio - 1) <= 0.01;
  all_right = all_right && (right || !binding);
  std::puts(fmt::format("{:<26} {:<58} {:>15.0f} {:>15.0f} {:>9.5f} {}", work, metric, expected, measured, ratio,
                        right     ? "ok"
                        : binding ? "WRONG"
                                  : "(differs)")
                .c_str());
}

void check_copies(const L2Flush& flush, CounterSession& session) {
  for (const std::size_t mib : {32, 128, 1024}) {
    const std::size_t bytes = mib << 20;
    const DeviceBuffer from(bytes), to(bytes);
    fill_normal(from.get(), bytes / 2, kernels::Dtype::fp16, mib, nullptr);
    const auto cold = [&] { flush.enqueue(nullptr); };
    const auto copy = [&] { run_copy(from.get(), to.get(), bytes); };
    const auto write = [&] { run_write(to.get(), bytes); };
    const auto values = session
                            .collect({{"copy", cold, copy},
                                      {"copy+flush", cold, [&] { copy(), flush.enqueue(nullptr); }},
                                      {"write+flush", cold, [&] { write(), flush.enqueue(nullptr); }},
                                      {"flush", cold, [&] { flush.enqueue(nullptr); }},
                                      {"nothing", cold, [] {}}})
                            .values;
    const double size = static_cast<double>(bytes), extra = static_cast<double>(flush.bytes());
    const std::string name = fmt::format("copy {} MiB", mib);
    row(name, "dram__bytes_read.sum", size, values.at("copy").at("dram__bytes_read.sum"));
    row(name, "dram__bytes_write.sum", size, values.at("copy").at("dram__bytes_write.sum"), false);
    row(name, "l1tex__m_xbar2l1tex_read_bytes.sum", size, values.at("copy").at("l1tex__m_xbar2l1tex_read_bytes.sum"));
    row(name, "l1tex__m_l1tex2xbar_write_bytes.sum", size, values.at("copy").at("l1tex__m_l1tex2xbar_write_bytes.sum"));
    row(name, "lts__t_sectors_srcunit_tex_op_read.sum x 32", size,
        32 * values.at("copy").at("lts__t_sectors_srcunit_tex_op_read.sum"), false);
    row(name + " + flush", "dram__bytes_read.sum", size + extra, values.at("copy+flush").at("dram__bytes_read.sum"));
    row(name + " + flush", "dram__bytes_write.sum", size, values.at("copy+flush").at("dram__bytes_write.sum"));
    row(fmt::format("write {} MiB + flush", mib), "dram__bytes_write.sum", size,
        values.at("write+flush").at("dram__bytes_write.sum"));
    row("flush alone", "dram__bytes_read.sum", extra, values.at("flush").at("dram__bytes_read.sum"));
    row("flush alone", "dram__bytes_write.sum (should be 0)", 0, values.at("flush").at("dram__bytes_write.sum"), false);
    row("an empty range", "dram__bytes_read.sum (should be 0)", 0, values.at("nothing").at("dram__bytes_read.sum"),
        false);
  }
}

// Finds how much flush traffic is needed until all dirty lines of a kernel have reached DRAM.
void check_flush_sizes(CounterSession& session) {
  const std::size_t bytes = std::size_t{32} << 20;
  const DeviceBuffer to(bytes);
  for (const int multiple : {1, 2, 4, 8}) {
    const L2Flush flush(multiple);
    const auto cold = [&] { flush.enqueue(nullptr); };
    const auto write = [&] {
      run_write(to.get(), bytes);
      flush.enqueue(nullptr);
    };
    const auto values = session.collect({{"write", cold, write}}).values;
    row(fmt::format("write 32 MiB + {} x L2", multiple), "dram__bytes_write.sum", static_cast<double>(bytes),
        values.at("write").at("dram__bytes_write.sum"), false);
  }
}

struct Known {
  std::string work, metric;
  double count;
  bool binding = true;
};

constexpr double executed = static_cast<double>(check_warps) * rounds;      // warp instructions of each kind
constexpr double filling = 2048.0 * 4 * static_cast<double>(check_blocks);  // bytes stored before the loop

std::vector<Known> known_hardware_counts() {
  return {{"instructions", "smsp__inst_executed_op_ldsm.sum", 3 * executed},
          {"instructions", "smsp__inst_executed_op_shared_ld.sum", 5 * executed},  // LDS and LDSM
          {"instructions", "smsp__inst_executed_op_ldgsts.sum", executed},
          {"instructions", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", (4 + 4 + 2 + 4 + 1) * executed},
          {"instructions", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 5 * executed + filling / 128,
           false},  // cp.async adds some
          {"instructions", "sm__ops_path_tensor_src_fp16.sum", 2.0 * 16 * 8 * 16 * 2 * executed},
          {"instructions", "smsp__inst_executed_pipe_tensor_op_hmma.sum", 2 * executed},
          {"math", "smsp__inst_executed_pipe_xu.sum", executed}};
}

std::vector<Known> known_instrumented_counts() {
  return {{"instructions", "sm__sass_data_bytes_mem_shared_op_ldsm.sum", (512 + 512 + 256) * executed},
          {"instructions", "sm__sass_data_bytes_mem_shared_op_ld.sum", (512 + 128) * executed},
          {"instructions", "sm__sass_data_bytes_mem_shared_op_st.sum", (512 + 128) * executed + filling},
          {"instructions", "sm__sass_data_bytes_mem_shared_op_ldgsts.sum", 512 * executed},
          {"instructions", "sm__sass_data_bytes_mem_shared.sum", (1280 + 640 + 640 + 512) * executed + filling},
          {"instructions", "smsp__sass_inst_executed_op_ldsm.sum", 3 * executed},
          {"instructions", "smsp__sass_inst_executed_op_shared_ld.sum", 2 * executed},
          {"instructions", "smsp__sass_inst_executed_op_ldgsts.sum", executed},
          {"math", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 32 * executed},
          {"math", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 32 * (executed + 2.0 * check_warps)},
          {"math", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 32 * (executed + 1.0 * check_warps)}};
}

void check_counts(const std::vector<Known>& known) {
  std::vector<std::string> metrics;
  for (const Known& one : known) metrics.push_back(one.metric);
  const DeviceBuffer out(sizeof(float) * check_blocks * check_threads);
  float* target = static_cast<float*>(out.get());
  CounterSession session(metrics);
  const auto values = session
                          .collect({{"instructions", {}, [&] { run_instructions(target, target, rounds); }},
                                    {"math", {}, [&] { run_math(target, rounds); }}})
                          .values;
  for (const Known& one : known) {
    row(one.work, one.metric, one.count, values.at(one.work).at(one.metric), one.binding);
  }
}

void check_instructions() {
  std::vector<Known> known = known_hardware_counts();
  const std::vector<Known> instrumented = known_instrumented_counts();
  known.insert(known.end(), instrumented.begin(), instrumented.end());
  check_counts(known);
}

int run() {
  const Preflight state = preflight();
  if (state.readiness != Readiness::ready) throw DeviceError(state.message);
  std::puts(fmt::format("CUPTI {}: {}", *cupti_version(), state.message).c_str());
  std::puts(
      fmt::format("{:<26} {:<58} {:>15} {:>15} {:>9}", "work", "counter", "expected", "measured", "ratio").c_str());
  const L2Flush flush;
  CounterSession memory({"dram__bytes_read.sum", "dram__bytes_write.sum", "l1tex__m_xbar2l1tex_read_bytes.sum",
                         "l1tex__m_l1tex2xbar_write_bytes.sum", "lts__t_sectors_srcunit_tex_op_read.sum"});
  check_copies(flush, memory);
  check_flush_sizes(memory);
  check_instructions();
  return all_right ? 0 : 1;
}

}  // namespace
}  // namespace tilescope::validate

int main() {
  try {
    return tilescope::validate::run();
  } catch (const tilescope::DeviceError& error) {
    std::fputs(fmt::format("counter_check: {}\n", error.what()).c_str(), stderr);
    return static_cast<int>(tilescope::ExitStatus::no_device);
  }
}
