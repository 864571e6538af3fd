// What the page's charts draw of a point: values of the model and of the report pages, as JSON.
#pragma once

#include "request/answer.h"

namespace tilescope::wasm {

// {"prediction": tilescope/prediction/1, "gpu": {id, name, roofs, peaks}, "format", "split": {...}, "outside": [...]}.
// `split` is null where the time is a lower bound or there is none.
Json point_picture(const Answer& answer);

// {"axes": [two tile parameters], "cells": [{x, y, feasible, built, ...}]}: for each pair of tile sizes the best of the
// other parameters. `axes` is empty for a schedule without two parameters.
Json tile_picture(const Options& options);

}  // namespace tilescope::wasm
