// The commands, each in its own file.
#pragma once

#include "cli/command.h"
#include "cli/output/output.h"

namespace tilescope::cli {

Command hardware_command();
Command predict_command();
Command explain_command();
Command derive_command();
Command search_command();
Command compare_command();
Command sensitivity_command();
Command sweep_command();
Command measure_command();
Command validate_command();
Command records_command();
Command report_command();
Command capture_command();
Command describe_command();
Command inspect_command();
Command import_command();
Command run_command();
Command model_command();
Command list_command();
Command help_command();
Command completion_command();
Command man_command();

}  // namespace tilescope::cli
