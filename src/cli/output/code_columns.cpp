#include "cli/output/code_columns.h"

namespace tilescope::cli {
namespace {

constexpr std::int64_t instruction_bytes = 16;

Json parameters_json(const InspectedKernel& row) {
  Json list = Json::array();
  for (const KernelParameter& parameter : row.kernel.parameters)
    list.push_back({{"offset", parameter.offset}, {"bytes", parameter.bytes}});
  return list;
}

Json parameter_bytes(const InspectedKernel& row) {
  std::int64_t end = 0;
  for (const KernelParameter& parameter : row.kernel.parameters)
    end = std::max(end, parameter.offset + parameter.bytes);
  return end;
}

}  // namespace

const Columns<InspectedKernel>& code_columns() {
  using R = InspectedKernel;
  const auto column = [](const char* key, const char* title, const char* unit, const char* meaning, auto value) {
    return Column<R>{{key, title, unit, meaning, Origin::code}, value};
  };
  static const Columns<R> columns{
      column("kernel", "kernel", "", "Name of the kernel, as the linker sees it.",
             [](const R& r) { return r.kernel.name; }),
      column("compute_capability", "cc", "", "Compute capability that the code is for.",
             [](const R& r) { return r.compute_capability; }),
      column("registers", "registers", "", "Registers of a thread at the start.",
             [](const R& r) { return r.kernel.registers; }),
      column("shared_bytes", "shared", "B", "Static shared memory of a block, without the system's part.",
             [](const R& r) { return r.kernel.shared_bytes; }),
      column("local_bytes", "local", "B", "Stack frame of a thread: indexed arrays and spilled registers.",
             [](const R& r) { return r.kernel.local_bytes; }),
      column("barriers", "barriers", "", "Named barriers of a block.", [](const R& r) { return r.kernel.barriers; }),
      column("most_threads", "most_threads", "", "Most threads of a block, by __launch_bounds__; 0: not stated.",
             [](const R& r) { return r.kernel.most_threads; }),
      column("cluster_blocks", "cluster", "", "Blocks of the cluster that the code requires; 0: none.",
             [](const R& r) { return r.kernel.cluster_blocks; }),
      json_only<R>({"parameters", "parameters", "", "Offset and bytes of each parameter, in the order of the source.",
                    Origin::code},
                   parameters_json),
      text_only<R>({"parameter_bytes", "parameters", "B", "Bytes of all parameters.", Origin::code}, parameter_bytes),
      column("instructions", "instructions", "", "Instructions of the kernel, without functions that it calls.",
             [](const R& r) { return static_cast<std::int64_t>(r.kernel.code.size()) / instruction_bytes; }),
  };
  return columns;
}

ColumnList code_column_list() { return listed("code", "inspect", code_columns()); }

}  // namespace tilescope::cli
