// What an instruction costs on a GPU: clocks of its pipe, and clocks until its result is there.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/enum_table.h"
#include "hardware/profile.h"
#include "kernel/code/sass/instruction.h"

namespace tilescope {

// Parts of an SM that instructions keep busy. shared: the whole SM has one; of the others each scheduler has its own.
enum class CodePipe { tensor, xu, fma, alu, shuffle, shared };
template <>
struct EnumTable<CodePipe> {
  static constexpr std::array rows{NamedKind{CodePipe::tensor, "tensor"},   NamedKind{CodePipe::xu, "xu"},
                                   NamedKind{CodePipe::fma, "fma"},         NamedKind{CodePipe::alu, "alu"},
                                   NamedKind{CodePipe::shuffle, "shuffle"}, NamedKind{CodePipe::shared, "shared"}};
};

struct PipeClocks {
  CodePipe pipe = CodePipe::tensor;
  double clocks = 0;  // that the pipe is busy when one warp on each scheduler executes the instruction
};

// Reads costs from the measured rates of a profile. A value that the profile lacks makes the bound lower, and its name
// is kept.
class InstructionCosts {
 public:
  // Throws InputError for a profile without measured rates.
  explicit InstructionCosts(const HardwareProfile& hardware);

  double issue() const { return issue_; }  // clocks of a scheduler
  std::optional<PipeClocks> pipe(const Instruction& instruction) const;
  // From issue until a result with a scoreboard may be used; at least the shortest chain of dependent instructions.
  double latency(const Instruction& instruction) const;
  double operands_read() const;              // from issue until registers that it reads may be written
  double barrier(std::int64_t warps) const;  // of a block
  double product_wait() const;  // from the end of an asynchronous matrix product until the wait for it ends
  const std::set<std::string>& missing() const { return missing_; }

 private:
  double value(const MeasuredRates::Value& measured, const char* name, double otherwise) const;
  std::optional<PipeClocks> matrix_pipe(const Instruction& instruction) const;
  std::optional<PipeClocks> shared_pipe(const Instruction& instruction) const;

  const MeasuredRates& rates_;
  double schedulers_ = 4, warp_threads_ = 32, issue_ = 1;
  mutable std::set<std::string> missing_;
};

}  // namespace tilescope
