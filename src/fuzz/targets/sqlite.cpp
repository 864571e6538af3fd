// SQLite exports of Nsight Systems, made into records.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_sqlite(const Input& input) { run_words({"import", input.file, "--hardware", "h100_sxm"}); }

}  // namespace

const Target sqlite{.name = "sqlite", .file_name = "nsys.sqlite", .run = give_sqlite, .is_text = false};

}  // namespace tilescope::fuzz
