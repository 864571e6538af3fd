#include "simulate/step_programs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "kernel/code/sass/kinds.h"
#include "simulate/roles.h"
#include "simulate/sm/sm.h"
#include "simulate/step_text.h"
#include "simulate/unpack_steps.h"

namespace tilescope {
namespace {

// A number for all that a simulation reads of a GPU.
class Fingerprint {
 public:
  void add(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash_ = (hash_ ^ bits) * 1099511628211ULL;
  }
  template <class Number>
  void add(const std::optional<Sourced<Number>>& value) {
    add(value ? static_cast<double>(value->value) : -1.0);
  }
  void add(const Sourced<double>& value) { add(value.value); }
  template <class Key, class Value>
  void add(const std::map<Key, Value>& values) {
    for (const auto& [key, value] : values) add(static_cast<double>(static_cast<std::int64_t>(key))), add(value);
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 1469598103934665603ULL;
};

std::uint64_t fingerprint(const HardwareProfile& hardware) {
  Fingerprint all;
  all.add(hardware.schedulers_per_unit), all.add(hardware.warp_size), all.add(hardware.boost_hz);
  visit_measured(*hardware.measured, [&](const auto&, const auto&, const auto&, const auto& field) { all.add(field); });
  return all.value();
}

SmLimits limits_of(const SmMachine& machine, const StepQuestion& question) {
  SmLimits limits = machine.limits();
  limits.local_missed = question.local_missed / 100.0;
  return limits;
}

// Whether threads load from global memory to registers, but for constant data.
bool has_loads(const StepProgram& program, const std::vector<StepLine>& lines) {
  return std::any_of(lines.begin(), lines.end(), [&](const StepLine& line) {
    const Instruction& kind = program.kinds[line.kind];
    const OpcodeRow& row = opcode_row(kind.opcode);
    return row.kind == InstructionKind::load && row.memory == CodeMemory::global && !kind.has("CONSTANT");
  });
}

// `end` without the time of its stores: how many rows a block stores is known from counts, not from code.
void leave_at_once(const StepProgram& program, std::vector<SmOperation>& end) {
  for (std::size_t i = 0; i < end.size(); ++i) {
    const OpcodeRow& row = opcode_row(program.kinds[program.end[i].kind].opcode);
    if (row.kind == InstructionKind::store && row.memory == CodeMemory::global)
      end[i].part = SmPart::none, end[i].leaves = 0;
  }
}

void shorten(Ticks& each) { each = std::llround(static_cast<double>(each) / sm_faster_by); }

// Latencies are those of operations' results, of copies and of barriers.
void make_faster(SmFaster what, SmLimits& limits) {
  if (what != SmFaster::latency) return;
  for (Ticks* each : {&limits.barrier_latency, &limits.phase_latency, &limits.phase_release, &limits.copy_latency,
                      &limits.copies_later, &limits.loads_later})
    shorten(*each);
}

void make_faster(SmFaster what, std::vector<SmOperation>& code) {
  const auto part = what == SmFaster::tensor ? SmPart::tensor
                    : what == SmFaster::xu   ? SmPart::xu
                    : what == SmFaster::fma  ? SmPart::fma
                    : what == SmFaster::alu  ? SmPart::alu
                                             : SmPart::none;
  for (SmOperation& op : code) {
    if (part != SmPart::none && (op.part == part || (part == SmPart::fma && op.part == SmPart::imad)))
      for (Ticks* each : {&op.busy, &op.holds_product, &op.slower}) shorten(*each);
    if (what == SmFaster::shared) {
      shorten(op.shared), op.shared_part /= sm_faster_by;
      if (op.part == SmPart::memory) shorten(op.busy);
    }
    if (what == SmFaster::latency) shorten(op.latency), shorten(op.missed);
  }
}

// Asynchronous ones.
double products_of(const std::vector<SmOperation>& code) {
  return static_cast<double>(
      std::count_if(code.begin(), code.end(), [](const SmOperation& op) { return op.effect == SmEffect::product; }));
}

// The slower of two roles sets the pace, and both wait for each other then. What the faster one takes from the other is
// left out: see docs/model.md. `lines`: of the loop's code.
SmSteady at_the_slower_pace(const StepProgram& program, const std::vector<StepLine>& lines, SmProgram steps,
                            const SmLimits& limits, int resident, int event_passes, SmPasses counted,
                            const SmAlone* block_alone = nullptr) {
  const auto steady = [&](const SmProgram& each, int events) {
    return simulate_steady(each, limits, resident, events, counted);
  };
  if (steps.beside.code.empty()) return simulate_steady(steps, limits, resident, event_passes, counted, block_alone);
  SmSteady alone = steady({steps.code, steps.warps}, event_passes);
  if (steady(steps, clocks_alone).beside_clocks <= alone.clocks) return alone;
  connect_roles(lines, program.beside, steps);
  return steady(steps, event_passes);
}

// Lines before the first copy.
std::ptrdiff_t before_copies(const StepProgram& program) {
  const auto copies = [&](const StepLine& line) {
    return opcode_row(program.kinds[line.kind].opcode).kind == InstructionKind::async_copy;
  };
  return std::find_if(program.start.begin(), program.start.end(), copies) - program.start.begin();
}

}  // namespace

// A line "# SYMBOL", then its program.
void StepPrograms::read() const {
  is_read_ = true;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file_, ignored)) return;
  text_ = unpacked_steps(read_file(file_.string()), file_);
  for (std::size_t at = text_.starts_with("# ") ? 0 : text_.find("\n# "); at != text_.npos;) {
    const std::size_t start = text_.find('#', at) + 2, line = text_.find('\n', start),
                      next = line == text_.npos ? text_.npos : text_.find("\n# ", line);
    if (line == text_.npos) break;
    places_.emplace(text_.substr(start, line - start), std::pair(line + 1, std::min(next, text_.size())));
    at = next;
  }
}

