// Points of one plan on one GPU: the cross product of the axes whose values are numbers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "predict/explain/prediction_columns.h"
#include "predict/point/block_memory.h"
#include "request/sweep/sweep_axes.h"
#include "search/search.h"

namespace tilescope {

// What the points of a sweep share.
struct Sweep {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const HardwareProfile> hardware;
  std::vector<SweepAxis> axes;
  Point base;
  bool tile_fixed = false;                // by --tile, or as the best one of the first point
  bool best_tiles = false;                // each point takes the tile that search ranks first
  SearchOptions search;                   // of those
  std::string chosen_by = {};             // --kernel auto or a software; empty: one plan serves all points
  std::vector<Sweep> kernels = {};        // of those: the same points by each kernel that may be chosen
  std::vector<std::string> refused = {};  // why no point is predicted; empty: they are

  std::vector<std::string> tiles() const;  // tile parameters of the plan, or of all kernels that may be chosen
};

// Plans and profiles that many sweeps share, by what names them.
struct SharedPlans {
  std::map<std::string, std::shared_ptr<const Plan>> plans;
  std::map<std::string, std::shared_ptr<const HardwareProfile>> gpus;
};

// Throws InputError where `predict` does, and for invalid axes. `shared` may be null.
Sweep read_sweep(const Options& options, SharedPlans* shared = nullptr);

// A point of a sweep, settled and predicted. Its memory is used again.
struct SweptPoint {
  const Sweep* of = nullptr;        // the sweep, or that of the kernel chosen for the point
  const Sweep* based_on = nullptr;  // the sweep whose base point `point` was made from
  Point point;
  Prediction prediction;
  BlockMemory blocks;  // of the last point of `predicted_of`
  const Sweep* predicted_of = nullptr;
  const Sweep* rated = nullptr;  // the sweep whose GPU, as `has_rate` says, has a rate for the formats
  bool has_rate = true;
  std::vector<std::string> reasons;  // why nothing is predicted; empty: it is

  const Prediction* predicted() const { return reasons.empty() ? &prediction : nullptr; }
  bool feasible() const { return reasons.empty() && prediction.feasible; }
  // What columns and JSON read; without the errors that records show.
  PredictedPoint row() const;
};

// The point at these positions of the axes, not yet predicted and without a searched tile.
void settle_at(const Sweep& sweep, const std::vector<std::size_t>& at, SweptPoint& swept);

// Predicts it, no more than is wanted. Throws InputError at an invalid point.
void predict_at(const Sweep& sweep, const std::vector<std::size_t>& at, SweptPoint& swept, Wanted wanted = Wanted::all);

// One point's JSON object.
Json sweep_object(const SweptPoint& swept);

}  // namespace tilescope
