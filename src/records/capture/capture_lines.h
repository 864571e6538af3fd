// A capture as JSON Lines (`tilescope/capture/1`): a line each process, module, kernel, tensor map, and kind of launch.
// Lines name each other by place: `kernel: 3` is the fourth line of kernels. Cubins stand beside the file, in cubins/.
#pragma once

#include <filesystem>
#include <string>

#include "records/capture/capture.h"

namespace tilescope::capture {

inline constexpr std::string_view capture_schema = "tilescope/capture/1";
inline constexpr std::string_view capture_file_name = "capture.jsonl";

std::string capture_lines(const Capture& capture);

// What is said of a module of a capture whose file is not there.
inline constexpr const char* module_missing =
    "the machine code of this module is not there: copy the capture's directory with its cubins";

// Reads a capture: a file, or a directory that `tilescope capture` wrote. Throws InputError with every finding.
Capture read_capture(const std::filesystem::path& place);

// What `capture -o DIRECTORY` left in it: traces/*.trace become capture.jsonl and are removed. Returns the capture.
// Throws InputError when the directory cannot be read or written.
Capture join_traces(const std::filesystem::path& directory);

}  // namespace tilescope::capture
