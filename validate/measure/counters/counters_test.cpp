#include "validate/measure/counters/counters.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"

using namespace tilescope;
using namespace tilescope::validate;

namespace {

const std::vector<std::string> names = {"dram__bytes_read.sum",
                                        "dram__bytes_write.sum",
                                        "lts__t_sectors_srcunit_tex_op_read.sum",
                                        "l1tex__m_xbar2l1tex_read_bytes.sum",
                                        "l1tex__m_l1tex2xbar_write_bytes.sum",
                                        "sm__ops_path_tensor_src_fp16.sum",
                                        "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
                                        "smsp__inst_executed_pipe_xu.sum",
                                        "smsp__inst_executed_op_ldsm.sum",
                                        "sm__sass_data_bytes_mem_shared_op_ldsm.sum",
                                        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
                                        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                        "sm__cycles_active.sum"};

bool has_cupti() { return cupti_version().has_value(); }

}  // namespace

TEST_CASE("a build without CUPTI says so as values" * doctest::skip(has_cupti())) {
  CHECK(supported_chips().empty());
  CHECK(!plan_counters("GH100", names).has_value());
  CHECK(preflight().readiness == Readiness::not_built);
  CHECK_THROWS_WITH_AS(require_counters(), doctest::Contains("TILESCOPE_CUDA=ON"), DeviceError);
}

TEST_CASE("every counter the model relies on resolves on GH100 without a GPU" * doctest::skip(!has_cupti())) {
  const auto plan = plan_counters("GH100", names);
  REQUIRE(plan.has_value());
  CHECK(plan->unknown.empty());
  CHECK(plan->passes >= 1);
  CHECK(plan->passes < static_cast<int>(names.size()));
}

TEST_CASE("a wrong counter name is reported and the others still count" * doctest::skip(!has_cupti())) {
  const auto plan = plan_counters("GH100", {"dram__bytes_read.sum", "dram__bytes_red.sum", "dram__bytes_write.sum"});
  REQUIRE(plan.has_value());
  CHECK(plan->unknown == std::vector<std::string>{"dram__bytes_red.sum"});
  CHECK(plan->passes == 1);
  const auto nothing = plan_counters("GH100", {"nonsense"});
  REQUIRE(nothing.has_value());
  CHECK(nothing->passes == 0);
}

TEST_CASE("counters differ between chips, and an unknown chip is no plan" * doctest::skip(!has_cupti())) {
  CHECK(plan_counters("GB202", {"dram__bytes_read.sum"})->unknown.size() == 1);
  CHECK(plan_counters("GB202", {"dram__bytes_op_read.sum"})->unknown.empty());
  CHECK(!plan_counters("GX999", names).has_value());
  const std::vector<std::string> chips = supported_chips();
  CHECK(std::find(chips.begin(), chips.end(), "GH100") != chips.end());
}

TEST_CASE("metrics are scheduled together, so related ones share a pass" * doctest::skip(!has_cupti())) {
  CHECK(plan_counters("GH100", {"dram__bytes_read.sum", "dram__bytes_write.sum", "l1tex__m_xbar2l1tex_read_bytes.sum"})
            ->passes == 1);
}

TEST_CASE("if counters cannot be read, the one-line message states the remedy") {
  const Preflight state = preflight();
  CHECK(!state.message.empty());
  CHECK(state.message.find('\n') == std::string::npos);
  if (state.readiness != Readiness::ready) CHECK_THROWS_WITH_AS(require_counters(), state.message.c_str(), DeviceError);
  else CHECK_NOTHROW(require_counters());
}
