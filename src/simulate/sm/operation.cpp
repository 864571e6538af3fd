#include "simulate/sm/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "kernel/code/sass/kinds.h"
#include "kernel/code/sass/matrix.h"
#include "kernel/code/sass/registers.h"
#include "loopbounds/instruction_costs.h"
#include "loopbounds/register_banks.h"

namespace tilescope {
namespace {

using K = InstructionKind;

// Loads, stores, shuffles and copies that a scheduler takes before the first one has started. No microbenchmark
// measures it; from 4 to 16 the steps of fused_mma differ by less than 1 %.
constexpr int memory_queue = 8;

// Microbenchmark on an H100, n of 48 to 256: wgmma are issued until seven are under way, and the next one when the
// oldest has its result.
constexpr int products_under_way = 7;

// The same: clocks of the loop by which tensor.wgmma_latency is measured that are not its product's (fence, wait and
// branch). Loops of products alone last as long as measured with it.
constexpr double product_loop = 33;

// Microbenchmark on an H100, maxima beside products of n 32 to 256: of the turns of four clocks that others have in
// each product, one is missing. Where A comes from registers, three are at n 128 and 256; at n 64 the product takes 40
// clocks instead of 32, which is not simulated.
constexpr double ports_lost = 4, ports_lost_for_a = 12;
constexpr std::int64_t narrow = 64;

// The same, wait for a phase that is complete: 42 clocks with its branch. The loop of sync.mbarrier_passed takes more.
constexpr double phase_loop = 16;

// Microbenchmark on an H100, 16 branches over 12 stores: clocks from a taken branch to its target beyond stall counts.
constexpr double taken_branch = 9.4;

// The same where threads of a warp that branched meet again: from the branch over code until after the meeting.
// meetings.cu (validate/tools/sm_rules), an H100: where none of them went over the code, from its end until after the
// meeting; and until a value that a warp reads of itself can be used.
constexpr double meeting = 20, met = 11.4, system_register = 29;

constexpr int warp_threads = 32;

// Microbenchmark on an H200, warps of one scheduler to four: clocks that 512 bytes of a warp take by themselves, loaded
// from shared memory and stored there (validate/tools/sm_rules/matrices_beside.cu).
constexpr double quarter_bytes = 512, quarter_loads = 8.83, quarter_stores = 10.4;

// Microbenchmark on an H100, up to 64 stores, local stores or sums of 16 bytes a thread, then a load of shared memory
// (validate/tools/sm_rules/leaving.cu): what leaves an SM is out of the way of later accesses while no more than this
// waits. The same: what one SM adds to memory while others do not, 4 or 16 bytes a thread.
constexpr double held_bytes = 6500, sums_bytes_a_clock = 25.3;

// "0x10", "10", "SB0": the number in an operand, 0 without one.
std::int16_t number_in(const std::string& operand) {
  const std::size_t start = operand.find_first_of("0123456789");
  if (start == operand.npos) return 0;
  const bool hexadecimal = operand.compare(start, 2, "0x") == 0;
  std::int16_t value = 0;
  std::from_chars(operand.data() + start + (hexadecimal ? 2 : 0), operand.data() + operand.size(), value,
                  hexadecimal ? 16 : 10);
  return value;
}

const std::string& operand_of(const Instruction& instruction, std::size_t place) {
  if (place < instruction.operands.size()) return instruction.operands[place];
  throw InputError(Diagnostic{.path = instruction.text(), .message = "lacks an operand"});
}

// A barrier whose number is in a register is each warpgroup's own.
std::int16_t barrier_in(const Instruction& instruction) {
  constexpr int barriers = 16;  // of a block
  const std::string& operand = operand_of(instruction, 0);
  if (operand.starts_with("R")) return SmOperation::turn;
  const std::int16_t number = number_in(operand);
  if (number < barriers) return number;
  throw InputError(Diagnostic{.path = instruction.text(), .message = "names no barrier from 0 to 15"});
}

void add_barrier(const Instruction& instruction, int warps, SmOperation& op) {
  const auto& operands = instruction.operands;
  op.effect = instruction.has("SYNC") ? SmEffect::barrier_sync : SmEffect::barrier_arrive;
  op.number = barrier_in(instruction);
  const int counted = operands.size() > 1 ? number_in(operands[1]) / warp_threads : warps;
  op.count = static_cast<std::int16_t>(std::min(counted, warps));
}

double needed(const MeasuredRates::Value& value, const HardwareProfile& hardware, const char* name) {
  if (value) return value->value;
  throw InputError(Diagnostic{.path = "--hardware",
                              .message = fmt::format("{} has no measured {}, which the simulation needs; 'tilescope "
                                                     "hardware measure' on that GPU adds it",
                                                     hardware.id, name)});
}

void add_leaving(double bytes, double bytes_a_clock, SmOperation& op) {
  op.leaves = ticks(bytes / bytes_a_clock), op.held = ticks(held_bytes / bytes_a_clock);
}

// Arrivals at a barrier are counted one behind the other: the time of consecutive barriers grows by as much a warp.
void read_barriers(const MeasuredRates::ByCount& measured, const HardwareProfile& hardware, SmLimits& limits) {
  if (measured.size() < 2) needed(std::nullopt, hardware, "sync.block_barrier of two sizes");
  const auto& [few, short_time] = *measured.begin();
  const auto& [many, long_time] = *std::prev(measured.end());
  const double slot = (long_time.value - short_time.value) / static_cast<double>(many - few);
  limits.barrier_slot = ticks(slot);
  limits.barrier_latency = ticks(short_time.value - slot * static_cast<double>(few));
}

// In clocks. Memory adds what it adds to the latency of a bulk copy, at the clock of light tensor load; on GPUs without
// bulk copies, what it adds to a load's.
double copy_latency(const HardwareProfile& hardware, CopySource source) {
  const MeasuredRates& rates = *hardware.measured;
  const double l2 = (needed(rates.l2.latency_near, hardware, "l2.latency_near") +
                     needed(rates.l2.latency_far, hardware, "l2.latency_far")) /
                    2;
  if (source == CopySource::l2) return l2;
  if (!rates.tma.latency_hbm && has_memory_latency(hardware))
    return std::max(l2, rates.hbm.latency->value * hardware.boost_hz->value);
  const double seconds = needed(rates.tma.latency_hbm, hardware, "tma.latency_hbm") -
                         needed(rates.tma.latency_l2, hardware, "tma.latency_l2");
  return l2 + seconds * needed(rates.clock.tensor_most, hardware, "clock.tensor_most");
}

SmPart part_of(CodePipe pipe) {
  switch (pipe) {
    case CodePipe::tensor:
      return SmPart::tensor;
    case CodePipe::xu:
      return SmPart::xu;
    case CodePipe::fma:
      return SmPart::fma;
    case CodePipe::alu:
      return SmPart::alu;
    case CodePipe::shuffle:
    case CodePipe::shared:
      return SmPart::memory;
  }
  return SmPart::none;
}

// Multiply-adds of integers, and moves and shifts that compilers write as such, go to one half of an fp32 pipe that has
// two, of 16 lanes each (compute capability 8.6 to 9.0, CUDA's programming guide). Microbenchmark on an H200
// (validate/tools/sm_rules/integers.cu): one every other clock, while the other half takes those of floats.
void put_in_half(SmOperation& op) {
  constexpr Ticks of_half = 2 * ticks_a_clock;  // of a warp's instruction
  if (op.part == SmPart::fma && op.busy < of_half * 3 / 4) op.part = SmPart::imad, op.busy *= 2;
}

}  // namespace

bool has_memory_latency(const HardwareProfile& hardware) {
  const MeasuredRates& rates = *hardware.measured;
  return rates.tma.latency_hbm ? rates.tma.latency_l2 && rates.clock.tensor_most
                               : rates.hbm.latency && hardware.boost_hz;
}

Ticks ticks(double clocks) { return std::llround(clocks * static_cast<double>(ticks_a_clock)); }

struct SmMachine::Parts {
  explicit Parts(const HardwareProfile& profile) : hardware(profile), costs(hardware) {}
  HardwareProfile hardware;
  InstructionCosts costs;
};

SmMachine::SmMachine(const HardwareProfile& hardware, CopySource source) : parts_(std::make_shared<Parts>(hardware)) {
  const MeasuredRates& rates = *hardware.measured;
  if (hardware.schedulers_per_unit) limits_.schedulers = static_cast<int>(hardware.schedulers_per_unit->value);
  read_barriers(rates.sync.block_barrier, hardware, limits_);
  limits_.copy_latency = ticks(copy_latency(hardware, source));
  limits_.shared_bytes_a_clock = needed(rates.smem.store, hardware, "smem.store");
  limits_.copy_bytes_a_clock = needed(rates.smem.cp_async, hardware, "smem.cp_async");
  if (rates.sync.mbarrier_passed)
    limits_.phase_latency = ticks(std::max(0.0, rates.sync.mbarrier_passed->value - phase_loop));
  if (rates.sync.mbarrier && rates.sync.mbarrier_passed)
    limits_.phase_release = ticks(std::max(0.0, rates.sync.mbarrier->value - rates.sync.mbarrier_passed->value));
  limits_.queue = memory_queue, limits_.products = products_under_way;
  limits_.branch = ticks(taken_branch);
}

// Register ports are shared with matrix products. What mma.sync loses is measured by pipe; asynchronous products do not
// notice others (sm_ports.h), but special functions take longer.
void SmMachine::add_held(SmOperation& op) const {
  const auto& beside = parts_->hardware.measured->beside;
  const bool adds = op.part == SmPart::fma, special = op.part == SmPart::xu;
  if (!adds && !special && op.part != SmPart::alu) return;
  const auto& held = special ? beside.mma_ex2 : adds ? beside.mma_ffma : beside.mma_max;
  const double clocks = static_cast<double>(op.busy) / static_cast<double>(ticks_a_clock);
  if (held) op.holds_product = ticks(held->value * clocks);
  if (special && beside.wgmma_ex2) op.slower = ticks(beside.wgmma_ex2->value * clocks);
}

// Of the memory queue and the way to shared memory, which the L1 shares. Returns its bytes.
double SmMachine::add_access(const Instruction& instruction, SmOperation& op) const {
  const double bytes = warp_threads * bytes_of_thread(instruction);
  op.part = SmPart::memory, op.shared = op.busy = ticks(bytes / limits_.shared_bytes_a_clock);
  return bytes;
}

// Spilled registers: through the L1, and stores on to the L2.
void SmMachine::add_local(const Instruction& instruction, SmOperation& op) const {
  const auto& local = parts_->hardware.measured->local;
  const double bytes = add_access(instruction, op);
  const bool store = opcode_row(instruction.opcode).kind == K::store;
  if (store && local.store) add_leaving(bytes, local.store->value, op);
  if (!store && local.latency && local.latency_l1) op.missed = ticks(local.latency->value - local.latency_l1->value);
}

// What threads store leaves the SM one after the other. What they load to registers waits for the L2, and for memory by
// SmLimits::loads_later more. What they only read may be in the L1.
void SmMachine::add_global(const Instruction& instruction, SmOperation& op) const {
  const MeasuredRates& rates = *parts_->hardware.measured;
  const InstructionKind kind = opcode_row(instruction.opcode).kind;
  const double bytes = add_access(instruction, op);
  if (kind == K::load && !instruction.has("CONSTANT")) {
    const double rate = rates.l2.read_one_unit ? rates.l2.read_one_unit->value : limits_.copy_bytes_a_clock;
    op.effect = SmEffect::load, op.copy = ticks(bytes / rate);
    op.latency = ticks(copy_latency(parts_->hardware, CopySource::l2));
  }
  if (kind == K::store && rates.local.store) add_leaving(bytes, rates.local.store->value, op);
}

// What warps add to memory leaves an SM at a rate of its own; what all SMs add may take longer (predict/sm/demand.cpp).
void SmMachine::add_sum(const Instruction& instruction, SmOperation& op) const {
  add_leaving(add_access(instruction, op), sums_bytes_a_clock, op);
}

// No faster than its operands come from shared memory.
void SmMachine::add_product(const MatrixInstruction& matrix, SmOperation& op) const {
  const Ticks fetched = ticks(static_cast<double>(matrix.shared_bytes()) / limits_.shared_bytes_a_clock);
  op.busy = std::max(op.busy, fetched);
  if (op.busy > 0) op.shared_part = static_cast<double>(fetched) / static_cast<double>(op.busy);
  op.delayed = !matrix.a_from_shared && matrix.n <= narrow;
  op.ports_lost = ticks(matrix.a_from_shared || op.delayed ? ports_lost : ports_lost_for_a);
}

const std::set<std::string>& SmMachine::missing() const { return parts_->costs.missing(); }

void SmMachine::set_control(const IssueControl& control, SmOperation& op) {
  op.wait_mask = static_cast<std::uint8_t>(control.wait_mask);
  op.result_board = static_cast<std::uint8_t>(control.result_scoreboard);
  op.operand_board = static_cast<std::uint8_t>(control.operand_scoreboard);
  op.stall = std::max(1, control.stall) * ticks_a_clock;
  op.yields = control.yield;
}

SmOperation SmMachine::operation(const Instruction& instruction, int warps) const {
  const InstructionCosts& costs = parts_->costs;
  SmOperation op;
  set_control(instruction.control, op);
  op.latency = ticks(costs.latency(instruction));
  op.operands = ticks(costs.operands_read());
  if (instruction.guard.kind == Guard::Kind::never) return op;
  if (const auto busy = costs.pipe(instruction)) {
    op.part = part_of(busy->pipe);
    op.busy = ticks(busy->clocks);
    if (op.part == SmPart::memory) op.shared = op.busy / limits_.schedulers, op.busy = op.shared;
  }
  if (instruction.opcode == "BAR" && (instruction.has("SYNC") || instruction.has("ARV"))) {
    add_barrier(instruction, warps, op);
  } else if (instruction.opcode == "LDGSTS") {
    op.effect = SmEffect::copy, op.copy = ticks(add_access(instruction, op) / limits_.copy_bytes_a_clock);
  } else if (opcode_row(instruction.opcode).memory == CodeMemory::local) {
    add_local(instruction, op);
  } else if (instruction.opcode.starts_with("RED") && opcode_row(instruction.opcode).kind == K::atomic &&
             opcode_row(instruction.opcode).memory != CodeMemory::shared) {
    add_sum(instruction, op);
  } else if (opcode_row(instruction.opcode).memory == CodeMemory::global) {
    add_global(instruction, op);
  } else if (instruction.opcode == "LDGDEPBAR") {
    op.effect = SmEffect::copy_group, op.number = op.result_board, op.result_board = IssueControl::no_scoreboard;
  } else if (instruction.opcode == "DEPBAR") {
    op.effect = SmEffect::group_wait, op.number = number_in(operand_of(instruction, 0));
    op.count = instruction.operands.size() > 1 ? number_in(instruction.operands[1]) : std::int16_t{0};
  } else if (instruction.opcode == "S2R" || instruction.opcode == "S2UR") {
    op.latency = ticks(system_register);
  } else if (instruction.opcode == "MEMBAR" && instruction.has("CTA")) {
    op.part = SmPart::memory, op.operands = op.latency;
  } else if (instruction.opcode == "SYNCS" && instruction.has("PHASECHK")) {
    op.latency = limits_.phase_latency;
  } else if (op.part == SmPart::tensor && instruction.opcode.ends_with("GMMA")) {
    const auto& operands = instruction.operands;
    op.effect = SmEffect::product;
    op.count = std::find(operands.begin(), operands.end(), "gsb0") != operands.end();
    op.latency = ticks(std::max(0.0, costs.product_wait() - product_loop));
    if (const auto matrix = matrix_instruction(instruction)) add_product(*matrix, op);
  } else if (instruction.opcode == "WARPGROUP" && instruction.has("DEPBAR")) {
    op.effect = SmEffect::product_wait;
    op.count = number_in(operand_of(instruction, instruction.operands.size() - 1));
  }
  const OpcodeRow& row = opcode_row(instruction.opcode);
  if (row.memory == CodeMemory::shared && (row.kind == K::load || row.kind == K::store))
    op.quarter = ticks(warp_threads * bytes_of_thread(instruction) / quarter_bytes *
                       (row.kind == K::load ? quarter_loads : quarter_stores));
  add_held(op);
  if (row.kind == K::multiply_add) put_in_half(op);
  return op;
}

std::vector<SmOperation> SmMachine::operations(const std::vector<Instruction>& way, int warps) const {
  SmWay own;
  for (const Instruction& instruction : way)
    own.add(instruction.opcode, instruction.text(), operation(instruction, warps));
  return std::move(own).operations();
}

// Of operands: a result first, then what is read. Compilers keep a register for the next instruction that reads it in
// the same place (".reuse"), where they can: it is not read again. One that an instruction names twice is read once.
SmBanks SmWay::banks_of(std::string_view text) {
  SmBanks banks{};
  std::array<int, 4> read{-1, -1, -1, -1};
  if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  text.remove_prefix(std::min(text.find(' '), text.size()));
  for (std::size_t place = 0; place < read.size() && !text.empty(); ++place) {
    const std::string_view operand = text.substr(0, text.find(','));
    text.remove_prefix(std::min(operand.size() + 1, text.size()));
    const std::optional<int> number = register_in(operand);
    if (!number) continue;
    SmBank& bank = banks[static_cast<std::size_t>(*number) % register_banks];
    if (place == 0) {
      ++bank.results;
      continue;
    }
    if (std::find(read.begin(), read.end(), *number) == read.end())
      ++bank.reads, bank.kept += *number == read_before_[place];
    read[place] = *number;
  }
  read_before_ = read;
  return banks;
}

void SmWay::add(const std::string& opcode, std::string_view text, const SmOperation& operation) {
  if (opcode == "BSYNC" && last_ == "BRA") operations_.back().stall += ticks(meeting);
  operations_.push_back(operation);
  operations_.back().banks = banks_of(text);
  if (operation.part != SmPart::fma && operation.part != SmPart::imad)  // results of other pipes are in nobody's way
    for (SmBank& bank : operations_.back().banks) bank.results = 0;
  if (opcode == "BSYNC" && last_ != "BRA") operations_.back().stall += ticks(met);
  last_ = opcode;
}

}  // namespace tilescope
