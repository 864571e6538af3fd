#include "kernel/code/trace/thread_run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "kernel/code/sass/encoding.h"
#include "kernel/code/trace/integer_unit.h"
#include "kernel/code/trace/thread_state.h"

namespace tilescope {
namespace {

using Kind = DecodedOperand::Kind;

constexpr std::size_t first_coordinate = 2;  // behind the addresses in shared memory of the tile and of its barrier

std::optional<std::string_view> special_name(const Instruction& i) {
  if (i.operands.size() < 2 || !i.operands[1].starts_with("SR")) return std::nullopt;
  return std::string_view(i.operands[1]);
}

// Words that a load or store of this width moves.
std::size_t words_of(const Instruction& i) { return i.has("128") ? 4 : i.has("64") ? 2 : 1; }
bool narrow(const Instruction& i) {
  return i.has("U8") || i.has("S8") || i.has("U16") || i.has("S16") || i.has("8") || i.has("16");
}

}  // namespace

// The registers of a thread and what it does with them.
class RunningThread {
 public:
  RunningThread(const ThreadMachine& machine, const std::array<std::uint32_t, 3>& block,
                const std::array<std::uint32_t, 3>& thread, const std::vector<std::uint32_t>& distance)
      : machine_(machine), distance_(distance), state_(machine.launch_, machine.pointers_, block, thread) {
    run_.executed.resize(machine.section_.instructions.size());
  }

  ThreadRun run(std::int64_t most_instructions) {
    const auto& code = machine_.section_.instructions;
    std::size_t at = 0;
    for (std::int64_t count = 0; at < code.size(); ++count) {
      if (count == most_instructions) {
        run_.stopped = "it runs very long";
        return std::move(run_);
      }
      ++run_.executed[at];
      const std::size_t next = step(at);
      if (next == stop) return std::move(run_);
      at = next;
    }
    run_.stopped = "it runs past the end of the code";
    return std::move(run_);
  }

 private:
  static constexpr std::size_t stop = ~std::size_t{0};

  // The instruction that follows; `stop` at the end.
  std::size_t step(std::size_t at) {
    const Instruction& i = machine_.section_.instructions[at];
    const Word runs = state_.guard(i);
    run_.varies |= runs.varies;
    const DecodedInstruction& decoded = machine_.decoded_[at];
    if (decoded.ends_block) return branch(at, runs);
    if (runs.known && runs.value == 0) return at + 1;
    if (decoded.recorded) record(at, i, !runs.known);
    if (!runs.known) state_.forget(i);
    else execute(at, i);
    return at + 1;
  }

  std::size_t branch(std::size_t at, const Word& runs) {
    const Instruction& i = machine_.section_.instructions[at];
    Word taken = runs;
    if (i.has("DIV")) taken = Word::of(0);
    if (i.opcode == "BRA" && !i.has("DIV") && !i.has("CONV"))
      for (const DecodedOperand& operand : machine_.decoded_[at].operands) {
        const IntegerSource more = state_.source(operand);
        if (!more.predicate) continue;
        run_.varies |= more.low.varies;
        if (taken.known && taken.value == 0) break;
        if (more.low.known && (more.low.value == 0 || taken.known)) taken = more.low;
        else taken = Word{.loaded = more.low.loaded || taken.loaded};
      }
    if (!taken.known) ++(taken.loaded ? run_.guesses : run_.float_guesses), run_.undecided.insert(at);
    if (!taken.known && leads_nearer(at, i)) return static_cast<std::size_t>(i.targets.front() / instruction_bytes);
    if (!taken.known || taken.value == 0) return at + 1;
    if (i.opcode == "EXIT" || i.opcode == "KILL") return stop;
    if (i.opcode == "WARPSYNC") return at + 1;
    if (i.opcode == "RET") return returned(at);
    if (i.opcode == "CALL" && i.targets.size() == 1 && computes_floats(i.targets.front())) return behind_call(at);
    if (i.targets.size() == 1) return static_cast<std::size_t>(i.targets.front() / instruction_bytes);
    run_.stopped = "it goes where " + i.text() + " leads";
    return stop;
  }

  bool leads_nearer(std::size_t at, const Instruction& i) const {
    if (i.opcode != "BRA" || i.targets.size() != 1 || at + 1 >= distance_.size()) return false;
    const auto target = static_cast<std::size_t>(i.targets.front() / instruction_bytes);
    return target < distance_.size() && distance_[target] < distance_[at + 1];
  }

