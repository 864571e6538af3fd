// Listings of a disassembler, summarised and printed.
#include "kernel/code/sass/listing.h"

#include "fuzz/target.h"
#include "kernel/code/summary/code_summary.h"

namespace tilescope::fuzz {
namespace {

void give_listing(const Input& input) {
  for (CodeSection& section : read_listing(input.bytes, input.file)) summarise(std::move(section), 0);
}

}  // namespace

const Target listing{.name = "listing", .file_name = "code.sass", .run = give_listing};

}  // namespace tilescope::fuzz
