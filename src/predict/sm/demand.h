// Internal to predict: what one step of a block asks of a multiprocessor's units, and what its warps wait for.
#pragma once

#include "predict/sm/rates.h"
#include "predict/sm/step_time.h"
#include "predict/work/products.h"

namespace tilescope {

// What a warp waits for in every step whatever else happens: the end of each product, a row's shuffles, the chain to
// its first exponential, barriers, spilled registers. Clocks.
struct StepLatency {
  double matrix = 0, special = 0, alu = 0, barrier = 0, local = 0;
  double stores = 0;      // of `barrier`: until results stored in the step have left, which its copies queue behind
  double statistics = 0;  // from the start of a step until what its threads load of rows' statistics is there
};

inline double faster_by(const Faster& faster, Lever lever) { return faster[static_cast<std::size_t>(lever)]; }

// Of a step: elements along an axis, and multiply-adds of a product.
double step_extent(const BoundIsland& bound, AxisId axis);
double size_of(const BoundIsland& bound, const Product& product);

// Mean of the island's `steps` steps, clocks of each unit.
StepDemand demand_of(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                     const Faster& faster);
StepLatency latency_of(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                       Inputs inputs, const Faster& faster);

// Clocks from the first copy of a step's tiles by threads until all have come; 0: the copy engine brings them.
double copy_of_step(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                    Inputs inputs);

// Clocks of a step that are bound by its tiles' copies: each takes its way from L2 or memory, and is issued as many
// steps ahead as the block has copies of the tiles beside the one at work. 0: nothing is copied ahead, or by the copy
// engine.
double copies_ahead(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                    Inputs inputs);

}  // namespace tilescope
