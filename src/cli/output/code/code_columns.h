// The tables of `inspect`.
#pragma once

#include <optional>

#include "kernel/code/cubin.h"
#include "kernel/code/summary/code_summary.h"
#include "loopbounds/loop_bounds.h"
#include "predict/explain/column.h"
#include "simulate/simulation.h"

namespace tilescope::cli {

struct InspectedKernel {
  std::string compute_capability{};
  CubinKernel kernel{};
  std::optional<CodeSummary> code{};             // none: machine code was not read
  std::optional<KernelBounds> bounds{};          // with --hardware
  std::optional<KernelSimulation> simulation{};  // with --simulate
  bool show_instructions = false;                // each one
};

// A row of the table of roles.
struct RoleRow {
  const CodeSummary* code = nullptr;
  std::size_t index = 0;
};

// A row of the table of loops: a loop, or what stands in no loop.
struct LoopRow {
  std::string label{};  // its address, indented by depth
  std::vector<std::size_t> roles{};
  CodeCounts always{}, sometimes{};
};

// A row of the table of bounds.
struct LoopBoundRow {
  const CodeSummary* code = nullptr;
  const LoopBound* bound = nullptr;
};

const Columns<InspectedKernel>& code_columns();
const Columns<RoleRow>& role_columns();
const Columns<LoopRow>& loop_columns();
const Columns<LoopBoundRow>& loop_bound_columns();
std::vector<ColumnList> code_column_lists();

// Calls of functions in a pass, without inner loops. The instructions of called functions are not among the loop's.
std::int64_t calls_in(const CodeLoop& loop);

std::string role_letter(std::size_t role);             // "a"
std::string shown_address(std::uint64_t address);      // "0x03a0"
std::string readable_name(const std::string& symbol);  // as C++ source writes it
// Whether a kernel's name contains this text, as the linker or as C++ writes it.
bool is_named(const std::string& symbol, const std::string& part);

}  // namespace tilescope::cli
