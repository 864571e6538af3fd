#include "cli/output/code/simulation_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "cli/output/code/code_columns.h"

namespace tilescope::cli {
namespace {

Json percent(double part) {
  constexpr double per_mille = 1000, tenth = 10;
  return std::round(part * per_mille) / tenth;
}

Column<SimulatedLoopRow> share(const char* key, const char* title, const char* meaning,
                               double (*value)(const SmSteady&)) {
  return {{key, title, "%", meaning, Origin::time_model},
          [value](const SimulatedLoopRow& r) { return percent(value(r.loop->steady)); }};
}

template <SmPart part>
Column<SimulatedLoopRow> pipe_share(const char* meaning) {
  static const std::string name = to_string(part);
  return share(name.c_str(), name.c_str(), meaning,
               [](const SmSteady& steady) { return steady.busy[static_cast<std::size_t>(part)]; });
}

// What a warp waits for longest in a pass, without its own stall counts.
std::string longest_wait(const SmSteady& steady) {
  std::array<double, sm_waits> sums{};
  for (const auto& row : steady.waits)
    for (std::size_t wait = 0; wait < sm_waits; ++wait) sums[wait] += row[wait];
  const auto longest = std::max_element(sums.begin() + 1, sums.end());
  return fmt::format("{} {:.0f} clk", to_string(static_cast<SmWait>(longest - sums.begin())), *longest);
}

double held(const std::array<double, sm_waits>& waits) { return std::accumulate(waits.begin(), waits.end(), 0.0); }

std::string reasons(const std::array<double, sm_waits>& waits) {
  constexpr double least = 0.05;
  std::vector<std::string> parts;
  for (std::size_t wait = 0; wait < sm_waits; ++wait)
    if (waits[wait] >= least)
      parts.push_back(fmt::format("{} {:.1f}", to_string(static_cast<SmWait>(wait)), waits[wait]));
  return join(parts, ", ");
}

Json addresses_of(const CodeSummary& code, const std::vector<std::size_t>& instructions) {
  Json list = Json::array();
  for (const std::size_t i : instructions) list.push_back(shown_address(code.section.instructions[i].address));
  return list;
}

// Without the columns that no row has.
Table without_gaps(Table table) {
  for (std::size_t column = table.columns.size(); column-- > 0;) {
    const bool gap =
        std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[column].is_null(); });
    if (!gap) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return table;
}

Table listing_of(const CodeSummary& code, const SimulatedLoop& loop) {
  Table table{.title = fmt::format("clocks that each instruction of loop {} waits to issue, mean of a pass and warp",
                                   shown_address(code.loops[loop.loop].header)),
              .columns = {"address", "clocks", "instruction", "passed with"},
              .rows = {}};
  for (std::size_t i = 0; i < loop.path.size(); ++i) {
    const Instruction& instruction = code.section.instructions[loop.path[i]];
    table.rows.push_back({shown_address(instruction.address), fmt::format("{:.1f}", held(loop.steady.waits[i])),
                          instruction.text(), reasons(loop.steady.waits[i])});
  }
  return table;
}

}  // namespace

