// Simulated loops of `inspect --simulate`, as text and JSON.
#pragma once

#include "cli/output/table.h"
#include "simulate/simulation.h"

namespace tilescope::cli {

// A row of the table of simulated loops.
struct SimulatedLoopRow {
  const CodeSummary* code = nullptr;
  const SimulatedLoop* loop = nullptr;
};
const Columns<SimulatedLoopRow>& simulated_loop_columns();

// The key `simulation` of tilescope/code/1. `instructions`: adds the clocks that each instruction holds a warp.
Json simulation_json(const CodeSummary& code, const KernelSimulation& simulation, bool instructions);

// Tables; with `instructions` also the listing of each loop.
std::string simulation_text(const CodeSummary& code, const KernelSimulation& simulation, bool instructions,
                            const Style& style);

}  // namespace tilescope::cli
