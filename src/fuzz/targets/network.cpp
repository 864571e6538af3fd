// Configurations of language models.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_network(const Input& input) {
  run_words({"model", input.file, "--hardware", "h100_sxm", "--phase", "decode", "--context", "1k"});
}

}  // namespace

const Target network{.name = "network", .file_name = "config.json", .run = give_network};

}  // namespace tilescope::fuzz
