// A page's template with its named gaps, and the files that stand beside it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tilescope::report {

using TemplateValues = std::map<std::string, std::string, std::less<>>;

// Replaces every {{name}} once, in one pass: what a value contains is never looked at again. Throws InputError for a
// name that has no value.
std::string filled(const std::string& page, const TemplateValues& values, const std::filesystem::path& file);

// The content of a file of the assets folder. Throws InputError that says how to make the folder.
std::string asset(const std::filesystem::path& assets, const char* name);

}  // namespace tilescope::report
