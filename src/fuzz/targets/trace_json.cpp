// Traces of PyTorch's profiler, made into records.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_trace_json(const Input& input) { run_words({"import", input.file, "--hardware", "h100_sxm"}); }

}  // namespace

const Target trace_json{.name = "trace_json", .file_name = "trace.json", .run = give_trace_json};

}  // namespace tilescope::fuzz