const StepProgram* StepPrograms::find(const std::string& symbol) const {
  std::unique_lock lock(mutex_);
  if (!is_read_) read();
  if (const auto found = programs_.find(symbol); found != programs_.end()) return &found->second;
  std::string_view text;
  if (const auto added = added_.find(symbol); added != added_.end()) {
    text = added->second;
  } else {
    const auto all = std::pair(std::size_t{0}, text_.size());
    const auto place = only_ ? places_.emplace(symbol, all).first : places_.find(symbol);
    if (place == places_.end()) return nullptr;
    const auto [begin, end] = place->second;
    text = std::string_view(text_).substr(begin, end - begin);
  }
  lock.unlock();
  StepProgram program = step_text::read(text, file_, symbol);
  lock.lock();
  return &programs_.try_emplace(symbol, std::move(program)).first->second;
}

bool StepPrograms::has(const std::string& symbol) const { return find(symbol) != nullptr; }

void StepPrograms::add(const std::string& symbol, std::string program) const {
  const std::lock_guard lock(mutex_);
  added_.try_emplace(symbol, std::move(program));
}

const SmMachine& StepPrograms::machine(std::uint64_t gpu, CopySource source, const HardwareProfile& hardware) const {
  const std::lock_guard lock(mutex_);
  return machines_.try_emplace({gpu, source}, hardware, source).first->second;
}

const StepPrograms::Operations& StepPrograms::operations(std::uint64_t gpu, const SmMachine& machine,
                                                         const StepProgram& program, const std::vector<StepLine>& lines,
                                                         int warps) const {
  const std::tuple key{gpu, &lines, warps};
  std::unique_lock lock(mutex_);
  if (const auto known = operations_.find(key); known != operations_.end()) return known->second;
  lock.unlock();
  Operations list = step_text::operations(machine, program, lines, warps);
  lock.lock();
  return operations_.try_emplace(key, std::move(list)).first->second;
}

void StepPrograms::learn(const Key& key, double clocks) const {
  const std::lock_guard lock(mutex_);
  std::optional<SmAlone>& known = known_[key].found;
  if (!known) known = SmAlone{clocks};
}

