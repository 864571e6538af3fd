// A description's counts beside the counters of a capture, and which key of it is wrong where they differ.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernel/describe/description.h"
#include "launches/captured_record.h"

namespace tilescope::launches {

// A quantity as the description predicts it and as the capture counted it.
struct CheckedQuantity {
  std::string quantity;  // "traffic l2 read"
  double predicted = 0, counted = 0, tolerance = 0;
  bool fits = false;
  std::string keys;  // of a quantity that does not fit: those that decide it
};

// A value of one key with which all quantities fit, or more than with the description's own.
struct BetterValue {
  std::string key, found, better;  // "tile_kv", "64", "128"
  std::size_t fitting = 0;         // quantities that fit with it
};

struct CheckedDescription {
  std::vector<CheckedQuantity> quantities;
  std::vector<BetterValue> better;  // those with which most quantities fit
  std::size_t fitting() const;
};

// `descriptor` is the text of a kernel.yaml, a key a line, as `describe` writes it; its mask is that of `point`. Throws
// InputError when it cannot be predicted.
CheckedDescription check_description(const std::string& descriptor, const validate::MeasurePoint& point,
                                     const CapturedGroup& launches, const std::string& hardware,
                                     const std::filesystem::path& data_directory, const std::filesystem::path& scratch);

// The launches of the described kernel in a capture that were counted most often with its grid and in one NVTX range.
// Throws InputError when none was counted.
CapturedGroup counted_launches(const capture::Capture& found, const AttentionFacts& facts, const KernelLaunch& launch,
                               const std::string& place);

}  // namespace tilescope::launches
