// Shards of a sweep, put together.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

// A table's rows, or JSON objects.
void give_shard(const Input& input) {
  if (!run_words({"sweep", "merge", input.file})) run_words({"sweep", "merge", input.file, "--format", "json"});
}

}  // namespace

const Target shard{.name = "shard", .file_name = "sweep.csv.shard-0001-of-0001", .run = give_shard};

}  // namespace tilescope::fuzz