double StepPrograms::answer(const StepQuestion& question, Asked asked, const HardwareProfile& hardware) const {
  if (!hardware.measured) return 0;
  const std::uint64_t gpu = fingerprint(hardware);
  const StepProgram* program = find(question.symbol);
  if (!program || program->step.empty()) return 0;
  if (asked == Asked::masked && program->masked.empty()) asked = Asked::step;
  if (asked >= Asked::around && program->start.empty()) return 0;
  std::unique_lock lock(mutex_);
  Answer& own = known_[key_of(question, asked, gpu, question.copies_from)];
  if (own.found) return own.found->clocks;
  lock.unlock();
  const std::lock_guard at_work(own.at_work);
  lock.lock();
  if (own.found) return own.found->clocks;
  lock.unlock();
  const SmAlone found = simulated(*program, question, asked, hardware, gpu);
  lock.lock();
  own.found = found;
  return found.clocks;
}

// A step of one block by itself, where several are resident; nothing for `few`, whose passes are other ones. Whether
// copies were later tells nothing of those from memory: what was learned of them does not say it.
std::optional<SmAlone> StepPrograms::alone(StepQuestion question, Asked asked, const HardwareProfile& hardware,
                                           std::uint64_t gpu) const {
  if (question.few || question.resident == 1) return std::nullopt;
  question.resident = 1;
  answer(question, asked, hardware);
  const std::lock_guard lock(mutex_);
  return known_[key_of(question, asked, gpu, question.copies_from)].found;
}

SmAlone StepPrograms::simulated(const StepProgram& program, const StepQuestion& question, Asked asked,
                                const HardwareProfile& hardware, std::uint64_t gpu) const {
  if (question.loads_from == CopySource::hbm && !has_loads(program, program.step)) {
    StepQuestion same = question;
    same.loads_from = CopySource::l2;
    return {answer(same, asked, hardware)};
  }
  const SmMachine& own = machine(gpu, question.copies_from, hardware);
  // Most steps take as long with copies from memory as with those from the L2: one simulation shows both.
  SmLimits limits = limits_of(own, question);
  const Ticks l2 = machine(gpu, CopySource::l2, hardware).limits().copy_latency,
              memory =
                  has_memory_latency(hardware) ? machine(gpu, CopySource::hbm, hardware).limits().copy_latency : l2;
  if (question.loads_from == CopySource::hbm) limits.loads_later = memory - l2;
  if (question.copies_from == CopySource::l2 && memory > l2) limits.copies_later = memory - l2;
  const auto of = [&](const std::vector<StepLine>& lines) {
    return operations(gpu, own, program, lines, question.warps);
  };
  const bool begins = asked == Asked::before || asked == Asked::around,
             ends = asked == Asked::after || asked == Asked::around;
  SmEnds around{begins ? of(program.start) : Operations{}, ends ? of(program.end) : Operations{}};
  if (ends) leave_at_once(program, around.end);
  const std::vector<StepLine>& lines = asked == Asked::masked ? program.masked : program.step;
  SmProgram steps{asked == Asked::before || asked == Asked::after ? Operations{SmOperation{}} : of(lines),
                  question.warps};
  if (!program.beside.empty() && (asked == Asked::step || asked == Asked::masked))
    steps.beside = {of(program.beside), program.beside_warps, program.beside_stages};
  if (question.faster != SmFaster::none) {
    make_faster(question.faster, limits);
    for (Operations* code : {&steps.code, &steps.beside.code}) make_faster(question.faster, *code);
  }
  const Key from_memory = key_of(question, asked, gpu, CopySource::hbm);
  if (asked == Asked::step || asked == Asked::masked) {
    const bool together = program.beside.empty() && warpgroups_of(steps) == Warpgroups::together;
    const std::optional<SmAlone> one = together ? alone(question, asked, hardware, gpu) : std::nullopt;
    const SmSteady steady =
        at_the_slower_pace(program, lines, std::move(steps), limits, question.resident, clocks_alone,
                           question.few ? SmPasses::few : SmPasses::mean, one ? &*one : nullptr);
    if (steady.as_later) learn(from_memory, steady.clocks);
    return {steady.clocks, steady.as_later};
  }
  if (asked == Asked::before) around.start.erase(around.start.begin() + before_copies(program), around.start.end());
  if (asked != Asked::around) return {simulate_blocks(steps, around, limits, question.resident, 1)};
  const int passes = question.stays ? 8 : 4;
  bool as_later = false;
  const double all = simulate_blocks(steps, around, limits, question.resident, passes,
                                     question.stays ? SmWhole::mean_warp : SmWhole::last_warp, &as_later);
  if (question.stays) {
    // Products before and after the loop are those of steps that compilers have moved out of it.
    const double moved = products_of(around.start) + products_of(around.end),
                 step = program.beside.empty() && warpgroups_of(steps) != Warpgroups::free
                            ? answer(question, Asked::step, hardware)  // known from the launch's steps
                            : simulate_steady(steps, limits, question.resident, clocks_alone, SmPasses::first).clocks;
    return {std::max(0.0, all - (passes + std::round(moved / products_of(steps.code))) * step)};
  }
  const auto beside = [&](double step) { return std::max(0.0, all - passes * step); };
  const double clocks = beside(answer(question, Asked::step, hardware));
  if (!as_later) return {clocks};
  std::unique_lock lock(mutex_);
  const auto later_step = known_.find(key_of(question, Asked::step, gpu, CopySource::hbm));
  std::optional<double> later;
  if (later_step != known_.end() && later_step->second.found) later = later_step->second.found->clocks;
  lock.unlock();
  if (later) learn(from_memory, beside(*later));
  return {clocks};
}