const Columns<SimulatedLoopRow>& simulated_loop_columns() {
  static const Columns<SimulatedLoopRow> columns{
      {{"header", "loop", "", "Address of the loop's first instruction.", Origin::code},
       [](const SimulatedLoopRow& r) { return shown_address(r.code->loops[r.loop->loop].header); }},
      {{"instructions", "instructions", "", "Instructions of the simulated pass.", Origin::code},
       [](const SimulatedLoopRow& r) { return r.loop->path.size(); }},
      {{"warps", "warps", "", "Warps of a block that run the loop.", Origin::code},
       [](const SimulatedLoopRow& r) { return r.loop->warps; }},
      {{"clocks", "clocks", "clk", "A pass of each resident block.", Origin::time_model},
       [](const SimulatedLoopRow& r) { return r.loop->steady.clocks; }},
      share("issued", "issue", "Issue slots that are used.", [](const SmSteady& steady) { return steady.issued; }),
      pipe_share<SmPart::tensor>("Time that the tensor pipes are busy."),
      pipe_share<SmPart::xu>("Time that the pipes of special functions are busy."),
      share("fma", "fma", "Time that the pipes of multiply-adds are busy, half of them with those of integers.",
            [](const SmSteady& steady) {
              return steady.busy[static_cast<std::size_t>(SmPart::fma)] +
                     steady.busy[static_cast<std::size_t>(SmPart::imad)] / 2;
            }),
      pipe_share<SmPart::alu>("Time that the pipes of integer and logic instructions are busy."),
      share("shared", "shared", "Time that shared memory is busy with loads, stores, shuffles and copies of threads.",
            [](const SmSteady& steady) { return steady.shared; }),
      {{"longest_wait", "longest wait", "", "What a warp waits for longest in a pass, and how long.",
        Origin::time_model},
       [](const SimulatedLoopRow& r) { return longest_wait(r.loop->steady); }},
      {{"block_clocks", "block", "clk", "All passes of resident blocks with their start and end. With --steps.",
        Origin::time_model},
       [](const SimulatedLoopRow& r) { return r.loop->block_clocks > 0 ? Json(r.loop->block_clocks) : Json(); }},
      {{"launch_clocks", "launch", "clk", "Active clocks of an SM in the launch, mean of all SMs. With --blocks.",
        Origin::time_model},
       [](const SimulatedLoopRow& r) { return r.loop->launch_clocks > 0 ? Json(r.loop->launch_clocks) : Json(); }},
  };
  return columns;
}

Json simulation_json(const CodeSummary& code, const KernelSimulation& simulation, bool instructions) {
  Json loops = Json::array();
  for (const SimulatedLoop& loop : simulation.loops) {
    Json object = object_of(simulated_loop_columns(), {.code = &code, .loop = &loop});
    object["periodic"] = loop.steady.periodic;
    Json list = Json::array();
    for (std::size_t i = 0; instructions && i < loop.path.size(); ++i) {
      Json waits = Json::object();
      for (std::size_t wait = 0; wait < sm_waits; ++wait)
        waits[to_string(static_cast<SmWait>(wait))] = loop.steady.waits[i][wait];
      list.push_back({{"address", shown_address(code.section.instructions[loop.path[i]].address)},
                      {"clocks", held(loop.steady.waits[i])},
                      {"passed_with", std::move(waits)}});
    }
    if (instructions) object["instruction_list"] = std::move(list);
    if (instructions && !loop.start.empty())
      object["start"] = addresses_of(code, loop.start), object["end"] = addresses_of(code, loop.end);
    loops.push_back(std::move(object));
  }
  return {{"hardware", simulation.hardware}, {"resident_blocks", simulation.resident}, {"warps", simulation.warps},
          {"missing", simulation.missing},   {"refused", simulation.refused},          {"loops", std::move(loops)}};
}

std::string simulation_text(const CodeSummary& code, const KernelSimulation& simulation, bool instructions,
                            const Style& style) {
  if (!simulation.refused.empty()) return fmt::format("\nNot simulated: {}.\n", simulation.refused);
  std::vector<SimulatedLoopRow> rows;
  for (const SimulatedLoop& loop : simulation.loops) rows.push_back({.code = &code, .loop = &loop});
  if (rows.empty()) return "";
  const std::string title = fmt::format("simulated passes on {}, {} blocks of {} warps on an SM", simulation.hardware,
                                        simulation.resident, simulation.warps);
  std::string text = "\n" + render(without_gaps(table_of(title, simulated_loop_columns(), rows)), style);
  for (const SimulatedLoop& loop : simulation.loops)
    if (instructions) text += "\n" + render(listing_of(code, loop), style);
  return text;
}

}  // namespace tilescope::cli
