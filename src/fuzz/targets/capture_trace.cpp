// What a captured process writes while it runs.
#include "fuzz/target.h"
#include "records/capture/trace_events.h"

namespace tilescope::fuzz {
namespace {

void give_capture_trace(const Input& input) {
  capture::TraceEvents events;
  capture::read_events(input.bytes, events);
}

}  // namespace

const Target capture_trace{
    .name = "capture_trace", .file_name = "process.trace", .run = give_capture_trace, .is_text = false};

}  // namespace tilescope::fuzz
