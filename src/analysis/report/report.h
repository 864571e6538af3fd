// The report of one GPU's records: every number that a page, a table or JSON shows of them.
#pragma once

#include <string>

#include "analysis/report/model.h"
#include "compare/compare.h"
#include "hardware/profile.h"

namespace tilescope::analysis {

// Records of a kernel that was described in a file name it by that file: its points and rows get the descriptor's name.
void shorten_kernel_names(Comparison& comparison);

// Without pictures (pictures_of). All points of `comparison` are of `hardware`. `revision` and `date` are those of the
// records. The tile map and the derivation are those of the showcase: the largest unmasked point of a single kernel.
Report report_of(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                 const std::string& date);

// The report of points that were predicted and not measured. `points` are of these GPUs.
Report report_of_predictions(std::vector<ReportPoint> points, const std::vector<HardwareProfile>& gpus);
// Schema tilescope/report/1; `predictions` are the points', as `predict` prints them.
Json to_json(const Report& report, const std::vector<Json>& predictions);

// Schema tilescope/report/1. `comparison` is what `report` was made from: its points carry the whole predictions.
Json to_json(const Report& report, const Comparison& comparison, const HardwareProfile& hardware);

// The tiles of the point's kernel around the point, built or not: the best number of warps stands for a tile.
TileMap tile_map_of(const ComparedPoint& shown, const HardwareProfile& hardware);

// The point's terms, pseudocode and what they say in words.
ReportDerivation derivation_of(const ComparedPoint& shown, const HardwareProfile& hardware);

}  // namespace tilescope::analysis
