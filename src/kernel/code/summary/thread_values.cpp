#include "kernel/code/summary/thread_values.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "kernel/code/summary/thread_arithmetic.h"

namespace tilescope {
namespace {

using RegisterName = std::pair<RegisterFile, int>;
using Values = std::map<RegisterName, ThreadValue>;  // registers whose value is known

// Keeps what both know alike. Returns whether `into` lost something.
bool join(Values& into, const Values& more) {
  return std::erase_if(into, [&](const auto& entry) {
           const auto other = more.find(entry.first);
           return other == more.end() || other->second != entry.second;
         }) > 0;
}

std::optional<ThreadValue> guard_value(const Guard& guard, const Values& values) {
  if (guard.kind != Guard::Kind::predicate) return uniform_value(guard.kind == Guard::Kind::always ? 1 : 0);
  const auto found = values.find({guard.predicate.file, guard.predicate.first});
  if (found == values.end()) return std::nullopt;
  ThreadValue value = found->second;
  if (guard.negated)
    for (std::uint32_t& lane : value) lane = lane == 0 ? 1 : 0;
  return value;
}

void step(const Instruction& instruction, Values& values) {
  const auto known = [&](const RegisterSpan& span) -> std::optional<ThreadValue> {
    const auto found = values.find({span.file, span.first});
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  const std::optional<ThreadValue> guard = guard_value(instruction.guard, values);
  std::vector<ThreadResult> results;
  if (guard) results = thread_results(instruction, known);
  std::erase_if(results, [&](ThreadResult& result) {  // where the guard is false, the old value stays
    const auto old = values.find({result.target.file, result.target.first});
    for (std::size_t lane = 0; lane < result.value.size(); ++lane) {
      if ((*guard)[lane] != 0) continue;
      if (old == values.end()) return true;
      result.value[lane] = old->second[lane];
    }
    return false;
  });
  for (const RegisterSpan& span : instruction.writes)
    for (int i = 0; i < span.count; ++i) values.erase({span.file, span.first + i});
  for (const ThreadResult& result : results) values[{result.target.file, result.target.first}] = result.value;
}

WarpChoice choice_of(const Instruction& last, const Values& values) {
  WarpChoice choice;
  const Transfer transfer = transfer_of(last);
  // What a branch reads besides its guard is not followed.
  const bool other = last.reads.size() > (last.guard.kind == Guard::Kind::predicate ? 1u : 0u);
  const std::optional<ThreadValue> guard = guard_value(last.guard, values);
  for (int warp = 0; warp < most_warps; ++warp) {
    choice.jumps[warp] = transfer.jumps, choice.goes_on[warp] = transfer.falls_through;
    if (!guard || other || !transfer.ends_block || last.guard.kind != Guard::Kind::predicate) continue;
    const auto first = guard->begin() + warp * threads_followed;
    const bool any = std::any_of(first, first + threads_followed, [](std::uint32_t lane) { return lane != 0; });
    const bool all = std::all_of(first, first + threads_followed, [](std::uint32_t lane) { return lane != 0; });
    choice.jumps[warp] = transfer.jumps && any, choice.goes_on[warp] = transfer.falls_through && !all;
  }
  return choice;
}

}  // namespace

std::vector<WarpChoice> warp_choices(const CodeSection& section, const FlowGraph& flow) {
  std::vector<std::optional<Values>> entries(flow.blocks.size());
  std::vector<WarpChoice> choices(flow.blocks.size());
  std::deque<std::size_t> waiting;
  for (const std::size_t root : flow.graph.roots) entries[root].emplace(), waiting.push_back(root);
  while (!waiting.empty()) {
    const std::size_t block = waiting.front();
    waiting.pop_front();
    Values values = *entries[block];
    const BasicBlock& range = flow.blocks[block];
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (i + 1 == range.end) choices[block] = choice_of(section.instructions[i], values);
      step(section.instructions[i], values);
    }
    for (const std::size_t next : flow.graph.successors[block]) {
      const bool first = !entries[next].has_value();
      if (first) entries[next] = values;
      if ((first || join(*entries[next], values)) && std::count(waiting.begin(), waiting.end(), next) == 0)
        waiting.push_back(next);
    }
  }
  return choices;
}

}  // namespace tilescope
