// What the page's charts draw of a point: values of the model and of the report pages, as JSON.
#pragma once

#include "request/answer.h"

namespace tilescope::wasm {

// {"prediction": tilescope/prediction/1, "gpu": {id, name, roofs, peaks}, "format", "tile", "split"}.
// `split` is null where the time is a lower bound or there is none.
Json point_picture(const Answer& answer);

}  // namespace tilescope::wasm
