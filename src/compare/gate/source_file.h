// The files that a comparison comes from: GPUs' profiles, kernels' descriptors and what their machine code executes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compare/compare.h"

namespace tilescope {

// By name, as in "profile of h200_sxm", "descriptor of fused_mma", "machine code of fused_mma" (code.json) and "steps
// of fused_mma" (steps.zst); those of a kernel's
// code only where there are such files. An empty path: there is no such file.
std::map<std::string, std::filesystem::path> source_files(const Comparison& comparison,
                                                          const std::filesystem::path& data_directory);
std::string profile_name(const std::string& id);
std::vector<std::string> kernel_names(const std::string& kernel);  // of its files

// Of the file's bytes; empty: an empty path.
std::string fingerprint(const std::filesystem::path& file);

// "commit 1a2b3c4d5e6f of 2026-11-25", the last one that changed the file, or "not committed"; empty where the file is
// in no git repository, or git is missing.
std::string commit_of(const std::filesystem::path& file);

}  // namespace tilescope
