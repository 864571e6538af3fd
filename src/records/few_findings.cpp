#include "records/few_findings.h"

#include <fmt/format.h>

#include <map>
#include <string>

namespace tilescope::validate {
namespace {

std::string file_of(const Diagnostic& finding) {
  const std::size_t lines = finding.file.rfind(".jsonl:");
  return lines == std::string::npos ? finding.file : finding.file.substr(0, lines + 6);
}

}  // namespace

std::vector<Diagnostic> few_findings(std::vector<Diagnostic> findings) {
  constexpr std::size_t most = 10;
  std::map<std::string, std::size_t> files;
  for (const Diagnostic& finding : findings) ++files[file_of(finding)];
  const std::size_t most_of_one = files.size() == 1 ? most : 1;
  std::map<std::string, std::size_t> shown;
  std::vector<Diagnostic> few;
  for (Diagnostic& finding : findings) {
    const std::string file = file_of(finding);
    if (!shown.contains(file) && shown.size() == most) continue;
    if (shown[file]++ < most_of_one) few.push_back(std::move(finding));
  }
  if (few.size() == findings.size()) return few;
  few.push_back({.message = fmt::format("{} findings in {} files: {} are not shown; mend those above first, or name "
                                        "only the files that are meant",
                                        findings.size(), files.size(), findings.size() - few.size())});
  return few;
}

}  // namespace tilescope::validate
