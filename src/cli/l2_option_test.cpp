// predict and explain say how they found DRAM bytes.
#include <doctest/doctest.h>

#include "cli/run_program.h"

namespace tilescope::cli {

TEST_CASE("--l2 chooses the model of the cache and --drift belongs to the walk") {
  const std::string predict = "predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 512 --head-dim 64 ";
  check_refused(predict + "--l2 wlak", "error: --l2: expected walk or closed, found 'wlak'; did you mean 'walk'?");
  check_refused(predict + "--l2 closed --drift 5", "error: --drift: is of the walk; leave it out or say --l2 walk");
  check_refused(predict + "--drift 101", "error: --drift: expected an integer from 0 to 100, found '101'");
  for (const std::string model : {"walk", "closed"})
    CHECK(run_program(predict + "--format json --l2 " + model).out.find("\"l2_model\": \"" + model + "\"") !=
          std::string::npos);
  CHECK(run_program(predict + "--format json").out.find("\"l2_model\": \"walk\"") != std::string::npos);
  // Many keys: the walk finds loads that the L2 has lost, and names them.
  const Outcome explained = run_program(
      "explain --hardware h200_sxm --kernel fused_mma --heads 4 --q-len 32k --head-dim 256 --tile q=128,kv=64,warps=8");
  CHECK(explained.out.find("tile loads that missed L2 after their first") != std::string::npos);
}

}  // namespace tilescope::cli
