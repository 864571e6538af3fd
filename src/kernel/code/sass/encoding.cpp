#include "kernel/code/sass/encoding.h"

#include <fmt/format.h>

#include "kernel/code/byte_view.h"

namespace tilescope {

IssueControl issue_control(std::uint64_t upper) {
  const auto field = [&](int first_bit, int bits) {
    return static_cast<int>(upper >> (first_bit - 64) & ((1u << bits) - 1));
  };
  return {.stall = field(105, 4),
          .yield = field(109, 1) == 0,
          .result_scoreboard = field(110, 3),
          .operand_scoreboard = field(113, 3),
          .wait_mask = static_cast<unsigned>(field(116, 6))};
}

void add_issue_control(CodeSection& section, std::string_view code, const std::string& file) {
  const ByteView bytes(code, file);
  for (Instruction& instruction : section.instructions) {
    if (instruction.address % instruction_bytes != 0 || instruction.address >= code.size() ||
        code.size() - instruction.address < instruction_bytes)
      bytes.fail(fmt::format("the listing has an instruction at {:#x} of '{}', where the file has none",
                             instruction.address, section.name));
    instruction.control = issue_control(bytes.read<std::uint64_t>(instruction.address + 8));
  }
}

}  // namespace tilescope
