// Captures: kernels listed, then predicted.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_capture(const Input& input) {
  if (run_words({"capture", "list", input.file})) run_words({"run", "--from", input.file, "--hardware", "h100_sxm"});
}

}  // namespace

const Target capture{.name = "capture", .file_name = "capture.jsonl", .run = give_capture};

}  // namespace tilescope::fuzz
