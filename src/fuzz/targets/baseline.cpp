// Stored comparisons that a later one is held against.
#include "compare/gate/baseline.h"

#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_baseline(const Input& input) { read_baseline(input.file); }

}  // namespace

const Target baseline{.name = "baseline", .file_name = "baseline.json", .run = give_baseline};

}  // namespace tilescope::fuzz
