#include "cli/output/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

namespace tilescope::cli {

bool help_wanted(const std::vector<std::string>& words, const std::string& usage, const std::vector<OptionSpec>& specs,
                 const std::string& examples) {
  const auto asks = [](const std::string& word) { return word == "--help" || word == "-h"; };
  if (std::none_of(words.begin(), words.end(), asks)) return false;
  std::cout << "usage: tilescope " << usage << "\n\noptions:\n";
  for (const OptionSpec& spec : specs)
    std::cout << fmt::format("  --{:22} {}\n", spec.name + (spec.flag ? "" : " VALUE"), spec.help);
  std::cout << "\nexamples:\n" << examples << "\n";
  return true;
}

}  // namespace tilescope::cli
