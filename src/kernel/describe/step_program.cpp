#include "kernel/describe/step_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernel/code/summary/step_path.h"

namespace tilescope {
namespace {

constexpr std::string_view inner_end = "}\n";

std::string inner_start(InnerLoop inner) { return inner == InnerLoop::scores ? "scores {\n" : "values {\n"; }

// "4 7 7 0 1 BAR.SYNC 0x0": stall count, scoreboards of result and operands, mask of scoreboards, hint to yield, text.
std::string line_of(const Instruction& instruction) {
  const IssueControl& control = instruction.control;
  return fmt::format("{} {} {} {} {:d} {}\n", control.stall, control.result_scoreboard, control.operand_scoreboard,
                     control.wait_mask, control.yield, instruction.text());
}

void add_section(const CodeSummary& code, const char* name, const std::vector<std::size_t>& path, std::string& text) {
  if (path.empty()) return;
  text += name;
  text += '\n';
  for (const std::size_t i : path) text += line_of(code.section.instructions[i]);
}

// The loop with products inside of the loop over keys that an instruction stands in.
std::optional<InnerLoop> inner_loop_of(const CodeSummary& code, const NestedProducts& nested, std::size_t instruction) {
  const auto block = std::find_if(code.blocks.begin(), code.blocks.end(), [&](const CodeBlock& each) {
    return each.begin <= instruction && instruction < each.end;
  });
  if (nested.scores && stands_in(code, *block, *nested.scores)) return InnerLoop::scores;
  if (nested.values && stands_in(code, *block, *nested.values)) return InnerLoop::values;
  return std::nullopt;
}

// A pass of the loop, with one pass of each loop inside of it, marked. Branches lead around these where a launch leaves
// nothing for them to sum.
void add_nested_step(const CodeSummary& code, const AttentionLoop& loop, std::string& text) {
  text += "step\n";
  std::vector<std::uint64_t> through;
  for (const auto& inner : {loop.nested->scores, loop.nested->values})
    if (inner) through.push_back(code.loops[*inner].header);
  std::optional<InnerLoop> inside;
  for (const std::size_t i : step_path(code, loop.loop, through)) {
    const std::optional<InnerLoop> now = inner_loop_of(code, *loop.nested, i);
    if (now != inside && inside) text += inner_end;
    if (now != inside && now) text += inner_start(*now);
    text += line_of(code.section.instructions[i]), inside = now;
  }
  if (inside) text += inner_end;
}

// Whether the way through the code that was taken is one that multiplies: every product with all its instructions.
bool has_all_products(std::string_view step, const AttentionLoop& loop) {
  std::int64_t left = loop.scores.chains * loop.scores.length + loop.values.chains * loop.values.length;
  for (const std::string& opcode : std::set{loop.scores.instruction.opcode, loop.values.instruction.opcode})
    for (std::size_t at = 0; (at = step.find(" " + opcode + ".", at)) != step.npos; ++at) --left;
  return left <= 0;
}

}  // namespace

std::string with_passes(std::string program, InnerLoop inner, std::int64_t passes) {
  const std::string start = inner_start(inner);
  for (std::size_t at = 0; (at = program.find(start, at)) != program.npos;) {
    const std::size_t body = at + start.size(), end = program.find(inner_end, body);
    if (end == program.npos) break;
    std::string all;
    for (std::int64_t pass = 0; pass < passes; ++pass) all.append(program, body, end - body);
    program.replace(at, end + inner_end.size() - at, all);
    at += all.size();
  }
  return program;
}

bool has_open_passes(std::string_view program) { return program.find(inner_end) != program.npos; }

std::string step_program(const CodeSummary& code, const AttentionLoop& loop, const StepWarps& warps) {
  const bool alike = code.loops[loop.loop].roles.size() == code.roles.size();
  if (loop.pass != AttentionPass::forward || !(alike || warps.take_turns || warps.units == 1)) return {};
  std::string text;
  if (loop.nested) add_nested_step(code, loop, text);
  else add_section(code, "step", step_path(code, loop.loop, {}), text);
  if (!has_all_products(text, loop)) return {};
  if (loop.nested && loop.nested->score_passes > 0)
    text = with_passes(std::move(text), InnerLoop::scores, loop.nested->score_passes);
  if (!loop.masked.empty() && !loop.nested) add_section(code, "masked", step_path(code, loop.masked.front(), {}), text);
  // Blocks stay: what lies between two tiles is no start or end. Other roles have a start and an end of their own.
  if (!alike || code.loops[loop.loop].parent) return text;
  add_section(code, "start", start_path(code, loop.loop), text);
  add_section(code, "end", end_path(code, loop.loop), text);
  return text;
}

}  // namespace tilescope