  // Slow ways of divisions and roots of floating-point numbers: functions that nvcc adds, with the format in the
  // name.
  bool computes_floats(std::uint64_t target) const {
    for (const auto& [address, name] : machine_.section_.functions)
      if (address == target)
        return name.find("_f32") != name.npos || name.find("_f64") != name.npos || name.find("_dbl") != name.npos;
    return false;
  }

  // Goes on behind a call, without the registers that the function writes.
  std::size_t behind_call(std::size_t at) {
    const auto& code = machine_.section_.instructions;
    for (auto k = static_cast<std::size_t>(code[at].targets.front() / instruction_bytes); k < code.size(); ++k) {
      state_.forget(code[k]);
      if (code[k].opcode == "RET") break;
    }
    return at + 1;
  }

  std::size_t returned(std::size_t at) {
    for (const DecodedOperand& operand : machine_.decoded_[at].operands)
      if (operand.kind == Kind::general)
        if (const Word address = state_.reg(Kind::general, operand.index);
            address.known && address.varies == 0 &&
            address.value / instruction_bytes < machine_.section_.instructions.size())
          return static_cast<std::size_t>(address.value / instruction_bytes);
    run_.stopped = "it returns to an unknown place";
    return stop;
  }

  void record(std::size_t at, const Instruction& i, bool unknown_guard) {
    if (i.opcode == "LDSM" || (i.opcode == "SYNCS" && i.has("ARRIVE"))) note_first(at, i);
    if (i.opcode == "SYNCS" && i.has("TRYWAIT")) note_wait(at);
    if (i.opcode == "LDSM" || i.opcode == "SYNCS") return;
    TracedAccess access{.instruction = at};
    const auto& operands = machine_.decoded_[at].operands;
    if (i.opcode.starts_with("UTMA")) {
      add_copy(operands, access);
    } else {
      // LDGSTS names the shared address first.
      for (const DecodedOperand& operand : operands)
        if (operand.kind == Kind::memory && (operand.wide_base || operand.wide_ubase)) far_address(operand, access);
        else if (operand.kind == Kind::memory && i.opcode == "LDGSTS") note_target(operand, access);
    }
    if (unknown_guard) access.known = false;
    // A copy with a false predicate behind its addresses writes zeros and reads nothing.
    if (i.opcode == "LDGSTS" && !operands.empty())
      if (const IntegerSource last = state_.source(operands.back());
          last.predicate && last.low.known && last.low.value == 0) {
        run_.varies |= last.low.varies;
        return;
      }
    run_.accesses.push_back(std::move(access));
  }

  void note_target(const DecodedOperand& operand, TracedAccess& access) {
    const Word address = state_.near_address(operand);
    run_.varies |= address.varies;
    if (address.known) access.shared = address.value;
  }

  void note_wait(std::size_t at) {
    const auto& operands = machine_.decoded_[at].operands;
    if (operands.size() < 2) return;
    const Word address = state_.near_address(operands[operands.size() - 2]), phase = state_.source(operands.back()).low;
    run_.varies |= address.varies | phase.varies;
    if (address.known && phase.known) run_.waits.push_back({at, address.value, phase.value});
  }

  void note_first(std::size_t at, const Instruction& i) {
    const auto& operands = machine_.decoded_[at].operands;
    if (i.opcode == "LDSM") {
      for (const DecodedOperand& operand : operands)
        if (operand.kind == Kind::memory)
          if (const Word address = state_.near_address(operand); address.known) {
            run_.varies |= address.varies;
            run_.matrix_loads.try_emplace(at, address.value);
          }
    } else if (!operands.empty()) {
      const Word bytes = state_.source(operands.back()).low;
      run_.varies |= bytes.varies;
      if (operands.back().kind == Kind::general && bytes.known && bytes.value > 0)
        run_.expected_bytes.try_emplace(at, bytes.value);
    }
  }

  void far_address(const DecodedOperand& operand, TracedAccess& access) {
    std::uint64_t sum = 0;
    bool known = true;
    VaryingWords varies = 0;
    const auto add = [&](Kind kind, std::int16_t index, bool pair) {
      if (index < 0) return;
      const Word low = state_.reg(kind, index), high = pair ? state_.reg(kind, index, 1) : Word::of(0);
      known = known && low.known && high.known, varies |= low.varies | high.varies;
      sum += std::uint64_t{high.value} << 32 | low.value;
      if (low.origin != 0) access.origin = low.origin;
    };
    add(Kind::general, operand.base, operand.wide_base), add(Kind::uniform, operand.ubase, operand.wide_ubase);
    const std::int64_t offset = static_cast<std::int32_t>(operand.number);
    access.address = sum + static_cast<std::uint64_t>(offset), access.known = known;
    if (access.origin != 0) run_.varies |= varies;
  }

