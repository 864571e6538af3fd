// inspect: what the machine code of a file says of its kernels.
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/output/code_columns.h"
#include "kernel/code/code_file.h"

namespace tilescope::cli {
namespace {

std::vector<InspectedKernel> kernels_of(const std::string& file, const std::string& wanted) {
  std::vector<InspectedKernel> kernels;
  for (Cubin& cubin : read_code_file(file))
    for (CubinKernel& kernel : cubin.kernels)
      if (kernel.name.find(wanted) != std::string::npos)
        kernels.push_back({cubin.compute_capability, std::move(kernel)});
  if (kernels.empty())
    refuse("--name", fmt::format("no kernel of {} has '{}' in its name; leave it out to see all", file, wanted));
  return kernels;
}

ExitStatus inspect(const Arguments& arguments) {
  if (arguments.positional().empty())
    refuse("inspect", "is incomplete: name a cubin, object, program or shared library");
  const std::string& file = arguments.positional().front();
  const std::vector<InspectedKernel> kernels = kernels_of(file, arguments.text("name").value_or(""));
  if (arguments.format() == OutputFormat::json) {
    const Json document{
        {"schema", "tilescope/code/1"}, {"file", file}, {"kernels", objects_of(code_columns(), kernels)}};
    deliver(arguments, document.dump(2) + "\n");
    return ExitStatus::done;
  }
  const Table table{.title = "", .columns = text_headings(code_columns()), .rows = text_cells(code_columns(), kernels)};
  deliver(arguments, render(table, style_of(arguments)));
  return ExitStatus::done;
}

std::vector<OptionSpec> inspect_options() {
  return std::vector<OptionSpec>{{"name", "only kernels whose name contains this text"}} + output_options();
}

}  // namespace

Command inspect_command() {
  return {
      .name = "inspect",
      .summary = "show registers, shared and local memory, barriers and parameters of the kernels in a file",
      .usage = "FILE [--name TEXT]",
      .examples = {"tilescope inspect my_kernel.cubin", "tilescope inspect libmine.so --name attention --format json"},
      .notes =
          "FILE is a cubin, a fat binary, or an object, program or shared library with CUDA code. No GPU and no "
          "CUDA toolkit are needed.",
      .options = inspect_options,
      .run = inspect,
      .most_positional = 1};
}

}  // namespace tilescope::cli
