// The files that a comparison comes from: GPUs' profiles and kernels' descriptors.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "compare/compare.h"

namespace tilescope {

// By name, as in "profile of h200_sxm" and "descriptor of fused_mma"; an empty path: there is no such file.
std::map<std::string, std::filesystem::path> source_files(const Comparison& comparison,
                                                          const std::filesystem::path& data_directory);
std::string profile_name(const std::string& id);
std::string descriptor_name(const std::string& kernel);

// Of the file's bytes; empty: an empty path.
std::string fingerprint(const std::filesystem::path& file);

// "commit 1a2b3c4d5e6f of 2026-11-25", the last one that changed the file, or "not committed"; empty where the file is
// in no git repository, or git is missing.
std::string commit_of(const std::filesystem::path& file);

}  // namespace tilescope
