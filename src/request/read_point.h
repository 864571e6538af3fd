// Reads the plan, the GPU and the point that the options name.
#pragma once

#include <optional>
#include <string>

#include "hardware/derived.h"
#include "request/options.h"
#include "search/search.h"

namespace tilescope {

// Reads --kernel or --schedule (default: flash2, for the backward pass flash2-backward) with its diagram or --diagram,
// and --size. Throws InputError also when --pass differs from the plan's pass. The second form takes the name of the
// kernel or schedule as an argument.
Plan read_plan(const Options& options);
Plan read_plan(const Options& options, const std::optional<std::string>& kernel,
               const std::optional<std::string>& schedule);
// Sets the sizes that a diagram defines, as in "a=1024,b=2k" of --size.
void apply_sizes(Diagram& diagram, const std::vector<std::string>& given);
// Throws InputError for a size option, or --workload, that no axis of the diagram takes.
void refuse_idle_sizes(const Options& options, const Diagram& diagram);
HardwareProfile read_hardware(const Options& options);        // --hardware, required, with the rates of --basis
std::optional<RatesFrom> rates_from(const Options& options);  // --basis
// The point before a tile is chosen: workload, mask, dtypes, and --tile if given. The InputError lists all violations.
Point read_point(const Options& options, const Plan& plan);
Mask mask_of(const Options& options, const Workload& workload, const Diagram& diagram);  // --mask, default none
void refuse_unknown_formats(const std::string& dtypes);  // InputError for a name in "fp16,kv=int8" that is no format
void apply_dtypes(Point& point, const Plan& plan, const std::string& text);  // "fp16,kv=int8,o=bf16"
bool tile_given(const Options& options);
// The tile parameters that the options fix, for a search over the others.
SearchOptions search_options(const Options& options, const Plan& plan);
// Sets the tile of the kernel's first variant for the point's head_dim. Without such a variant the tile stays.
void default_tile(Point& point, const Plan& plan);

}  // namespace tilescope
