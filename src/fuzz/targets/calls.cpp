// Rules that say which kernel a call of a software launches.
#include "request/calls.h"

#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_calls(const Input& input) { load_calls(input.file); }

}  // namespace

const Target calls{.name = "calls", .file_name = "software.calls.yaml", .run = give_calls};

}  // namespace tilescope::fuzz
