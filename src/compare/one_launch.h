// A record of one launch of a schedule that has several, as a captured program shows them: kernel by kernel.
#pragma once

#include "predict/predict.h"
#include "records/record.h"

namespace tilescope {

// The launch by whose name the record's only one is called; -1: the record is of the whole schedule.
int only_launch(const validate::Record& record, const Schedule& schedule);

// Leaves of a prediction what is of one launch. Its time is that of a run by itself.
void keep_launch(int launch, Prediction& prediction);

}  // namespace tilescope
