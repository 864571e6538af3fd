#include "base/error.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tilescope {
namespace {

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = one_line(diagnostic.file);
  if (diagnostic.line > 0) text += fmt::format(":{}", diagnostic.line);
  if (diagnostic.line > 0 && diagnostic.column > 0) text += fmt::format(":{}", diagnostic.column);
  if (!text.empty()) text += ": ";
  text += "error: ";
  if (!diagnostic.path.empty()) text += one_line(diagnostic.path) + ": ";
  return text + one_line(diagnostic.message);
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(joined(diagnostics)), diagnostics_(std::move(diagnostics)) {}

void refuse(const std::string& path, const std::string& message) {
  throw InputError(Diagnostic{.path = path, .message = message});
}

}  // namespace tilescope
