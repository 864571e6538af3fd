// Reads the file that a captured process wrote (trace_format.h) and adds it to a capture.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "records/capture/capture.h"

namespace tilescope::capture {

// Whether the cubin of that hash has a kernel of that symbol.
using HasKernel = std::function<bool(const std::string& hash, const std::string& symbol)>;

// Adds the process of `trace` and what it launched. What cannot be read ends the trace, with a note in the process.
// Nothing is added for bytes that do not start as a trace does; then the answer is false.
bool add_trace(std::string_view trace, const HasKernel& has_kernel, Capture& capture);

}  // namespace tilescope::capture
