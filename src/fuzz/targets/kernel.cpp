// Kernel descriptors, then a point predicted with the tile that is found best.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_kernel(const Input& input) {
  for (const char* head_dim : {"64", "128"})
    run_words({"predict", "--kernel", input.file, "--hardware", "h100_sxm", "--heads", "4", "--q-len", "512",
               "--head-dim", head_dim});
}

}  // namespace

const Target kernel{.name = "kernel", .file_name = "kernel.yaml", .run = give_kernel};

}  // namespace tilescope::fuzz
