// Machine code of a kernel's steps, and the clocks that they take on a simulated SM.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "simulate/simulation.h"

namespace tilescope {

// An instruction of a program, in the text that it was read from.
struct StepLine {
  IssueControl control{};
  std::string_view text{};
  std::uint32_t kind = 0;  // in StepProgram::kinds
};

// A step of a built instance of a kernel, in the order of execution; `masked`: of a tile that a mask cuts, empty where
// no code differs. What a block executes before and after its steps; empty where not all its warps run these. `beside`:
// a step of warps of another role, see SmBeside; empty where none compute.
struct StepProgram {
  std::vector<StepLine> step, masked, start, end, beside;
  int beside_warps = 0, beside_stages = 1;
  std::vector<Instruction> kinds;  // an instruction of each guard, opcode and modifiers

  struct Section {
    std::string_view name;
    std::vector<StepLine> StepProgram::*lines;
  };
  static const Section sections[5];
};
inline constexpr StepProgram::Section StepProgram::sections[] = {{"step", &StepProgram::step},
                                                                 {"masked", &StepProgram::masked},
                                                                 {"start", &StepProgram::start},
                                                                 {"end", &StepProgram::end},
                                                                 {"beside", &StepProgram::beside}};

// What a step finds a tenth faster than the profile says.
enum class SmFaster : std::uint8_t { none, tensor, shared, xu, fma, alu, latency };
inline constexpr double sm_faster_by = 1.1;

struct StepQuestion {
  std::string symbol{};  // of the instance
  bool masked = false;
  bool stays = false;           // the block, for further tiles
  int warps = 0, resident = 0;  // of a block, that run the steps; blocks of the SM
  CopySource copies_from = CopySource::hbm;
  CopySource loads_from = CopySource::l2;  // what threads load to registers
  int local_missed = 0;                    // of a hundred loads of local memory, those that the L1 lacks
  SmFaster faster = SmFaster::none;
  bool few = false;  // a few passes tell, see SmPasses: for the ratio of two answers
};

// kernels/NAME/steps.zst, which validate/tools/step_programs.py writes. Read when the first step is asked for. Answers
// are kept: by instance, GPU and resident blocks.
class StepPrograms {
 public:
  explicit StepPrograms(std::filesystem::path file) : file_(std::move(file)) {}
  // The program of one instance, of any name, which `file` has in its own text: its sections.
  StepPrograms(std::filesystem::path file, std::string program)
      : file_(std::move(file)), is_read_(true), text_(std::move(program)), only_(true) {}

  // Whether the file has the instance, or it was added. Throws InputError where the file is damaged.
  bool has(const std::string& symbol) const;
  // The program of an instance that the file lacks: its sections. The first text of a symbol stays.
  void add(const std::string& symbol, std::string program) const;
  // Of a step of each resident block; 0: no program.
  double clocks(const StepQuestion& question, const HardwareProfile& hardware) const;
  // That all resident blocks, started together, take beside their steps: start, first copies, end. 0: no program.
  double around(const StepQuestion& question, const HardwareProfile& hardware) const;
  // From a block's start until it has asked for its first copy, and from its last step to its end. 0: no program.
  double before(const StepQuestion& question, const HardwareProfile& hardware) const;
  double after(const StepQuestion& question, const HardwareProfile& hardware) const;

  // The simulated step, instruction by instruction, as a loop of a summary; addresses count from the step's start.
  // `event_passes`: see SmSteady. Throws InputError where there is no program.
  struct Listed {
    CodeSummary code;
    KernelSimulation simulation;
  };
  Listed listed(const StepQuestion& question, const HardwareProfile& hardware, int event_passes) const;

 private:
  enum class Asked { step, masked, around, before, after };
  using Key = std::tuple<std::uint64_t, std::string, Asked, int, int, int, SmFaster, bool, CopySource, CopySource>;

  using Operations = std::vector<SmOperation>;
  // Who is at a question, so that nobody simulates what another thread is at.
  struct Answer {
    std::mutex at_work{};
    std::optional<SmAlone> found{};
  };
  // What these return stays where it is.
  const StepProgram* find(const std::string& symbol) const;
  const SmMachine& machine(std::uint64_t gpu, CopySource source, const HardwareProfile& hardware) const;
  // Of code on a GPU, whose copies may come from anywhere.
  const Operations& operations(std::uint64_t gpu, const SmMachine& machine, const StepProgram& program,
                               const std::vector<StepLine>& lines, int warps) const;
  void read() const;  // called with `mutex_` locked

  double answer(const StepQuestion& question, Asked asked, const HardwareProfile& hardware) const;
  std::optional<SmAlone> alone(StepQuestion question, Asked asked, const HardwareProfile& hardware,
                               std::uint64_t gpu) const;
  SmAlone simulated(const StepProgram& program, const StepQuestion& question, Asked asked,
                    const HardwareProfile& hardware, std::uint64_t gpu) const;
  static Key key_of(const StepQuestion& question, Asked asked, std::uint64_t gpu, CopySource source) {
    return {gpu,
            question.symbol,
            asked,
            question.warps,
            question.resident,
            question.local_missed,
            question.faster,
            question.few,
            question.loads_from,
            source};
  }
  // What has been found of copies from the L2 holds for those from memory too.
  void learn(const Key& key, double clocks) const;

  std::filesystem::path file_;
  mutable std::mutex mutex_;
  mutable bool is_read_ = false;
  mutable std::string text_;
  bool only_ = false;  // `text_` is the program of every name
  mutable std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> places_;  // in `text_`
  mutable std::map<std::string, std::string, std::less<>> added_;                           // by symbol
  mutable std::map<std::string, StepProgram, std::less<>> programs_;
  mutable std::map<Key, Answer> known_;
  mutable std::map<std::pair<std::uint64_t, CopySource>, SmMachine> machines_;
  mutable std::map<std::tuple<std::uint64_t, const std::vector<StepLine>*, int>, Operations> operations_;
};

}  // namespace tilescope