  void add_copy(const std::vector<DecodedOperand>& operands, TracedAccess& access) {
    std::vector<const DecodedOperand*> addresses;
    for (const DecodedOperand& operand : operands)
      if (operand.kind == Kind::memory) addresses.push_back(&operand);
    if (addresses.size() < 2) return;
    const bool stores = machine_.section_.instructions[access.instruction].opcode == "UTMASTG";
    const DecodedOperand &tile = *addresses[stores ? 1 : 0], &map = *addresses[stores ? 0 : 1];
    const Word low = state_.reg(Kind::uniform, map.ubase), high = state_.reg(Kind::uniform, map.ubase, 1);
    const std::uint64_t address = std::uint64_t{high.value} << 32 | low.value;
    run_.varies |= low.varies | high.varies;
    if (low.known && high.known && address >= parameter_window && address - parameter_window < (1 << 16))
      access.map_offset = static_cast<std::int64_t>(address - parameter_window);
    const std::string dimensions = machine_.section_.instructions[access.instruction].modifiers.front();
    for (int k = 0; k < dimensions[0] - '0'; ++k) {
      const Word word =
          state_.reg(Kind::uniform, tile.ubase, static_cast<int>(first_coordinate) + k - (stores ? 1 : 0));
      run_.varies |= word.varies;
      if (!word.known) {
        access.coordinates.clear();
        return;
      }
      access.coordinates.push_back(static_cast<std::int32_t>(word.value));
    }
    access.known = true;
  }

  void execute(std::size_t at, const Instruction& i) {
    const auto& operands = machine_.decoded_[at].operands;
    switch (machine_.decoded_[at].action) {
      case Action::none:
        return;
      case Action::forget:
        return state_.forget(i);
      case Action::special:
        return read_special(i, operands);
      case Action::constant:
        return load_constant(i, operands);
      case Action::load:
        return load(at, i, operands);
      case Action::store:
        return store(i, operands);
      case Action::agree:
        return agree(i, operands, machine_.decoded_[at].results);
      case Action::predicates:
        run_.varies |= state_.move_predicates(i, operands);
        return;
      case Action::shuffle:
        return shuffle(i, operands);
      case Action::compute:
        return compute(at, i);
    }
  }

  void read_special(const Instruction& i, const std::vector<DecodedOperand>& operands) {
    state_.forget(i);
    const auto name = special_name(i);
    if (!name) return;
    state_.set(operands[0].kind, operands[0].index, 0, state_.special(*name));
    if (i.opcode == "CS2R" && !i.has("32")) state_.set(operands[0].kind, operands[0].index, 1, state_.special(*name));
  }

  void load_constant(const Instruction& i, const std::vector<DecodedOperand>& operands) {
    state_.forget(i);
    if (operands.size() < 2 || operands[1].kind != Kind::constant) return;
    const Word offset = state_.near_address(operands[1]);
    if (!offset.known) return;
    for (std::size_t k = 0; k < words_of(i); ++k) {
      Word word = state_.constant(operands[1].bank, (offset.value & ~3U) + 4 * static_cast<std::uint32_t>(k));
      if (narrow(i)) {
        const bool byte = i.has("U8") || i.has("S8");
        word.value = word.value >> (8 * (offset.value & 3)) & (byte ? 0xff : 0xffff);
        word.origin = 0;
      }
      word.varies |= offset.varies;
      state_.set(operands[0].kind, operands[0].index, static_cast<int>(k), word);
    }
  }

  std::map<std::uint32_t, Word>& memory_of(const Instruction& i) { return i.opcode.ends_with('L') ? local_ : shared_; }

  void load(std::size_t at, const Instruction& i, const std::vector<DecodedOperand>& operands) {
    state_.forget(i);
    for (std::size_t k = 0; k < words_of(i); ++k)
      state_.set(operands[0].kind, operands[0].index, static_cast<int>(k), Word{.loaded = !machine_.float_loads_[at]});
    if (operands.size() < 2 || narrow(i)) return;
    const Word address = state_.near_address(operands[1]);
    run_.varies |= address.varies;
    if (!address.known) return;
    for (std::size_t k = 0; k < words_of(i); ++k)
      if (const auto found = memory_of(i).find(address.value + 4 * static_cast<std::uint32_t>(k));
          found != memory_of(i).end())
        state_.set(operands[0].kind, operands[0].index, static_cast<int>(k), found->second);
  }

