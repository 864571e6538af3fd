// validate --published: predictions against tables that others published.
#pragma once

#include "base/error.h"
#include "cli/input/options.h"

namespace tilescope::cli {

// Prints a line a table (JSON and CSV: every row). answer_no when a table leaves its bars. InputError when an option
// that only records have is given too.
ExitStatus validate_published(const Arguments& arguments);

}  // namespace tilescope::cli
