// Machine code: cubins, fat binaries, objects and programs.
#include "fuzz/target.h"
#include "kernel/code/code_file.h"

namespace tilescope::fuzz {
namespace {

void give_elf(const Input& input) { read_code_file(input.file); }

}  // namespace

const Target elf{.name = "elf", .file_name = "code.cubin", .run = give_elf, .is_text = false};

}  // namespace tilescope::fuzz