  void store(const Instruction& i, const std::vector<DecodedOperand>& operands) {
    if (operands.size() < 2) return;
    const Word address = state_.near_address(operands[0]);
    run_.varies |= address.varies;
    if (!address.known) return;
    for (std::size_t k = 0; k < words_of(i); ++k)
      memory_of(i)[address.value + 4 * static_cast<std::uint32_t>(k)] =
          narrow(i) ? Word{} : state_.reg(operands[1].kind, operands[1].index, static_cast<int>(k));
  }

  // Waits that have ended, the elected lane, votes of a warp whose lanes agree.
  void agree(const Instruction& i, const std::vector<DecodedOperand>& operands, std::size_t results) {
    state_.forget(i);
    Word answer = Word::of(1);
    if (i.opcode == "ELECT") answer = Word::of(state_.lane() == 0 ? 1 : 0);
    if (i.opcode == "SYNCS" && !i.has("TRYWAIT")) return;
    if (i.opcode.starts_with("VOTE")) answer = state_.source(operands.back()).low;
    for (std::size_t k = 0; k < std::max<std::size_t>(1, results) && k < operands.size(); ++k) {
      const bool predicate = operands[k].kind == Kind::predicate || operands[k].kind == Kind::uniform_predicate;
      if (predicate) state_.set(operands[k].kind, operands[k].index, 0, answer);
      else if (i.opcode.starts_with("VOTE"))
        state_.set(operands[k].kind, operands[k].index, 0,
                   {.value = answer.value != 0 ? ~0U : 0U, .known = answer.known, .varies = answer.varies});
    }
  }

  void shuffle(const Instruction& i, const std::vector<DecodedOperand>& operands) {
    Word value, from;
    if (i.has("IDX") && operands.size() > 3)
      value = state_.source(operands[2]).low, from = state_.source(operands[3]).low;
    state_.forget(i);
    if (operands.size() < 2) return;
    const bool own = from.known && from.value == state_.lane();
    run_.varies |= from.varies;
    state_.set(operands[1].kind, operands[1].index, 0,
               own ? value : Word{.loaded = value.loaded, .varies = value.varies});
  }

  void compute(std::size_t at, const Instruction& i) {
    const DecodedInstruction& decoded = machine_.decoded_[at];
    const std::vector<DecodedOperand>& operands = decoded.operands;
    std::array<IntegerSource, 8> sources{};
    std::size_t count = 0;
    for (std::size_t k = decoded.results; k < operands.size() && count < sources.size(); ++k)
      sources[count++] = state_.source(operands[k]);
    IntegerResult result = integer_result(decoded.operation, i, {sources.data(), count});
    run_.claims = run_.claims || decoded.claims;
    const bool loaded =
        decoded.loads || (decoded.follows_integers && std::any_of(sources.begin(), sources.end(), [](const auto& s) {
                            return !s.low.known && s.low.loaded;
                          }));
    VaryingWords varies = 0;
    for (const IntegerSource& each : sources) varies |= each.low.varies | each.high.varies;
    for (Word* const word : {&result.low, &result.high, &result.predicate, &result.second})
      word->loaded = loaded, word->varies = varies;
    state_.forget(i);
    bool first_predicate = true, first_register = true;
    for (std::size_t k = 0; k < decoded.results; ++k) {
      const DecodedOperand& to = operands[k];
      if (to.kind == Kind::predicate || to.kind == Kind::uniform_predicate) {
        state_.set(to.kind, to.index, 0, first_predicate ? result.predicate : result.second);
        first_predicate = false;
      } else if (first_register) {
        state_.set(to.kind, to.index, 0, result.low);
        if (decoded.writes_pair) state_.set(to.kind, to.index, 1, result.high);
        first_register = false;
      }
    }
  }

  const ThreadMachine& machine_;
  const std::vector<std::uint32_t>& distance_;
  ThreadState state_;
  std::map<std::uint32_t, Word> local_, shared_;
  ThreadRun run_;
};

ThreadRun ThreadMachine::run(const std::array<std::uint32_t, 3>& block, const std::array<std::uint32_t, 3>& thread,
                             std::int64_t most_instructions, const std::vector<std::uint32_t>& distance) const {
  return RunningThread(*this, block, thread, distance).run(most_instructions);
}

}  // namespace tilescope
