// Clocks of a step on a simulated SM: of the kernel's machine code, or of a program that its counts imply.
#pragma once

#include <optional>
#include <vector>

#include "predict/sm/launch_at_sm.h"
#include "simulate/step_programs.h"

namespace tilescope {

// Simulation request for a step of the launch's machine code: one resident block, copies from the L2. Empty: the code
// is not known. `local`: of the launch.
std::optional<StepQuestion> step_question(const BoundIsland& bound, const LocalTraffic& local = {});

// Whether the steps can be simulated: they are a kernel's on tensor cores, and their machine code is known or the
// profile has the rates of their products.
bool can_simulate(const BoundIsland& bound);

// The same for the mean one of the launch's `steps` steps, whose program is synthesised, and added to the plan's, where
// the code is not known. Needs can_simulate.
const AskedStep& asked_step(const LaunchAtSm& launch, double steps);

// What the steps of as many blocks as fit are asked where a unit is faster: first as it is, then by units.
std::vector<StepQuestion> faster_steps(const LaunchAtSm& launch, double steps);

// Clocks of one block: before its first copy is issued (prologue); after its last step (epilogue); and all clocks
// outside the steps, of a block whose threads copy, or of a tile of a persistent block. 0 where prologue and epilogue
// are not in the program. The copy engine is not simulated.
struct SimulatedEnds {
  double lead = 0, trail = 0, around = 0;
};

// Those of a launch with `steps` steps in all. Keeps the launch.
class SimulatedSteps {
 public:
  SimulatedSteps(const LaunchAtSm& launch, double steps);
  // Of the mean step of each of `resident` blocks: masked tiles among them, and copies from L2 and memory.
  double clocks(std::int64_t resident, Inputs inputs) const;
  SimulatedEnds ends(Inputs inputs) const;

 private:
  // Clocks more for what threads load to registers, of which the part `missed` comes from memory.
  double loads_later(std::int64_t resident, double missed) const;
  // The same clocks where stores keep memory busy. `missed`: the part of what the step waits for that memory brings.
  double behind_stores(double clocks, double missed, std::int64_t resident) const;
  double shorter() const;  // see shorter_

  const LaunchAtSm& launch_;
  const double steps_;
  const StepQuestion question_;
  double masked_ = 0;   // part of the steps
  double shorter_ = 1;  // factor of their clocks, by LaunchAtSm::faster
};

}  // namespace tilescope
