// Tests only: a record with the values that several tests share; tests add point, launches and counters.
#pragma once

#include "records/record.h"

namespace tilescope::validate {

inline Record example_record() {
  Record record;
  record.experiment = "main";
  record.environment = {.hardware = "h200_sxm",
                        .gpu = "NVIDIA H200",
                        .chip = "GH100",
                        .driver = "580.1",
                        .cuda = "13.0",
                        .cupti = "13.0.1",
                        .sm_clock_max_hz = 1.98e9,
                        .memory_clock_hz = 3.2e9,
                        .power_limit_w = 700,
                        .ecc = true,
                        .l2_bytes = 62914560,
                        .date = "2026-11-20T17:00:00Z",
                        .revision = "abc",
                        .l2_groups = "66a 66b"};
  record.passes = 7;
  record.cold_seconds = {1.25e-4, 1.5e-4};
  record.correctness = {.max_error = 1.5e-3, .tolerance = 2e-3, .checked_elements = 4096, .passed = true};
  return record;
}

}  // namespace tilescope::validate
