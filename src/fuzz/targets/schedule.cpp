// Schedules, then a point predicted with them.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_schedule(const Input& input) {
  run_words({"predict", "--schedule", input.file, "--hardware", "h100_sxm", "--heads", "4", "--q-len", "512", "--tile",
             "q=64,kv=64"});
}

}  // namespace

const Target schedule{.name = "schedule", .file_name = "schedule.yaml", .run = give_schedule};

}  // namespace tilescope::fuzz
