// Experiments: points to measure, with tolerances.
#include "records/experiment.h"

#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_experiment(const Input& input) { validate::parse_experiment(input.bytes, input.file); }

}  // namespace

const Target experiment{.name = "experiment", .file_name = "experiment.yaml", .run = give_experiment};

}  // namespace tilescope::fuzz
