// Times of single calls on one GPU, in one format, by one choice of kernel. Each call is predicted once.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "network/calls.h"
#include "request/options.h"

namespace tilescope {

// The options that ask `predict` for the call, without a GPU, a kernel or a schedule.
Options options_of_call(const ModelQuestion& question, const AttentionCall& call, const std::string& dtype);

struct CallTime {
  double seconds = 0;
  double least_seconds = 0;                // compulsory bytes at the rate of HBM, or FLOP at that of the tensor cores
  double joules = 0;                       // joules: 0 where the profile lacks energies
  std::string kernel = {}, bound_by = {};  // kernel: its name, or "ideal SCHEDULE"
  std::optional<double> error = {};        // 90th percentile of |error| of records
  bool modelled = true;                    // by the model of blocks; false: a lower bound
};

class LayerTimes {
 public:
  // `gpu`: as --hardware; `basis`: as --basis, empty: not given.
  LayerTimes(const ModelQuestion& question, const std::string& gpu, const std::string& basis, std::string dtype,
             std::string kernel);

  // Throws InputError where no kernel, or not the asked one, runs the call.
  const CallTime& of(const AttentionCall& call);
  // C[a, c] = A[a, b] B[b, c] by an ideal kernel, B in the format of the weights.
  const CallTime& of_matmul(std::int64_t a, std::int64_t b, std::int64_t c);

 private:
  CallTime predicted(const Options& options) const;
  Options options_of(const AttentionCall& call) const;
  CallTime ideal(const AttentionCall& call) const;

  const ModelQuestion& question_;
  Options common_;
  std::string dtype_, kernel_;
  std::map<std::string, CallTime> known_;
};

// Time of the matrices of all layers in a phase: a decode step, or all prompts. A lower bound, because the schedule
// matmul does not cut the summed axis as libraries do for few rows.
double matrix_seconds(const ModelQuestion& question, LayerTimes& times, Phase phase, const ContextMix& mix);

}  // namespace tilescope
