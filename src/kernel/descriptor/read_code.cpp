// Variants and their instructions from the summary of a kernel's machine code.
#include "kernel/descriptor/read_code.h"

#include "kernel/descriptor/read_fields.h"

namespace tilescope::reading {
namespace {

InstanceCode read_passes(const Node& kernel) {
  InstanceCode code{.warps = kernel["warps"].integer(1, 64)};
  for (const auto& [name, counts] : kernel["passes"].entries()) {
    const auto pass = parse_kind<CodePass>(name);
    if (!pass) {
      counts.report(fmt::format("no piece of code is called '{}'{}", name, did_you_mean(name, kind_names<CodePass>())));
      continue;
    }
    counts.only(kind_names<CodeCount>());
    for (const auto& [key, number] : counts.entries())
      if (const auto count = parse_kind<CodeCount>(key))
        code.passes[static_cast<std::size_t>(*pass)][static_cast<std::size_t>(*count)] = number.integer(0, 1 << 30);
  }
  return code;
}

}  // namespace

std::filesystem::path code_file_of(const std::filesystem::path& descriptor) {
  std::string name = descriptor.filename().string();
  constexpr std::string_view ending = "kernel.yaml";
  if (!name.ends_with(ending)) return {};
  return descriptor.parent_path() / (name.substr(0, name.size() - ending.size()) + "code.json");
}

std::vector<std::pair<Node, InstanceCode>> read_code(const Document& document) {
  document.expect_schema("tilescope/code/1");
  const Node root = document.root();
  root.only({"schema", "file", "compiler", "function", "tile", "before", "mask_rows", "source_sha256", "kernels"});
  const std::int64_t before = root["before"].integer(0, 1);
  const auto rows = root.find("mask_rows");
  const std::int64_t mask_rows = rows ? rows->integer(1, 1024) : 0;
  std::vector<std::pair<Node, InstanceCode>> variants;
  for (const Node& kernel : root["kernels"].items()) {
    InstanceCode code = read_passes(kernel);
    code.before = before, code.mask_rows = mask_rows;
    variants.emplace_back(kernel["variant"], code);
  }
  return variants;
}

}  // namespace tilescope::reading
