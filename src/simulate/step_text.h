// The text of a program of steps, read: sections by name, each a line an instruction: stall count, scoreboards of
// result and operands, mask of scoreboards, hint to yield, text. Behind the name "beside" stand warps of a block and
// stages. A kernel's code has thousands of lines and a hundred kinds of instructions: each kind is read once.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "kernel/code/sass/operands.h"
#include "simulate/step_programs.h"

namespace tilescope::step_text {

// Four or five numbers at the front of a line, each behind spaces; what follows is left in `text`. Older files lack the
// fifth, the hint to yield: compilers give it to nearly all instructions with a stall count of three or more.
inline bool take_control(std::string_view& text, IssueControl& control) {
  const auto spaces = [&] { text.remove_prefix(std::min(text.find_first_not_of(' '), text.size())); };
  const auto take = [&](auto& number) {
    spaces();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc{};
  };
  const bool all = take(control.stall) && take(control.result_scoreboard) && take(control.operand_scoreboard) &&
                   take(control.wait_mask);
  spaces();
  constexpr int often_yields = 3;
  int yield = control.stall >= often_yields;
  const bool told = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (told && !take(yield)) return false;
  control.yield = yield != 0;
  spaces();
  return all;
}

// Guard, opcode and modifiers.
inline std::string_view name_of(std::string_view text) {
  std::size_t start = 0;
  if (text.starts_with('@')) start = std::min(text.find_first_not_of(' ', text.find(' ')), text.size());
  return text.substr(0, text.find(' ', start));
}

// The section whose name, and numbers, the line has; none: it has an instruction, or nothing that is known.
inline std::vector<StepLine>* section_of(std::string_view line, StepProgram& program) {
  if (line.empty() || line.front() < 'a') return nullptr;  // an instruction's begins with a number
  const std::string_view name = line.substr(0, line.find(' '));
  const auto named = std::find_if(std::begin(StepProgram::sections), std::end(StepProgram::sections),
                                  [&](const auto& each) { return each.name == name; });
  if (named == std::end(StepProgram::sections)) return nullptr;
  line.remove_prefix(name.size());
  if (named->lines == &StepProgram::beside) {
    constexpr int most_warps = 32, most_stages = 64;
    for (auto [number, most] :
         {std::pair(&program.beside_warps, most_warps), std::pair(&program.beside_stages, most_stages)}) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), *number);
      if (error != std::errc{} || *number < 1 || *number > most) return nullptr;
      line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    }
  }
  return line.empty() ? &(program.*named->lines) : nullptr;
}

// `symbol`: of the instance, for messages. The program points into `text`.
inline StepProgram read(std::string_view text, const std::filesystem::path& file, const std::string& symbol) {
  StepProgram program;
  std::vector<StepLine>* section = &program.step;
  std::unordered_map<std::string_view, std::uint32_t> kinds;
  std::vector<std::string> labels;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (std::vector<StepLine>* const named = section_of(line, program)) {
      section = named;
      continue;
    }
    StepLine& step = section->emplace_back(StepLine{.text = line});
    const bool controlled = take_control(step.text, step.control);
    const auto [kind, is_new] = kinds.try_emplace(name_of(step.text), static_cast<std::uint32_t>(program.kinds.size()));
    step.kind = kind->second;
    if (controlled && (!is_new || parse_instruction(step.text, program.kinds.emplace_back(), labels))) continue;
    throw InputError(Diagnostic{
        .file = file.string(), .path = symbol, .message = fmt::format("has '{}', which is no instruction", line)});
  }
  return program;
}

inline Instruction instruction_of(const StepLine& line) {
  Instruction instruction{.control = line.control};
  std::vector<std::string> labels;
  parse_instruction(line.text, instruction, labels);  // `read` has refused what is none
  return instruction;
}

inline std::vector<SmOperation> operations(const SmMachine& machine, const StepProgram& program,
                                           const std::vector<StepLine>& lines, int warps) {
  std::vector<std::optional<SmOperation>> known(program.kinds.size());
  SmWay way;
  way.reserve(lines.size());
  for (const StepLine& line : lines) {
    const Instruction& kind = program.kinds[line.kind];
    std::optional<SmOperation>& own = known[line.kind];
    if (own) {
      SmMachine::set_control(line.control, *own);
      way.add(kind.opcode, line.text, *own);
      continue;
    }
    const SmOperation operation = machine.operation(instruction_of(line), warps);
    way.add(kind.opcode, line.text, operation);
    // Operands tell which barrier, group or descriptor.
    const bool by_name = operation.effect == SmEffect::none || operation.effect == SmEffect::copy;
    if (by_name && !kind.opcode.ends_with("GMMA")) own = operation;
  }
  return std::move(way).operations();
}

// Of a pass in lines as above, without sections.
inline std::vector<SmOperation> operations_of(const SmMachine& machine, std::string_view lines, int warps) {
  const StepProgram program = read(lines, "text", "text");
  return operations(machine, program, program.step, warps);
}

}  // namespace tilescope::step_text
