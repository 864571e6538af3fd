// Lowerings, evaluated and printed.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_lowering(const Input& input) { run_words({"derive", "--lowering", input.file}); }

}  // namespace

const Target lowering{.name = "lowering", .file_name = "lowering.yaml", .run = give_lowering};

}  // namespace tilescope::fuzz
