// One point on several GPUs, formats and kernels: the rows that `compare` prints.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hardware/derived.h"
#include "predict/explain/json.h"
#include "request/options.h"

namespace tilescope {

std::vector<std::string> compared_keys();  // the column names of a row

// One row for each kernel or schedule, GPU (--hardware A,B) and dtype, in this order. Throws InputError where `predict`
// does.
// All GPUs have rates of one basis (common_rates) unless --basis says which to take.
std::vector<std::vector<Json>> compared_rows(
    const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress = {});

Json compared_json(const std::vector<std::vector<Json>>& rows);  // tilescope/compare/1

// The rates that give these GPUs one basis: those that their profiles state where all are measured, else derived ones.
// GPUs that no rule serves, whose times are bounds, have no say.
RatesFrom common_rates(const std::vector<HardwareProfile>& stated);

}  // namespace tilescope
