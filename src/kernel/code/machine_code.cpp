#include "kernel/code/machine_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "kernel/code/sass/encoding.h"
#include "kernel/code/sass/listing.h"
#include "kernel/code/sass/nvdisasm.h"

namespace tilescope {

std::vector<CodeSummary> machine_code(const std::filesystem::path& nvdisasm, const Cubin& cubin,
                                      const std::vector<const CubinKernel*>& kernels, const std::string& file) {
  std::vector<CodeSummary> summaries;
  if (kernels.empty()) return summaries;
  std::set<std::string> names;
  for (const CubinKernel* kernel : kernels) names.insert(kernel->name);
  std::vector<CodeSection> sections =
      read_listing(disassemble(nvdisasm, cubin.image, file), "listing of " + file, names);
  for (const CubinKernel* kernel : kernels) {
    const auto section = std::find_if(sections.begin(), sections.end(),
                                      [&](const CodeSection& each) { return each.name == kernel->name; });
    if (section == sections.end())
      throw InputError(
          Diagnostic{.file = file, .message = fmt::format("nvdisasm lists no code of '{}'", kernel->name)});
    add_issue_control(*section, kernel->code, file);
    summaries.push_back(summarise(std::move(*section), kernel->most_threads));
  }
  return summaries;
}

}  // namespace tilescope