StepPrograms::Listed StepPrograms::listed(const StepQuestion& question, const HardwareProfile& hardware,
                                          int event_passes) const {
  const StepProgram* program = find(question.symbol);
  if (!program || program->step.empty())
    throw InputError(Diagnostic{.file = file_.string(), .message = "has no program of " + question.symbol});
  const SmMachine machine(hardware, question.copies_from);
  Listed listed;
  listed.code.section = {question.symbol, {}, {}};
  listed.code.loops.emplace_back();
  SimulatedLoop loop{.loop = 0, .warps = question.warps};
  SmProgram sm{.code = {}, .warps = question.warps};
  constexpr std::uint64_t bytes_of_instruction = 16;
  for (std::size_t i = 0; i < program->step.size(); ++i) {
    Instruction& instruction =
        listed.code.section.instructions.emplace_back(step_text::instruction_of(program->step[i]));
    instruction.address = i * bytes_of_instruction;
    loop.path.push_back(i);
  }
  sm.code = step_text::operations(machine, *program, program->step, question.warps);
  if (!program->beside.empty())
    sm.beside = {step_text::operations(machine, *program, program->beside, question.warps), program->beside_warps,
                 program->beside_stages};
  loop.steady = at_the_slower_pace(*program, program->step, std::move(sm), limits_of(machine, question),
                                   question.resident, event_passes, SmPasses::mean);
  listed.simulation = {.hardware = hardware.id,
                       .resident = question.resident,
                       .warps = question.warps,
                       .schedulers = machine.limits().schedulers,
                       .loops = {std::move(loop)},
                       .refused = {},
                       .missing = machine.missing()};
  return listed;
}

double StepPrograms::clocks(const StepQuestion& question, const HardwareProfile& hardware) const {
  return answer(question, question.masked ? Asked::masked : Asked::step, hardware);
}

double StepPrograms::before(const StepQuestion& question, const HardwareProfile& hardware) const {
  return answer(question, Asked::before, hardware);
}

double StepPrograms::after(const StepQuestion& question, const HardwareProfile& hardware) const {
  return answer(question, Asked::after, hardware);
}

double StepPrograms::around(const StepQuestion& question, const HardwareProfile& hardware) const {
  return answer(question, Asked::around, hardware);
}

}  // namespace tilescope
