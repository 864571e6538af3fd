// How the energy of an operation falls with the clock, from loads whose clock the power limit holds.
#pragma once

#include <cmath>
#include <span>

namespace tilescope {

struct HeldLoad {
  double hz = 0, watts = 0, operations_per_second = 0;
};

// The exponent of the clock in the energy of an operation, which takes `joules` at the clock `most`, where the GPU
// takes `busy` watts without the operations: least squares over the loads that run below 0.97 of that clock. 0: none.
inline double clock_exponent(std::span<const HeldLoad> loads, double most, double joules, double busy) {
  double product = 0, square = 0;
  for (const HeldLoad& load : loads) {
    if (load.hz >= 0.97 * most) continue;
    const double clock = std::log(load.hz / most),
                 energy = std::log((load.watts - busy) / load.operations_per_second / joules);
    product += clock * energy, square += clock * clock;
  }
  return square > 0 ? product / square : 0;
}

}  // namespace tilescope
