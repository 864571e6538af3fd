// describe --check: a description beside the counters of a capture.
#pragma once

#include "cli/output/output.h"
#include "kernel/describe/description.h"

namespace tilescope::cli {

// Prints the counts of the description and those of the capture that --check names. answer_no when one does not fit.
ExitStatus check_against_capture(const Arguments& arguments, const DescribeInput& input,
                                 const Description& description);

}  // namespace tilescope::cli
