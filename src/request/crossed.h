// Questions with lists by commas, --hardware A,B --dtype X,Y --kernel K,L: crossed, one row each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "request/answer.h"

namespace tilescope {

// The GPUs that a name of a list stands for: `all`, and all[CHANGES], are every shipped profile.
std::vector<std::string> gpus_named(const std::string& given);
std::vector<std::string> listed_gpus(const Options& options);  // of --hardware A,B; empty where it is missing

// What rows are asked about: a kernel, a schedule, or neither.
struct AskedKernel {
  std::optional<std::string> kernel, schedule;
};

// What the rows are about, and what they share.
struct CrossedQuestion {
  Options options;                // of all rows: without the lists
  std::vector<std::string> gpus;  // as given: ids, files, changed GPUs
  std::vector<HardwareProfile> profiles;
  std::vector<std::string> dtypes;
  std::vector<AskedKernel> kernels;
  bool same_id(std::size_t gpu) const;  // whether another GPU of the question has this one's id
  std::size_t rows() const { return gpus.size() * dtypes.size() * kernels.size(); }
};

CrossedQuestion crossed_question(const Options& options);

// The options of one row, with the kernel that is chosen for it, and why there is none.
struct RowOptions {
  Options options;
  std::string reason = {};
  std::vector<Diagnostic> diagnostics = {};  // where the choice refuses the question
};

RowOptions row_options(const CrossedQuestion& question, const AskedKernel& asked, const std::string& gpu,
                       const std::string& dtype);

// The options of every row: each names one GPU, one choice of formats and one kernel or schedule.
std::vector<Options> crossed(const Options& options);

// Answers the options of one row, or every point of its --axis. The arguments live as long as the call. `tile` and the
// kernel are chosen as by `predict` and `sweep`. Throws InputError where they do.
void each_answer(const Options& options, const std::function<void(const PredictedPoint&)>& visit);

}  // namespace tilescope
