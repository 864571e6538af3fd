// Profiles of GPUs: read and checked, then a point predicted on them.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_hardware(const Input& input) {
  if (!run_words({"hardware", "show", input.file})) return;
  run_words({"hardware", "check", input.file});
  run_words({"predict", "--hardware", input.file, "--q-len", "1k", "--heads", "8", "--tile", "q=64,kv=64"});
}

}  // namespace

const Target hardware{.name = "hardware", .file_name = "gpu.yaml", .run = give_hardware};

}  // namespace tilescope::fuzz
