// How far predictions lie from measurements, as the bars that `predict` states, and whether these can be trusted.
#pragma once

#include <string>
#include <vector>

#include "compare/compare.h"
#include "compare/published.h"

namespace tilescope {

// The error of one prediction, and what decides which bar it belongs to.
struct ObservedError {
  std::string hardware, kernel, quantity, regime, table;  // table: of a published one; empty: a record
  ErrorSizes sizes;
  double error = 0;    // absolute and relative
  bool blind = false;  // measured after the model and its bars were settled
};

// Of time, of time with a cold L2 and of bytes read from DRAM, of every record; of time, of every published row.
std::vector<ObservedError> observed_errors(const Comparison& comparison, const std::vector<PublishedResult>& published);

// Bars of GPU, kernel and regime, of all regimes and of all kernels of a GPU; and how much wider a bar must be that is
// borrowed or used beyond its range. Each widening is measured on the records: from the bar of one part of them, by how
// much must it be multiplied to hold nine of ten of another part?
ErrorBars error_bars(const std::vector<ObservedError>& observed);

// The widenings alone.
std::vector<ErrorWidening> widenings(const std::vector<ObservedError>& observed, const std::string& quantity);

Json to_json(const ErrorBars& bars);  // tilescope/errors/1

// How many blind points lie within the p90 bar that all other measurements state for them.
struct Calibration {
  std::string hardware, quantity;
  std::size_t held = 0, n = 0, borrowed = 0;  // borrowed: of n, with a bar of another GPU, kernel or regime
  double share() const { return n == 0 ? 0 : static_cast<double>(held) / static_cast<double>(n); }
};
std::vector<Calibration> calibration(const std::vector<ObservedError>& observed);

// The part of the errors that the p90 of all others held; 0 of fewer than two.
double bar_held(const std::vector<double>& errors);

}  // namespace tilescope
