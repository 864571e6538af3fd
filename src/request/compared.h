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

struct Compared {
  Json shape;                           // pass, diagram, mask, workload, sizes; null: rows differ in it
  std::vector<std::vector<Json>> rows;  // cells by compared_keys()
  bool any_time = false;                // some row has a time
  std::vector<std::string> ideal = {};  // kernels of rows that are ideal ones of a schedule: none exists
  bool sized_by_workload = false;       // a row's diagram has a size of the workload
  Json json() const;                    // tilescope/compare/1
};

// One row for each kernel or schedule, GPU (--hardware A,B) and dtype, in this order, or that of --sort; --best keeps
// the fastest of each GPU and dtype. A row that `predict` refuses says why, and the others go on. InputError where
// `predict` refuses every row, and for a kernel, a GPU or a format that does not exist.
// All GPUs have rates of one basis (common_rates) unless --basis says which to take.
Compared compared(const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress = {});

// The rates that give these GPUs one basis: those that their profiles state where all are measured, else derived ones.
// GPUs that no rule serves, whose times are bounds, have no say.
RatesFrom common_rates(const std::vector<HardwareProfile>& stated);

}  // namespace tilescope
