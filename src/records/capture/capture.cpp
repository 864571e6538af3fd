#include "records/capture/capture.h"

#include <cxxabi.h>

#include <cstdlib>

namespace tilescope::capture {

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return name;
}

std::string short_kernel_name(const std::string& symbol) {
  std::string name = demangled(symbol);
  for (const std::string_view unnamed : {"(anonymous namespace)::", "<unnamed>::"})
    for (std::size_t at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed))
      name.erase(at, unnamed.size());
  name = name.substr(0, name.find_first_of("<("));
  const std::size_t start = name.find_last_of(": ");
  if (start != std::string::npos) name.erase(0, start + 1);
  return name.empty() ? symbol : name;
}

}  // namespace tilescope::capture
