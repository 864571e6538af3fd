// An instruction of machine code (SASS), as its disassembler and its encoding describe it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

enum class RegisterFile { general, uniform, predicate, uniform_predicate, convergence };

// `count` registers from `first` on. The constants RZ, URZ, PT and UPT are no registers.
struct RegisterSpan {
  RegisterFile file = RegisterFile::general;
  int first = 0, count = 1;

  friend bool operator==(const RegisterSpan&, const RegisterSpan&) = default;
};

// What an instruction's encoding says of when it may issue.
struct IssueControl {
  static constexpr int no_scoreboard = 7;

  int stall = 1;                           // clocks until the warp's next instruction may issue
  bool yield = false;                      // hint: another warp should issue next
  int result_scoreboard = no_scoreboard;   // freed when the result is written
  int operand_scoreboard = no_scoreboard;  // freed when the operands are read
  unsigned wait_mask = 0;                  // scoreboards that must be free before it issues
};

struct Guard {
  enum class Kind { always, never, predicate };
  Kind kind = Kind::always;
  RegisterSpan predicate{};  // of kind `predicate`
  bool negated = false;
};

struct Instruction {
  std::uint64_t address = 0;  // from the start of its section
  Guard guard{};
  std::string opcode{};                  // "HGMMA"
  std::vector<std::string> modifiers{};  // "64x128x16", "F32"
  std::vector<std::string> operands{};   // without ".reuse"
  unsigned reuse = 0;                    // bit i: the register file keeps operand i for the next instruction
  std::vector<std::uint64_t> targets{};  // addresses that it may go to, other than the next instruction
  std::string callee{};                  // function of another section that it calls or returns to
  IssueControl control{};
  std::vector<RegisterSpan> reads{}, writes{};

  bool has(std::string_view modifier) const;
  std::string mnemonic() const;  // opcode and modifiers
  std::string text() const;      // "@!P0 BRA 0x120"
};

// A section of code: a kernel, and the local functions that stand behind it.
struct CodeSection {
  std::string name;  // of the kernel, or of a function with a section of its own
  std::vector<Instruction> instructions;
  std::vector<std::pair<std::uint64_t, std::string>> functions;  // local ones: address and name
};

std::string to_string(const RegisterSpan& span);  // "R24..R55"

}  // namespace tilescope
