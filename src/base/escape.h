// Text from outside, made fit for files that other programs read.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

// A cell of CSV, in quotes where it has to be. A text that a spreadsheet would run as a formula ("=1+1") begins with '.
std::string csv_escaped(std::string_view text);

// Text of XML and of attributes in quotes. Characters that XML 1.0 lacks, and bytes that are not UTF-8, become U+FFFD.
std::string xml_escaped(std::string_view text);

// Markdown as a command prints it, with names in it: outside of code blocks no tag begins and no link. Tables and
// headings stay.
std::string safe_markdown(std::string_view text);

}  // namespace tilescope
