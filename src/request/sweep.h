// Many points: the cross product of axes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "predict/explain/prediction_columns.h"
#include "request/sweep_axes.h"
#include "search/search.h"

namespace tilescope {

// What the points of a sweep share.
struct Sweep {
  Plan plan;
  HardwareProfile hardware;
  std::vector<SweepAxis> axes;
  Point base;
  bool tile_fixed = false;          // by --tile, or as the best one of the first point
  bool best_tiles = false;          // each point takes the tile that search ranks first
  SearchOptions search;             // of those
  std::string chosen_by = {};       // --kernel auto or a software; empty: one plan serves all points
  std::vector<Sweep> kernels = {};  // of those: the same points by each kernel that may be chosen

  std::vector<std::string> tiles() const;  // tile parameters of the plan, or of all kernels that may be chosen
};

// Throws InputError where `predict` does, and for invalid axes.
Sweep read_sweep(const Options& options);

std::size_t points_of(const Sweep& sweep);

// `of` is the sweep, or that of the kernel chosen for the point. `prediction` is null for a point that the kernel does
// not support, for the reasons given.
using SweepVisitor = std::function<void(const Sweep& of, const Point& point, const Prediction* prediction,
                                        const std::vector<std::string>& unsupported)>;

// Predicts every point in order; the first axis changes fastest. Returns whether any point can run. Throws InputError
// at an invalid point.
bool each_point(const Sweep& sweep, const SweepVisitor& visit,
                const std::function<void(std::size_t done, std::size_t all)>& progress = {});

// One point's JSON object.
Json sweep_object(const Sweep& sweep, const Point& point, const Prediction* prediction,
                  const std::vector<std::string>& unsupported);

}  // namespace tilescope
