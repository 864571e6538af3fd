// What is measured: one kernel variant on one workload. The key that ties an experiment, its records and predictions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace tilescope::validate {

struct PointWorkload {
  std::int64_t batch = 1, heads_q = 1, heads_kv = 1, q_len = 1, kv_len = 1, d_qk = 64, d_v = 64;
  friend bool operator==(const PointWorkload&, const PointWorkload&) = default;
};

struct MeasurePoint {
  std::string kernel;         // a folder of kernels/: "fused_mma"
  std::string mask = "none";  // as on the command line; the file of a block mask is relative to the data directory
  PointWorkload workload;
  Format dtype = Format::fp16;                      // of every array that `dtypes` does not name
  std::map<std::string, Dtype> dtypes = {};         // by the --dtype keys of the kernel's diagram: "kv" is K and V
  std::int64_t tile_q = 0, tile_kv = 0, warps = 0;  // all 0: the kernel has no tile to choose
  std::int64_t stages = 0;                          // 0: the kernel is built for one number only
  std::int64_t splits = 0;                          // parts of the keys; 0: the kernel chooses, or does not divide them
  friend bool operator==(const MeasurePoint&, const MeasurePoint&) = default;
};

// The format of an array by its --dtype key ("q", "k", "v", "o").
Dtype dtype_of(const MeasurePoint& point, const std::string& key);

// Why a point cannot be one, whoever states it: a record, an experiment or a published table. Sizes have the limits
// that they have on the command line.
struct PointProblem {
  std::string key, message;  // "workload", "tile.q", "warps", ...
};
std::vector<PointProblem> problems_of(const MeasurePoint& point);

// Stable, readable and fit for a file name:
// "fused_mma-fp16-b1-hq16-hkv16-q4096-kv4096-d128-causal-tq128-tkv64-w4". d128x64 when d_qk and d_v differ; without
// the last three parts when the kernel has no tile to choose.
std::string point_id(const MeasurePoint& point);

}  // namespace tilescope::validate
