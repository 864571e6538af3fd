// Tests of --l2 and --drift.
#include <doctest/doctest.h>

#include "cli/run_program.h"

namespace tilescope::cli::l2_option_test {

TEST_CASE("--l2 selects the L2 model, and --drift applies to the walk only") {
  const std::string predict = "predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 512 --head-dim 64 ";
  check_refused(predict + "--l2 wlak", "error: --l2: expected walk or closed, found 'wlak'; did you mean 'walk'?");
  check_refused(predict + "--l2 closed --drift 5",
                "error: --drift: applies to --l2 walk only, found --l2 closed; leave out one of them");
  check_refused(predict + "--drift 101", "error: --drift: expected an integer from 0 to 100, found '101'");
  for (const std::string model : {"walk", "closed"})
    CHECK(run_program(predict + "--format json --l2 " + model).out.find("\"l2_model\": \"" + model + "\"") !=
          std::string::npos);
  CHECK(run_program(predict + "--format json").out.find("\"l2_model\": \"walk\"") != std::string::npos);
  // With 32k keys K and V do not fit in the L2. The walk finds tile loads that miss it, and the answer counts them.
  const Outcome explained = run_program(
      "explain --hardware h200_sxm --kernel fused_mma --heads 4 --q-len 32k --head-dim 256 --tile q=128,kv=64,warps=8");
  CHECK(explained.out.find("tile loads that missed L2 after their first") != std::string::npos);
}

}  // namespace tilescope::cli::l2_option_test
