// What --format and --color take.
#pragma once

#include <array>

#include "base/enum_table.h"

namespace tilescope {

namespace cli {

enum class OutputFormat { text, json, csv, md };
struct OutputFormatRow {
  OutputFormat value;
  std::string_view name;
};

enum class ColourChoice { automatic, always, never };
struct ColourChoiceRow {
  ColourChoice value;
  std::string_view name;
};

}  // namespace cli

template <>
struct EnumTable<cli::OutputFormat> {
  static constexpr std::array rows{
      cli::OutputFormatRow{cli::OutputFormat::text, "text"}, cli::OutputFormatRow{cli::OutputFormat::json, "json"},
      cli::OutputFormatRow{cli::OutputFormat::csv, "csv"}, cli::OutputFormatRow{cli::OutputFormat::md, "md"}};
};
template <>
struct EnumTable<cli::ColourChoice> {
  static constexpr std::array rows{cli::ColourChoiceRow{cli::ColourChoice::automatic, "auto"},
                                   cli::ColourChoiceRow{cli::ColourChoice::always, "always"},
                                   cli::ColourChoiceRow{cli::ColourChoice::never, "never"}};
};

}  // namespace tilescope
