// What JavaScript calls: tilescope_call(request) with a text of the module's memory. The data are files below
// /tilescope.
#include <cstdlib>

#include "wasm/call.h"

extern "C" const char* tilescope_call(const char* request) {
  static std::string reply;  // until the next call
  ::setenv("TILESCOPE_DATA", "/tilescope", 0);
  reply = tilescope::wasm::call(request);
  return reply.c_str();
}
