#include "kernel/describe/step_program.h"

#include <fmt/format.h>

#include "kernel/code/summary/step_path.h"

namespace tilescope {
namespace {

// "4 7 7 0 1 BAR.SYNC 0x0": stall count, scoreboards of result and operands, mask of scoreboards, hint to yield, text.
void add_section(const CodeSummary& code, const char* name, const std::vector<std::size_t>& path, std::string& text) {
  if (path.empty()) return;
  text += name;
  text += '\n';
  for (const std::size_t i : path) {
    const Instruction& instruction = code.section.instructions[i];
    const IssueControl& control = instruction.control;
    text += fmt::format("{} {} {} {} {:d} {}\n", control.stall, control.result_scoreboard, control.operand_scoreboard,
                        control.wait_mask, control.yield, instruction.text());
  }
}

bool warps_are_alike(const CodeSummary& code, std::size_t loop) {
  if (code.loops[loop].roles.size() != code.roles.size()) return false;
  return code.loops[loop].always.opcodes.count("BAR.ARV") == 0;
}

}  // namespace

std::string step_program(const CodeSummary& code, const AttentionLoop& loop) {
  if (loop.pass != AttentionPass::forward || !warps_are_alike(code, loop.loop)) return {};
  std::string text;
  add_section(code, "step", step_path(code, loop.loop, {}), text);
  if (!loop.masked.empty()) add_section(code, "masked", step_path(code, loop.masked.front(), {}), text);
  if (code.loops[loop.loop].parent) return text;  // blocks stay: what lies between two tiles is no start or end
  add_section(code, "start", start_path(code, loop.loop), text);
  add_section(code, "end", end_path(code, loop.loop), text);
  return text;
}

}  // namespace tilescope
