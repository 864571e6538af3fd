// The text of a steps.zst. The page to think on, whose files are unpacked when it is built, has its own
// (wasm/plain_steps.cpp).
#pragma once

#include <filesystem>
#include <string>

namespace tilescope {

// Throws InputError, which names `file`, where the bytes are damaged.
std::string unpacked_steps(const std::string& packed, const std::filesystem::path& file);

}  // namespace tilescope
