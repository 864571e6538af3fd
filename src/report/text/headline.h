// What a reader must see first: how much was checked, how much of it holds, and what holds least.
#pragma once

#include <string>
#include <vector>

#include "report/model.h"

namespace tilescope::report {

struct Headline {
  int points = 0, measured_points = 0;
  std::vector<std::string> kernels;
  int checked = 0, passed = 0, failed = 0, informative = 0;
  std::vector<ReportRow> failures;  // largest error first
  std::optional<ReportRow> worst;   // the checked row that uses up most of its tolerance, or exceeds it most
};

Headline headline_of(const Report& report);

// "On NVIDIA H200 (GH100), 62 points of 2 kernels were predicted and 60 of them measured."
std::string headline_sentence(const Report& report, const Headline& headline);

// "H200 SXM 141GB (GH100)", one a GPU.
std::vector<std::string> gpu_names(const Report& report);

// What bounds the points and how sure that is: "fused_wgmma (fp16) takes 93.8 µs on H100 SXM5 80GB, bound by tensor
// cores. For 90 % of 97 comparable records, the prediction error is at most 7.00 %."
std::string answer_sentence(const Report& report);

}  // namespace tilescope::report
