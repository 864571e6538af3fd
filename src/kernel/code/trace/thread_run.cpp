#include "kernel/code/trace/thread_run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "kernel/code/sass/encoding.h"
#include "kernel/code/trace/access_notes.h"
#include "kernel/code/trace/integer_unit.h"
#include "kernel/code/trace/thread_state.h"

namespace tilescope {
namespace {

using Kind = DecodedOperand::Kind;

std::optional<std::string_view> special_name(const Instruction& i) {
  if (i.operands.size() < 2 || !i.operands[1].starts_with("SR")) return std::nullopt;
  return std::string_view(i.operands[1]);
}

}  // namespace

// The registers of a thread and what it does with them.
class RunningThread {
 public:
  // `whole`: instructions that decide nothing are carried out too.
  RunningThread(const ThreadMachine& machine, const std::array<std::uint32_t, 3>& block,
                const std::array<std::uint32_t, 3>& thread, const std::vector<std::uint32_t>& distance, bool whole)
      : machine_(machine),
        distance_(distance),
        whole_(whole),
        state_(machine.launch_, machine.pointers_, block, thread),
        begun_(machine.decoded_.size() + 1) {}

  ThreadRun run(std::int64_t most_instructions) {
    const std::size_t size = machine_.decoded_.size();
    std::size_t at = 0;
    for (std::int64_t left = most_instructions; at < size;) {
      const std::size_t next = whole_ ? at : machine_.needed_.next[at];
      const auto passed = static_cast<std::int64_t>(std::min(next + 1, size) - at);
      if (passed > left) {
        count(at, at + static_cast<std::size_t>(left));
        run_.stopped = "it runs very long";
        return ended();
      }
      left -= passed;
      count(at, at + static_cast<std::size_t>(passed));
      at = next < size ? step(next) : size;
      if (at == stop) return ended();
    }
    run_.stopped = "it runs past the end of the code";
    return ended();
  }

  // It left out instructions that may decide something after all.
  bool strayed() const { return strayed_; }

 private:
  static constexpr std::size_t stop = ~std::size_t{0};

  void count(std::size_t first, std::size_t end) { ++begun_[first], --begun_[end]; }

  ThreadRun ended() {
    run_.executed.resize(machine_.decoded_.size());
    std::int64_t times = 0;
    for (std::size_t i = 0; i < run_.executed.size(); ++i) run_.executed[i] = times += begun_[i];
    return std::move(run_);
  }

  // The instruction that follows; `stop` at the end.
  std::size_t step(std::size_t at) {
    const Instruction& i = machine_.section_.instructions[at];
    const Word runs = state_.guard(i);
    run_.varies |= runs.varies;
    const DecodedInstruction& decoded = machine_.decoded_[at];
    if (decoded.ends_block) return branch(at, runs);
    if (runs.known && runs.value == 0) return at + 1;
    if (decoded.recorded) notes_.record(at, !runs.known);
    if (!runs.known) state_.forget(i);
    else execute(at, i);
    return at + 1;
  }

  std::size_t branch(std::size_t at, const Word& runs) {
    const Instruction& i = machine_.section_.instructions[at];
    const DecodedInstruction& decoded = machine_.decoded_[at];
    const bool diverges = decoded.code.has(Modifier::divergent);
    Word taken = runs;
    if (diverges) taken = Word::of(0);
    if (decoded.opcode == TracedOpcode::branch && !diverges && !decoded.code.has(Modifier::converged))
      for (const DecodedOperand& operand : decoded.operands) {
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
    if (decoded.opcode == TracedOpcode::leave) return stop;
    if (decoded.opcode == TracedOpcode::converge) return at + 1;
    if (decoded.opcode == TracedOpcode::come_back) return returned(at);
    if (decoded.opcode == TracedOpcode::call && i.targets.size() == 1 && computes_floats(i.targets.front()))
      return behind_call(at);
    if (i.targets.size() == 1) return static_cast<std::size_t>(i.targets.front() / instruction_bytes);
    run_.stopped = "it goes where " + i.text() + " leads";
    return stop;
  }

  bool leads_nearer(std::size_t at, const Instruction& i) const {
    if (machine_.decoded_[at].opcode != TracedOpcode::branch || i.targets.size() != 1 || at + 1 >= distance_.size())
      return false;
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
      if (machine_.decoded_[k].opcode == TracedOpcode::come_back) break;
    }
    return at + 1;
  }

