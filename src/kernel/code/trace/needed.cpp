#include "kernel/code/trace/needed.h"

#include <algorithm>
#include <bitset>

#include "kernel/code/flow/blocks.h"
#include "kernel/code/sass/encoding.h"

namespace tilescope {
namespace {

using Kind = DecodedOperand::Kind;

// Registers of a thread: general ones, uniform ones, predicates, uniform predicates.
using Registers = std::bitset<256 + 256 + 8 + 8>;

void add(Registers& registers, RegisterFile file, int first, int count) {
  const int start = file == RegisterFile::general     ? 0
                    : file == RegisterFile::uniform   ? 256
                    : file == RegisterFile::predicate ? 512
                                                      : 520;
  const int end = file == RegisterFile::general || file == RegisterFile::uniform ? 256 : 8;
  if (file == RegisterFile::convergence) return;
  for (int k = std::max(0, first); k < std::min(end, first + count); ++k)
    registers.set(static_cast<std::size_t>(start + k));
}

void add(Registers& registers, Kind kind, int first, int count) {
  if (first < 0) return;
  if (kind == Kind::general) add(registers, RegisterFile::general, first, count);
  if (kind == Kind::uniform) add(registers, RegisterFile::uniform, first, count);
  if (kind == Kind::predicate) add(registers, RegisterFile::predicate, first, count);
  if (kind == Kind::uniform_predicate) add(registers, RegisterFile::uniform_predicate, first, count);
}

// What an instruction reads, may write, and writes whatever its guard is.
struct Use {
  Registers reads, writes, kills;
};

Use use_of(const Instruction& i, const DecodedInstruction& decoded) {
  Use use;
  if (i.guard.kind == Guard::Kind::predicate) add(use.reads, i.guard.predicate.file, i.guard.predicate.first, 1);
  for (const RegisterSpan& span : i.writes) add(use.writes, span.file, span.first, span.count);
  if (i.guard.kind == Guard::Kind::always) use.kills = use.writes;
  const auto& operands = decoded.operands;
  for (std::size_t k = 0; k < operands.size() && k < std::max<std::size_t>(1, decoded.results); ++k)
    add(use.writes, operands[k].kind, operands[k].index, std::max(2, int{decoded.words}));
  // What it computes is unknown whatever it reads.
  if (decoded.action == Action::forget && !decoded.recorded) return use;
  // What a store to global memory stores does not matter, nor what the next register holds where it is no pair.
  const bool address_alone = decoded.recorded && decoded.action == Action::none &&
                             decoded.opcode != TracedOpcode::barrier && decoded.opcode != TracedOpcode::copy_by_map &&
                             decoded.opcode != TracedOpcode::store_by_map;
  for (const RegisterSpan& span : i.reads)
    if (!address_alone) add(use.reads, span.file, span.first, span.count);
  for (const DecodedOperand& operand : operands) {
    const bool predicate = operand.kind == Kind::predicate || operand.kind == Kind::uniform_predicate;
    if (predicate || !address_alone) add(use.reads, operand.kind, operand.index, 1);
    add(use.reads, Kind::general, operand.base, operand.wide_base ? 2 : 1);
    add(use.reads, Kind::uniform, operand.ubase, 2);
  }
  if (decoded.action == Action::predicates) add(use.reads, Kind::predicate, 0, 8);
  return use;
}

// Whatever the registers are: it is noted, leads elsewhere, or changes what this does not follow.
bool always_needed(const DecodedInstruction& decoded) {
  return decoded.recorded || decoded.ends_block || decoded.claims || decoded.action == Action::predicates;
}

class Search {
 public:
  Search(const CodeSection& section, const std::vector<DecodedInstruction>& decoded)
      : section_(section), decoded_(decoded), flow_(flow_graph(section)), needed_(decoded.size()) {
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      uses_.push_back(use_of(section.instructions[i], decoded[i]));
      needed_[i] = always_needed(decoded[i]);
    }
    entry_.resize(flow_.blocks.size());
  }

  // Stores to memory of the thread's own and of its block are needed where something needed loads from there.
  std::vector<bool> run() {
    search();
    for (bool more = true; more;) {
      more = false;
      for (const bool local : {false, true}) more = add_stores(local) || more;
      if (more) search();
    }
    return needed_;
  }

 private:
  bool add_stores(bool local) {
    bool loads = false, added = false;
    for (std::size_t i = 0; i < decoded_.size(); ++i)
      loads = loads || (needed_[i] && decoded_[i].action == Action::load && decoded_[i].local == local);
    for (std::size_t i = 0; loads && i < decoded_.size(); ++i)
      if (decoded_[i].action == Action::store && decoded_[i].local == local && !needed_[i]) needed_[i] = added = true;
    return added;
  }

  void search() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t block = flow_.blocks.size(); block-- > 0;) {
        const Registers before = live_before(block);
        changed = changed || before != entry_[block];
        entry_[block] = before;
      }
    }
  }

  Registers live_behind(std::size_t block) const {
    Registers live;
    const std::size_t last = flow_.blocks[block].end - 1;
    const Instruction& i = section_.instructions[last];
    if (decoded_[last].opcode == TracedOpcode::come_back) live = live_behind_calls();
    for (const std::uint64_t target : i.targets)
      if (decoded_[last].ends_block && target / instruction_bytes < decoded_.size())
        live |= entry_[flow_.block_at(target)];
    if (block + 1 < flow_.blocks.size()) live |= entry_[block + 1];
    return live;
  }

  Registers live_behind_calls() const {
    Registers live;
    for (std::size_t block = 0; block + 1 < flow_.blocks.size(); ++block)
      if (decoded_[flow_.blocks[block].end - 1].opcode == TracedOpcode::call) live |= entry_[block + 1];
    return live;
  }

  Registers live_before(std::size_t block) {
    Registers live = live_behind(block);
    for (std::size_t i = flow_.blocks[block].end; i-- > flow_.blocks[block].first;) {
      if (!needed_[i] && (uses_[i].writes & live).any()) needed_[i] = true;
      if (!needed_[i]) continue;
      live &= ~uses_[i].kills;
      live |= uses_[i].reads;
    }
    return live;
  }

  const CodeSection& section_;
  const std::vector<DecodedInstruction>& decoded_;
  FlowGraph flow_;
  std::vector<Use> uses_;
  std::vector<bool> needed_;
  std::vector<Registers> entry_;  // live where a block begins
};

}  // namespace

NeededCode needed_code(const CodeSection& section, const std::vector<DecodedInstruction>& decoded) {
  const std::size_t size = decoded.size();
  NeededCode code{.next = std::vector<std::size_t>(size), .behind_call = std::vector<bool>(size + 1)};
  if (size == 0) return code;
  const std::vector<bool> needed = Search(section, decoded).run();
  for (std::size_t i = size; i-- > 0;) {
    code.next[i] = needed[i] || decoded[i].ends_block ? i : i + 1 < size ? code.next[i + 1] : size;
    if (decoded[i].opcode == TracedOpcode::call) code.behind_call[i + 1] = true;
  }
  return code;
}

}  // namespace tilescope
