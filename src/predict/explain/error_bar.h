// The error that recorded runs show for predictions of a kernel on a GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "predict/prediction.h"

namespace tilescope {

// How far predicted times lie from the records of this kernel on this GPU.
struct TimeError {
  double mape = 0, p90 = 0;  // mean and 90th percentile of the absolute relative error
  std::int64_t n = 0;        // records
  std::string basis;
};

// What limits a prediction, as far as its error goes: "short" (under 20 us), "memory" (DRAM or L2 is the busiest
// resource), else "compute".
std::string regime_of(const Prediction& prediction);

// Reads the summary that `tilescope validate --errors` wrote: the row of the kernel on the GPU for a quantity
// ("seconds", "hbm_read_bytes") in the regime, or of all regimes where that one has fewer than five records (or
// `regime` is empty). nullopt: no file, or no record of this pair.
std::optional<TimeError> recorded_error(const std::filesystem::path& file, const std::string& hardware,
                                        const std::string& kernel, const std::string& quantity,
                                        const std::string& regime);

// The error of predictions whose rates have this basis, from the summary that validate/tools/basis_errors.py wrote: of
// this GPU, else of GPUs with this chip, else of those whose rates came from another chip; the largest mean of several.
std::optional<TimeError> basis_error(const std::filesystem::path& file, const std::string& hardware,
                                     const std::string& chip, const std::string& basis);

}  // namespace tilescope
