// Where warps of two roles meet: mbarriers at which those of one arrive and for which those of the other wait. Code
// names them by their place in shared memory, up to the stage.
#pragma once

#include <string_view>
#include <vector>

#include "simulate/sm/sm.h"
#include "simulate/step_programs.h"

namespace tilescope {

// "[UR11+0x38040]": what follows the registers of an mbarrier's address.
inline std::string_view place_of_mbarrier(const StepLine& line) {
  const std::size_t end = line.text.rfind(']'), begin = line.text.rfind('+', end);
  return end == line.text.npos || begin == line.text.npos ? std::string_view{} : line.text.substr(begin, end - begin);
}

// The only operation of a pass that does this at an mbarrier of that place.
inline SmOperation* only_one(std::string_view what, std::string_view place, const std::vector<StepLine>& lines,
                             std::vector<SmOperation>& operations) {
  SmOperation* found = nullptr;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].text.find(what) == lines[i].text.npos || place_of_mbarrier(lines[i]) != place) continue;
    if (found) return nullptr;
    found = &operations[i];
  }
  return found;
}

// Warps of the roles wait for each other where the code of both says so. `lines`, `beside_lines`: of the operations.
inline void connect_roles(const std::vector<StepLine>& lines, const std::vector<StepLine>& beside_lines,
                          SmProgram& steps) {
  constexpr std::string_view arrives = "SYNCS.ARRIVE", waits = "SYNCS.PHASECHK";
  constexpr std::ptrdiff_t most = 64;  // more than any kernel has
  SmBeside& beside = steps.beside;
  const auto connect = [&](const auto& from, auto& from_code, int warps, const auto& to, auto& to_code) {
    for (const StepLine& line : from) {
      if (line.text.find(arrives) == line.text.npos) continue;
      const std::string_view place = place_of_mbarrier(line);
      SmOperation* const arrival = only_one(arrives, place, from, from_code);
      SmOperation* const wait = only_one(waits, place, to, to_code);
      if (place.empty() || !arrival || !wait || std::ssize(beside.arrivals) == most) continue;
      arrival->effect = SmEffect::phase_arrive, wait->effect = SmEffect::phase_wait;
      arrival->number = wait->number = static_cast<std::int16_t>(beside.arrivals.size());
      beside.arrivals.push_back(warps);
    }
  };
  connect(lines, steps.code, steps.warps, beside_lines, beside.code);
  connect(beside_lines, beside.code, beside.warps, lines, steps.code);
}

}  // namespace tilescope
