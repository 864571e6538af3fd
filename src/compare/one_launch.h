// A record of one launch of a schedule that has several, as a captured program shows them: kernel by kernel.
#pragma once

#include <vector>

#include "base/error.h"
#include "predict/predict.h"
#include "records/record.h"

namespace tilescope {

// The launch by whose name the record's only one is called; -1: the record is of the whole schedule.
int only_launch(const validate::Record& record, const Schedule& schedule);

// Findings where a record's launches are not those of its kernel. Kernels of this project are measured launch by
// launch, all of them or one, by the names of their schedules; other software's launches have names of their own.
// No SM holds more blocks than its GPU allows.
void check_launches(const validate::Record& record, const Plan& plan, const HardwareProfile& hardware,
                    std::vector<Diagnostic>& findings);

// Leaves of a prediction what is of one launch. Its time is that of a run by itself.
void keep_launch(int launch, Prediction& prediction);

}  // namespace tilescope
