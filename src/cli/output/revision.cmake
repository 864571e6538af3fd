# Writes revision.cpp (see revision.h). Runs at each build; an unchanged file keeps its time, so nothing is compiled again.
# usage: cmake -D SOURCE=<repository> -D OUTPUT=<revision.cpp> -D CUDA=<version or empty> -P revision.cmake
set(revision "")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --abbrev=12 --dirty=-modified --exclude=*
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT revision)
  set(revision unknown)
endif()
if(NOT CUDA)
  set(CUDA none)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "cli/output/revision.h"

namespace tilescope::cli {
const char* build_revision() { return "@revision@"; }
const char* build_cuda_version() { return "@CUDA@"; }
}  // namespace tilescope::cli
]])
