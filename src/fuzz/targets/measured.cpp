// Measurements in YAML, made into records.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_measured(const Input& input) { run_words({"import", input.file, "--validate"}); }

}  // namespace

const Target measured{.name = "measured", .file_name = "measured.yaml", .run = give_measured};

}  // namespace tilescope::fuzz
