// What --format and --color take.
#pragma once

#include <array>

#include "base/enum_table.h"

namespace tilescope {

namespace cli {

enum class OutputFormat { text, json, csv, md };

enum class ColourChoice { automatic, always, never };

}  // namespace cli

template <>
struct EnumTable<cli::OutputFormat> {
  static constexpr std::array rows{NamedKind{cli::OutputFormat::text, "text"},
                                   NamedKind{cli::OutputFormat::json, "json"}, NamedKind{cli::OutputFormat::csv, "csv"},
                                   NamedKind{cli::OutputFormat::md, "md"}};
};
template <>
struct EnumTable<cli::ColourChoice> {
  static constexpr std::array rows{NamedKind{cli::ColourChoice::automatic, "auto"},
                                   NamedKind{cli::ColourChoice::always, "always"},
                                   NamedKind{cli::ColourChoice::never, "never"}};
};

}  // namespace tilescope
