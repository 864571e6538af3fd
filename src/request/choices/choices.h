// The best tile by ranges of sizes: what a dispatcher needs to choose a built instance, with what each choice loses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "predict/explain/json.h"
#include "request/option_specs.h"
#include "request/sweep/sweep.h"

namespace tilescope {

// One instance: tiles, warps, stages.
struct TileChoice {
  Point point;
  std::int64_t best_in = 0;              // cells that it is the choice of
  double mean_loss = 0, worst_loss = 0;  // if it were taken in every cell, by the closed form of DRAM bytes
  bool everywhere = true;                // it fits in every cell that has a choice
};

// Sizes above those of the cell before, up to these, along each axis.
struct ChoiceCell {
  std::vector<std::size_t> at;  // values of the axes
  int choice = -1;              // position in Choices::list; -1: no tile can run
  std::string why;              // of -1
  double seconds = 0, best_seconds = 0;
  double loss() const { return best_seconds > 0 ? seconds / best_seconds - 1 : 0; }
};

// Sizes drawn inside the ranges, where the choice is set against a search.
struct ChoiceChecks {
  std::int64_t points = 0, equal = 0, cannot_run = 0;
  double mean_loss = 0, worst_loss = 0;
};

struct Choices {
  Sweep sweep;
  std::vector<ChoiceCell> cells;  // the first axis changes fastest
  std::vector<TileChoice> list;
  double tolerance = 0;  // a choice of an earlier cell that loses no more than this is taken again
  ChoiceChecks checks;

  std::string title() const;   // "fused_mma on h200_sxm, fp16, mask causal"
  Json json() const;           // tilescope/choices/1
  std::string header() const;  // C and C++
  // The cell of these sizes, one for each axis; nullptr: beyond the last range.
  const ChoiceCell* cell_of(const std::vector<std::int64_t>& sizes) const;
};

// Searches the tile of every point of --axis, then of `checks` sizes inside the ranges (--checks). Throws InputError
// where `sweep` does.
Choices choices_of(const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress = {});

std::vector<OptionSpec> choices_options();  // --emit, --tolerance, --checks

}  // namespace tilescope
