// An instruction as a simulated SM sees it: which parts it keeps busy, when its results are there, what it waits for.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_table.h"
#include "hardware/profile.h"
#include "kernel/code/sass/instruction.h"
#include "kernel/code/sass/matrix.h"
#include "loopbounds/register_banks.h"

namespace tilescope {

// Sixteenths of a clock: rates that are no whole number of clocks stay exact enough, and states can be compared.
using Ticks = std::int64_t;
constexpr Ticks ticks_a_clock = 16;
constexpr Ticks never = std::numeric_limits<Ticks>::max() / 4;
Ticks ticks(double clocks);

// Parts of a scheduler's quarter of the SM. `imad`: the half of the fp32 pipe that multiplies integers, where the pipe
// has two halves. `memory`: the queue of loads, stores, shuffles and copies.
enum class SmPart : std::uint8_t { none, fma, imad, alu, xu, tensor, memory };
template <>
struct EnumTable<SmPart> {
  static constexpr std::array rows{NamedKind{SmPart::none, "none"},    NamedKind{SmPart::fma, "fma"},
                                   NamedKind{SmPart::imad, "imad"},    NamedKind{SmPart::alu, "alu"},
                                   NamedKind{SmPart::xu, "xu"},        NamedKind{SmPart::tensor, "tensor"},
                                   NamedKind{SmPart::memory, "memory"}};
};
constexpr std::size_t sm_parts = EnumTable<SmPart>::rows.size();

// What an instruction does beside keeping a part busy.
enum class SmEffect : std::uint8_t {
  none,
  barrier_sync,    // of `number`, for `count` warps
  barrier_arrive,  // the same, without waiting
  phase_wait,      // of mbarrier `number`, at which warps of another role arrive: see SmBeside
  phase_arrive,    // at it, once a pass
  copy,            // from global to shared memory
  load,            // from the L2 to registers
  copy_group,      // LDGDEPBAR: earlier copies of the warp are a group, which holds scoreboard `number`
  product,         // asynchronous matrix product; with `count` it ends a group
  product_wait,    // until at most `count` groups of products run
  group_wait,      // DEPBAR.LE: at most `count` groups of scoreboard `number` stay
};

// Registers of a bank (even or odd numbers) that an operation reads; of these, those that the instruction before it
// read in the same place; that it writes, where it is fp32 arithmetic.
struct SmBank {
  std::uint8_t reads = 0, kept = 0, results = 0;
  std::uint8_t new_reads() const { return static_cast<std::uint8_t>(reads - kept); }
};
using SmBanks = std::array<SmBank, register_banks>;

struct SmOperation {
  static constexpr std::int16_t turn = -1;  // number of a barrier by which warpgroups take turns

  SmPart part = SmPart::none;
  SmEffect effect = SmEffect::none;
  std::uint8_t wait_mask = 0, result_board = 7, operand_board = 7;
  SmBanks banks{};
  bool yields = false;  // another warp should issue next
  std::int16_t number = 0, count = 0;
  Ticks stall = ticks_a_clock;  // until the warp's next instruction
  Ticks busy = 0;               // of the part
  Ticks shared = 0;             // of the SM's shared memory
  Ticks quarter = 0;            // of the way there of its quarter of the SM
  Ticks latency = 0;            // from issue, or from the start in the queue, to the result
  Ticks operands = 0;           // until the registers that it reads may be written
  Ticks holds_product = 0;      // that it holds up the matrix products of the same scheduler: mma.sync
  Ticks slower = 0;             // that its part is busy longer while an asynchronous product runs
  Ticks ports_lost = 0;         // an asynchronous product: until others have the ports of registers, see sm_ports.h
  bool delayed = false;         // the same: by operations that use these ports
  double shared_part = 0;       // the same: of the bandwidth of shared memory
  Ticks copy = 0;               // of the way from the L2 into the SM: copies and loads
  Ticks leaves = 0;             // of the way out of the SM: stores, sums in memory
  Ticks held = 0;               // of this way, what may still be ahead when later accesses begin
  Ticks missed = 0;             // longer that the result takes where the L1 lacks it: a load of local memory
};

// Where copies into shared memory find their data.
enum class CopySource { l2, hbm };
template <>
struct EnumTable<CopySource> {
  static constexpr std::array rows{NamedKind{CopySource::l2, "l2"}, NamedKind{CopySource::hbm, "hbm"}};
};

// What all warps of an SM share, and the depth of queues.
struct SmLimits {
  int schedulers = 4;
  Ticks barrier_slot = 0, barrier_latency = 0;              // an arrival; from the last one to the release
  Ticks phase_latency = 0;                                  // of a test of an mbarrier whose phase is complete
  Ticks phase_release = 0;                                  // from the last arrival there to the test's success
  Ticks copy_latency = 0;                                   // of a copy
  Ticks copies_later = 0;                                   // see SmSteady::as_later; 0: not asked
  Ticks loads_later = 0;                                    // of a load to registers: beyond the latency of the L2
  double local_missed = 0;                                  // part of the loads of local memory that the L1 lacks
  double shared_bytes_a_clock = 0, copy_bytes_a_clock = 0;  // stores to shared memory; copies from the L2
  int queue = 0;     // operations of the memory queue of a scheduler that wait to start
  int products = 1;  // asynchronous products of a warp without their results
  Ticks branch = 0;  // of a taken branch beyond its stall count
};

// Whether the profile says how long copies from memory take: by bulk copies, or by loads where a GPU has none.
bool has_memory_latency(const HardwareProfile& hardware);

// Operations of a way through code. A branch right before a meeting of a warp's threads is taken: it leads over other
// code.
class SmWay {
 public:
  // `text`: guard, opcode, operands.
  void add(const std::string& opcode, std::string_view text, const SmOperation& operation);
  void reserve(std::size_t size) { operations_.reserve(size); }
  std::vector<SmOperation> operations() && { return std::move(operations_); }

 private:
  SmBanks banks_of(std::string_view text);

  std::vector<SmOperation> operations_{};
  std::string last_{};                              // opcode
  std::array<int, 4> read_before_{-1, -1, -1, -1};  // registers, by place of the operand
};

// Reads a GPU's rates. Values that the profile lacks and a rule does not derive are named in `missing`.
class SmMachine {
 public:
  // Throws InputError for a profile without measured rates, or without a value that the simulation cannot do without.
  explicit SmMachine(const HardwareProfile& hardware, CopySource source = CopySource::hbm);
  // `warps`: of a block, that run the code. A barrier waits for all of them, or for as many as it counts.
  SmOperation operation(const Instruction& instruction, int warps) const;
  // That of the instruction's encoding. All else follows from guard, opcode and modifiers where it has no effect.
  static void set_control(const IssueControl& control, SmOperation& operation);
  // Of a way through code.
  std::vector<SmOperation> operations(const std::vector<Instruction>& way, int warps) const;
  const SmLimits& limits() const { return limits_; }
  const std::set<std::string>& missing() const;

 private:
  struct Parts;
  void add_held(SmOperation& op) const;
  double add_access(const Instruction& instruction, SmOperation& op) const;
  void add_local(const Instruction& instruction, SmOperation& op) const;
  void add_global(const Instruction& instruction, SmOperation& op) const;
  void add_sum(const Instruction& instruction, SmOperation& op) const;
  void add_product(const MatrixInstruction& matrix, SmOperation& op) const;

  std::shared_ptr<const Parts> parts_;
  SmLimits limits_;
};

}  // namespace tilescope