  std::size_t returned(std::size_t at) {
    for (const DecodedOperand& operand : machine_.decoded_[at].operands)
      if (operand.kind == Kind::general)
        if (const Word address = state_.reg(Kind::general, operand.index);
            address.known && address.varies == 0 &&
            address.value / instruction_bytes < machine_.section_.instructions.size()) {
          const std::size_t place = address.value / instruction_bytes;
          strayed_ = strayed_ || (!whole_ && !machine_.needed_.behind_call[place]);
          return place;
        }
    run_.stopped = "it returns to an unknown place";
    return stop;
  }

  void execute(std::size_t at, const Instruction& i) {
    const DecodedInstruction& decoded = machine_.decoded_[at];
    switch (decoded.action) {
      case Action::none:
        return;
      case Action::forget:
        return state_.forget(i);
      case Action::special:
        return read_special(i, decoded);
      case Action::constant:
        return load_constant(i, decoded);
      case Action::load:
        return load(at, i, decoded);
      case Action::store:
        return store(decoded);
      case Action::agree:
        return agree(i, decoded);
      case Action::predicates:
        run_.varies |= state_.move_predicates(i, decoded);
        return;
      case Action::shuffle:
        return shuffle(i, decoded);
      case Action::compute:
        return compute(i, decoded);
    }
  }

  void read_special(const Instruction& i, const DecodedInstruction& decoded) {
    state_.forget(i);
    const auto name = special_name(i);
    if (!name) return;
    const DecodedOperand& to = decoded.operands[0];
    const bool pair = decoded.opcode == TracedOpcode::clock && !decoded.code.has(Modifier::bits_32);
    for (int k = 0; k < (pair ? 2 : 1); ++k) state_.set(to.kind, to.index, k, state_.special(*name));
  }

  void load_constant(const Instruction& i, const DecodedInstruction& decoded) {
    const auto& operands = decoded.operands;
    const bool constant = operands.size() >= 2 && operands[1].kind == Kind::constant;
    const Word offset = constant ? state_.near_address(operands[1]) : Word{};
    state_.forget(i);
    if (!offset.known) return;
    for (std::uint32_t k = 0; k < decoded.words; ++k) {
      Word word = state_.constant(operands[1].bank, (offset.value & ~3U) + 4 * k);
      if (decoded.narrow) {
        const bool byte = decoded.code.has(Modifier::unsigned_8) || decoded.code.has(Modifier::signed_8);
        word.value = word.value >> (8 * (offset.value & 3)) & (byte ? 0xff : 0xffff);
        word.origin = 0;
      }
      word.varies |= offset.varies;
      state_.set(operands[0].kind, operands[0].index, static_cast<int>(k), word);
    }
  }

  std::map<std::uint32_t, Word>& memory_of(const DecodedInstruction& decoded) {
    return decoded.local ? local_ : shared_;
  }

  void load(std::size_t at, const Instruction& i, const DecodedInstruction& decoded) {
    const auto& operands = decoded.operands;
    // Before the registers are written: one of them may be the address.
    const Word address = operands.size() < 2 ? Word{} : state_.near_address(operands[1]);
    state_.forget(i);
    for (int k = 0; k < decoded.words; ++k)
      state_.set(operands[0].kind, operands[0].index, k, Word{.loaded = !machine_.float_loads_[at]});
    if (operands.size() < 2 || decoded.narrow) return;
    run_.varies |= address.varies;
    if (!address.known) return;
    const auto& memory = memory_of(decoded);
    for (std::uint32_t k = 0; k < decoded.words; ++k)
      if (const auto found = memory.find(address.value + 4 * k); found != memory.end())
        state_.set(operands[0].kind, operands[0].index, static_cast<int>(k), found->second);
  }

