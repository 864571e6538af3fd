// A stored comparison that later ones are gated against, so that a build fails when a row gets worse.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "predict/explain/column.h"

namespace tilescope {

struct BaselineRow {
  std::string experiment, hardware, kernel, point, quantity;  // quantity: ComparisonRow::label
  double predicted = 0, measured = 0;
  std::vector<PredictedPart> parts = {};  // of `predicted`
};

struct Baseline {
  std::vector<BaselineRow> rows;
  std::map<std::string, std::string> files;  // fingerprints of the GPUs' profiles and the kernels' descriptors, by name
  std::string program = {};                  // version and revision of tilescope that predicted; empty: not stated
};

// Where a comparison comes from.
struct GateSource {
  std::filesystem::path data_directory;
  std::string program = {};  // as in Baseline
};

Baseline baseline_of(const Comparison& comparison, const GateSource& source);
Json to_json(const Baseline& baseline);  // tilescope/baseline/1

// Throws InputError with every finding.
Baseline read_baseline(const std::filesystem::path& file);

// A row that moved since the baseline. `what` says in one line which side moved, by how much, which parts of the
// prediction moved most, and which file changed in which commit.
struct BaselineChange {
  std::string experiment, hardware, kernel, point, quantity, what;
  Verdict verdict = Verdict::info;  // fail: the gate is closed; info: a new row, or a time that is not worse
};

// The rule, by row:
// - Counts are exact. A predicted count that differs fails; so does a counted one, of bytes only by the rule for times,
//   because caches and other programs move them.
// - A time fails when its relative error is worse by two points and by a tenth: either alone is noise. It also fails
// when
//   the measurement itself has grown by 3 %: the kernel got slower.
// - A row of the baseline that is gone fails: nothing passes by being left out.
std::vector<BaselineChange> changes_since(const Baseline& baseline, const Comparison& comparison,
                                          const GateSource& source);

bool passes(const std::vector<BaselineChange>& changes);

const Columns<BaselineChange>& baseline_columns();
std::string to_junit(const std::vector<BaselineChange>& changes, std::size_t rows);  // one testsuite

}  // namespace tilescope
