// Facts of machine code, made into a descriptor.
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_facts(const Input& input) {
  run_words({"describe", input.file, "--grid", "32,16", "--block", "128", "--heads", "16", "--q-len", "4k"});
}

}  // namespace

const Target facts{.name = "facts", .file_name = "facts.json", .run = give_facts};

}  // namespace tilescope::fuzz
