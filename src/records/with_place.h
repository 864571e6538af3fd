// Findings about a value that stands in a file, by code that knows the value alone.
#pragma once

#include "base/error.h"

namespace tilescope {

// Does `work`. Findings of it that name no file get file, line and path of `place`.
template <class Work>
void with_place(const Diagnostic& place, const Work& work) {
  try {
    work();
  } catch (const InputError& error) {
    std::vector<Diagnostic> findings = error.diagnostics();
    for (Diagnostic& finding : findings) {
      if (!finding.file.empty() || place.file.empty()) continue;
      finding.file = place.file, finding.line = place.line, finding.path = place.path;
    }
    throw InputError(std::move(findings));
  }
}

}  // namespace tilescope
