// Records, set against predictions.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_record(const Input& input) { run_words({"validate", "--recorded", input.file, "--format", "json"}); }

}  // namespace

const Target record{.name = "record", .file_name = "record.jsonl", .run = give_record};

}  // namespace tilescope::fuzz
