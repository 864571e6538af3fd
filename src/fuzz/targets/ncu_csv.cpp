// CSV of Nsight Compute, made into records.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_ncu_csv(const Input& input) {
  run_words({"import", input.file, "--hardware", "h100_sxm", "--point",
             "batch=2 heads_q=16 q_len=2k head_dim=128 mask=causal dtype=bf16"});
}

}  // namespace

const Target ncu_csv{.name = "ncu_csv", .file_name = "ncu.csv", .run = give_ncu_csv};

}  // namespace tilescope::fuzz
