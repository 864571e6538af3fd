// The functions of the page, by name: options as JSON in, an answer as JSON out.
#pragma once

#include <string>

namespace tilescope::wasm {

// `request` is {"call": NAME, "options": [["hardware", "h200_sxm"], ["q-len", "4k"], ...]}. The options are those of
// the command line. The reply is {"answer": ...} or {"error": "the message that the command line prints"}.
//
//   predict  what `tilescope predict --format json` prints
//   search   what `tilescope search --format json` prints
//   point    the prediction and what charts draw of it: roofs and peaks of the GPU, parts of the time
std::string call(const std::string& request);

}  // namespace tilescope::wasm
