// validate --published: predictions against tables that others published.
#pragma once

#include "base/error.h"
#include "cli/input/options.h"

namespace tilescope::cli {

// Prints one line per table; JSON and CSV have every row. Returns answer_no if a table exceeds its error limits. Throws
// InputError if an option that belongs to records is given too.
ExitStatus validate_published(const Arguments& arguments);

}  // namespace tilescope::cli