  void store(const DecodedInstruction& decoded) {
    const auto& operands = decoded.operands;
    if (operands.size() < 2) return;
    const Word address = state_.near_address(operands[0]);
    run_.varies |= address.varies;
    if (!address.known) return;
    for (std::uint32_t k = 0; k < decoded.words; ++k)
      memory_of(decoded)[address.value + 4 * k] =
          decoded.narrow ? Word{} : state_.reg(operands[1].kind, operands[1].index, static_cast<int>(k));
  }

  // Waits that have ended, the elected lane, votes of a warp whose lanes agree.
  void agree(const Instruction& i, const DecodedInstruction& decoded) {
    const auto& operands = decoded.operands;
    const bool votes = decoded.opcode == TracedOpcode::vote;
    Word answer = votes ? state_.source(operands.back()).low : Word::of(1);
    state_.forget(i);
    if (decoded.opcode == TracedOpcode::elect) answer = Word::of(state_.lane() == 0 ? 1 : 0);
    if (decoded.opcode == TracedOpcode::barrier && !decoded.code.has(Modifier::waits)) return;
    for (std::size_t k = 0; k < std::max<std::size_t>(1, decoded.results) && k < operands.size(); ++k) {
      const bool predicate = operands[k].kind == Kind::predicate || operands[k].kind == Kind::uniform_predicate;
      if (predicate) state_.set(operands[k].kind, operands[k].index, 0, answer);
      else if (votes)
        state_.set(operands[k].kind, operands[k].index, 0,
                   {.value = answer.value != 0 ? ~0U : 0U, .known = answer.known, .varies = answer.varies});
    }
  }

  void shuffle(const Instruction& i, const DecodedInstruction& decoded) {
    const auto& operands = decoded.operands;
    Word value, from;
    if (decoded.code.has(Modifier::by_index) && operands.size() > 3)
      value = state_.source(operands[2]).low, from = state_.source(operands[3]).low;
    state_.forget(i);
    if (operands.size() < 2) return;
    const bool own = from.known && from.value == state_.lane();
    run_.varies |= from.varies;
    state_.set(operands[1].kind, operands[1].index, 0,
               own ? value : Word{.loaded = value.loaded, .varies = value.varies});
  }

  void compute(const Instruction& i, const DecodedInstruction& decoded) {
    const std::vector<DecodedOperand>& operands = decoded.operands;
    std::size_t count = 0;
    for (std::size_t k = decoded.results; k < operands.size() && count < sources_.size(); ++k)
      sources_[count++] = state_.source(operands[k]);
    const std::span<const IntegerSource> sources{sources_.data(), count};
    IntegerResult result = integer_result(decoded.code, sources);
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
  const bool whole_;
  bool strayed_ = false;
  ThreadState state_;
  std::vector<std::int64_t>
      begun_;  // by instruction: how often it begins a run of instructions less how often it ends one
  std::array<IntegerSource, 8> sources_{};  // of the instruction at work
  std::map<std::uint32_t, Word> local_, shared_;
  ThreadRun run_;
  AccessNotes notes_{machine_.section_, machine_.decoded_, state_, run_};
};

ThreadRun ThreadMachine::run(const std::array<std::uint32_t, 3>& block, const std::array<std::uint32_t, 3>& thread,
                             std::int64_t most_instructions, const std::vector<std::uint32_t>& distance) const {
  RunningThread running(*this, block, thread, distance, whole_);
  ThreadRun run = running.run(most_instructions);
  if (!running.strayed()) return run;
  return RunningThread(*this, block, thread, distance, true).run(most_instructions);
}

}  // namespace tilescope
