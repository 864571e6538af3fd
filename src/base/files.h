// Reading whole files and replacing them atomically.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope {

// The file's bytes. Throws InputError when it is missing, unreadable, a directory, or larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{64} << 20);

// Writes to a temporary name beside `path`, syncs, and renames over it, so a reader sees the old file or the new
// one. A device or pipe (/dev/stdout) is written directly. Throws InputError (full disk, read-only directory, ...).
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace tilescope
