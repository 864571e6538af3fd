// One point on several GPUs, formats and kernels: the rows that `compare` prints.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "predict/explain/json.h"
#include "request/options.h"

namespace tilescope {

std::vector<std::string> compared_keys();  // the column names of a row

// One row for each kernel or schedule, GPU (--hardware A,B) and dtype, in this order. Throws InputError where `predict`
// does.
std::vector<std::vector<Json>> compared_rows(
    const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress = {});

Json compared_json(const std::vector<std::vector<Json>>& rows);  // tilescope/compare/1

}  // namespace tilescope
