#include "cli/output/code/code_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/output/code/simulation_output.h"
#include "cli/output/terminal.h"

namespace tilescope::cli {
namespace {

std::vector<RoleRow> role_rows(const CodeSummary& code) {
  std::vector<RoleRow> rows;
  for (std::size_t i = 0; i < code.roles.size(); ++i) rows.push_back({.code = &code, .index = i});
  return rows;
}

// Loops in the order of a tree: each one's inner loops follow it. Loops that only wait are left out.
void add_loops(const CodeSummary& code, std::optional<std::size_t> parent, std::vector<LoopRow>& rows) {
  std::vector<std::size_t> inner;
  for (std::size_t i = 0; i < code.loops.size(); ++i)
    if (code.loops[i].parent == parent && !code.loops[i].waits) inner.push_back(i);
  std::sort(inner.begin(), inner.end(),
            [&](std::size_t a, std::size_t b) { return code.loops[a].header < code.loops[b].header; });
  for (const std::size_t i : inner) {
    const CodeLoop& loop = code.loops[i];
    rows.push_back(
        {.label = std::string(2 * static_cast<std::size_t>(loop.depth - 1), ' ') + shown_address(loop.header),
         .roles = loop.roles,
         .always = loop.always,
         .sometimes = loop.sometimes});
    add_loops(code, i, rows);
  }
}

std::vector<LoopRow> loop_rows(const CodeSummary& code) {
  LoopRow outside{.label = "outside"};
  for (const CodeBlock& block : code.blocks)
    if (block.reached && !block.loop) outside.sometimes += block.counts;
  std::vector<LoopRow> rows{std::move(outside)};
  add_loops(code, std::nullopt, rows);
  return rows;
}

Table matrix_table(const std::vector<LoopRow>& loops) {
  Table table{.title = "matrix instructions of a pass",
              .columns = {"loop", "count", "instruction", "operands", "result", "A, B from", "FLOP"},
              .rows = {}};
  const auto place = [](bool shared) { return shared ? "shared" : "register"; };
  for (const LoopRow& row : loops) {
    CodeCounts counts = row.always;
    counts += row.sometimes;
    for (const auto& [form, count] : counts.matrix)
      table.rows.push_back({trimmed(row.label), count, fmt::format("{} {}x{}x{}", form.opcode, form.m, form.n, form.k),
                            form.type_a == form.type_b ? form.type_a : form.type_a + " " + form.type_b, form.result,
                            fmt::format("{}, {}", place(form.a_from_shared), place(form.b_from_shared)),
                            form.flop() * count});
  }
  return table;
}

// Without the columns of numbers that are zero in every row.
Table without_zeros(Table table) {
  for (std::size_t column = table.columns.size(); column-- > 0;) {
    const bool zero = std::all_of(table.rows.begin(), table.rows.end(),
                                  [&](const auto& row) { return row[column].is_number() && row[column] == 0; });
    if (!zero || table.rows.empty()) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return table;
}

// "9.0, 168 registers, ...": the columns of the table of kernels in a line.
std::string resources_line(const InspectedKernel& kernel) {
  std::vector<std::string> parts;
  for (const Column<InspectedKernel>& column : code_columns()) {
    if (!column.in_text || column.key == "kernel") continue;
    const std::string unit = column.unit.empty() ? "" : " " + column.unit;
    parts.push_back(fmt::format("{} {}{}", column.title, shown_cell(column.value(kernel)), unit));
  }
  return join(parts, ", ");
}

// For programs: names as the linker sees them.
Table table_of_values(const std::vector<InspectedKernel>& kernels) {
  Table table{.title = "", .columns = text_headings(code_columns()), .rows = {}};
  for (const InspectedKernel& kernel : kernels) {
    auto& cells = table.rows.emplace_back();
    for (const Column<InspectedKernel>& column : code_columns())
      if (column.in_text) cells.push_back(column.value(kernel));
  }
  return table;
}

std::vector<std::string> notes_of(const CodeSummary& code, std::size_t waiting) {
  std::vector<std::string> notes;
  if (waiting > 0) notes.push_back(fmt::format("{} loops only wait for a barrier or for registers.", waiting));
  if (!code.irreducible.empty())
    notes.push_back(
        fmt::format("{} jumps enter a cycle that has several entries (first: {} to {}); such a cycle is "
                    "not in the table of loops.",
                    code.irreducible.size(), shown_address(code.irreducible.front().first),
                    shown_address(code.irreducible.front().second)));
  std::vector<std::string> calls;
  for (const CodeLoop& loop : code.loops)
    if (const std::int64_t count = calls_in(loop); count > 0)
      calls.push_back(fmt::format("{} in a pass of loop {}", count, shown_address(loop.header)));
  if (!calls.empty())
    notes.push_back(
        fmt::format("Calls of functions: {}. The instructions of called functions are missing in the "
                    "numbers of these loops.",
                    join(calls, ", ")));
  if (code.unknown_targets) notes.emplace_back("An indirect branch does not say where it goes: blocks may be missing.");
  std::vector<std::string> unknown;
  for (const auto& [opcode, count] : code.counts.opcodes)
    if (opcode_row(opcode.substr(0, opcode.find('.'))).kind == InstructionKind::unknown) unknown.push_back(opcode);
  if (!unknown.empty()) notes.push_back("Opcodes that are not in the table: " + join(unknown, ", ") + ".");
  return notes;
}

std::string bounds_text(const CodeSummary& code, const KernelBounds& bounds, const Style& style) {
  std::vector<LoopBoundRow> rows;
  for (const LoopBound& bound : bounds.loops) rows.push_back({.code = &code, .bound = &bound});
  if (rows.empty()) return "";
  const std::string title =
      fmt::format("clocks of a pass of each innermost loop on {}, one warp on each scheduler", bounds.hardware);
  std::string text = "\n" + render(without_zeros(table_of(title, loop_bound_columns(), rows)), style);
  if (!bounds.missing.empty()) {
    const std::vector<std::string> names(bounds.missing.begin(), bounds.missing.end());
    text += fmt::format("\nThe profile has no measured {}: what needs them is not counted.\n", join(names, ", "));
  }
  return text;
}

std::string kernel_text(const InspectedKernel& row, const Style& style) {
  const CodeSummary& code = *row.code;
  const bool markdown = style.format == OutputFormat::md;
  const std::string name = readable_name(row.kernel.name) + (row.kernel.is_function ? " (function)" : "");
  const std::vector<LoopRow> loops = loop_rows(code);
  const auto waiting =
      std::count_if(code.loops.begin(), code.loops.end(), [](const CodeLoop& loop) { return loop.waits; });
  std::string text = markdown ? "## " + name + "\n" : bold(name, style.colour) + "\n";
  text += (markdown ? "\n" : "") + resources_line(row) + "\n";
  if (!row.kernel.linked)
    text += "\nThe object is not linked: shared memory and the code of functions in other objects are not known.\n";
  const auto add = [&](const Table& table) {
    if (!table.rows.empty()) text += "\n" + render(table, style);
  };
  if (code.roles.size() > 1) add(table_of("roles of warps", role_columns(), role_rows(code)));
  add(without_zeros(table_of("instructions of a pass of each loop", loop_columns(), loops)));
  add(matrix_table(loops));
  if (row.bounds) text += bounds_text(code, *row.bounds, style);
  if (row.simulation) text += simulation_text(code, *row.simulation, row.show_instructions, style);
  const std::vector<std::string> notes = notes_of(code, static_cast<std::size_t>(waiting));
  for (const std::string& note : notes) text += "\n" + note + "\n";
  return text;
}

}  // namespace

std::string code_text(const std::vector<InspectedKernel>& kernels, const Style& style) {
  if (style.format == OutputFormat::csv) return render(table_of_values(kernels), style);
  std::vector<InspectedKernel> without_code;
  for (const InspectedKernel& kernel : kernels)
    if (!kernel.code) without_code.push_back(kernel);
  std::string text = without_code.empty() ? "" : render(table_of("", code_columns(), without_code), style);
  for (const InspectedKernel& kernel : kernels)
    if (kernel.code) text += (text.empty() ? "" : "\n") + kernel_text(kernel, style);
  return text;
}

}  // namespace tilescope::cli
