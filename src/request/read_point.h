// Which plan, GPU and point the options speak of.
#pragma once

#include <optional>
#include <string>

#include "request/options.h"
#include "search/search.h"

namespace tilescope {

// --kernel or --schedule (default: flash2, of the backward pass flash2-backward), on its own diagram or --diagram, with
// --size; InputError also when --pass is not the plan's. The second form names the kernel or schedule itself.
Plan read_plan(const Options& options);
Plan read_plan(const Options& options, const std::optional<std::string>& kernel,
               const std::optional<std::string>& schedule);
HardwareProfile read_hardware(const Options& options);  // --hardware, required
// The point without a tile choice: workload, mask, dtypes, and --tile where given. InputError lists all violations.
Point read_point(const Options& options, const Plan& plan);
Mask mask_of(const Options& options, const Workload& workload, const Diagram& diagram);  // --mask, default none
void apply_dtypes(Point& point, const Plan& plan, const std::string& text);              // "fp16,kv=int8,o=bf16"
bool tile_given(const Options& options);
// What the options fix of a tile that is searched for.
SearchOptions search_options(const Options& options, const Plan& plan);
// A kernel starts from its first variant for the point's head_dim; other plans and head_dims keep the tile they have.
void default_tile(Point& point, const Plan& plan);

}  // namespace tilescope
