// Workloads, then a point predicted with them.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_workload(const Input& input) {
  run_words({"predict", "--workload", input.file, "--hardware", "h100_sxm", "--tile", "q=64,kv=64", "--l2", "closed"});
}

}  // namespace

const Target workload{.name = "workload", .file_name = "workload.yaml", .run = give_workload};

}  // namespace tilescope::fuzz
