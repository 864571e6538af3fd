// Masks of blocks, then a point predicted under them.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_block_mask(const Input& input) {
  run_words({"predict", "--mask", "block-sparse:" + input.file, "--q-len", "4k", "--hardware", "h100_sxm", "--kernel",
             "block_sparse", "--tile", "q=128,kv=64"});
}

}  // namespace

const Target block_mask{.name = "block_mask", .file_name = "mask.yaml", .run = give_block_mask};

}  // namespace tilescope::fuzz
