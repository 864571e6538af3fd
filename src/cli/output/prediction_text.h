// The answer to one point as text or Markdown.
#pragma once

#include <string>

#include "cli/output/table.h"
#include "predict/explain/row_columns.h"
#include "request/answer.h"

namespace tilescope::cli {

// Traffic, work, footprint and time, with their bounds, errors and what they leave out.
std::string prediction_text(const Answer& answer, const Style& style);

// answer_no for a point that cannot run.
inline ExitStatus status_of(const Prediction& prediction) {
  return prediction.feasible ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace tilescope::cli
