#include "kernel/code/summary/dependencies.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tilescope {
namespace {

using OneRegister = std::pair<RegisterFile, int>;
using Producers = std::vector<std::size_t>;  // instructions, ascending

struct Access {
  std::size_t instruction = 0;
  bool reads = false, writes = false;
};

// By register: the instructions that read or write it, in the order of the section.
std::map<OneRegister, std::vector<Access>> accesses_of(const CodeSection& section) {
  std::map<OneRegister, std::vector<Access>> accesses;
  const auto entry = [&](const RegisterSpan& span, int i, std::size_t instruction) -> Access& {
    std::vector<Access>& list = accesses[{span.file, span.first + i}];
    if (list.empty() || list.back().instruction != instruction) list.push_back({.instruction = instruction});
    return list.back();
  };
  for (std::size_t at = 0; at < section.instructions.size(); ++at) {
    for (const RegisterSpan& span : section.instructions[at].reads)
      for (int i = 0; i < span.count; ++i) entry(span, i, at).reads = true;
    for (const RegisterSpan& span : section.instructions[at].writes)
      for (int i = 0; i < span.count; ++i) entry(span, i, at).writes = true;
  }
  return accesses;
}

void write(Producers& producers, std::size_t instruction, const CodeSection& section) {
  const Guard::Kind guard = section.instructions[instruction].guard.kind;
  if (guard == Guard::Kind::never) return;
  if (guard == Guard::Kind::always) producers.clear();
  const auto place = std::lower_bound(producers.begin(), producers.end(), instruction);
  if (place == producers.end() || *place != instruction) producers.insert(place, instruction);
}

// Producers of one register at the start of each block.
class ReachingProducers {
 public:
  ReachingProducers(const CodeSection& section, const FlowGraph& flow, const std::vector<Access>& accesses)
      : section_(section), flow_(flow), by_block_(flow.blocks.size()), starts_(flow.blocks.size()) {
    for (const Access& access : accesses) by_block_[flow.block_of[access.instruction]].push_back(&access);
    std::vector<std::size_t> waiting;
    for (std::size_t block = 0; block < by_block_.size(); ++block)
      if (std::any_of(by_block_[block].begin(), by_block_[block].end(), [](const Access* a) { return a->writes; }))
        waiting.push_back(block);
    while (!waiting.empty()) {
      const std::size_t block = waiting.back();
      waiting.pop_back();
      const Producers end = at_end(block);
      for (const std::size_t next : flow.graph.successors[block]) {
        Producers both;
        std::set_union(starts_[next].begin(), starts_[next].end(), end.begin(), end.end(), std::back_inserter(both));
        if (both.size() == starts_[next].size()) continue;
        starts_[next] = std::move(both);
        waiting.push_back(next);
      }
    }
  }

  // Calls use(reader, producers) for each instruction of the block that reads the register.
  template <class Use>
  void for_each_read(std::size_t block, Use use) const {
    Producers producers = starts_[block];
    for (const Access* access : by_block_[block]) {
      if (access->reads) use(access->instruction, producers);
      if (access->writes) write(producers, access->instruction, section_);
    }
  }

 private:
  Producers at_end(std::size_t block) const {
    Producers producers = starts_[block];
    for (const Access* access : by_block_[block])
      if (access->writes) write(producers, access->instruction, section_);
    return producers;
  }

  const CodeSection& section_;
  const FlowGraph& flow_;
  std::vector<std::vector<const Access*>> by_block_;
  std::vector<Producers> starts_;
};

// Joins a register to the last span if it follows it.
void add(std::vector<Dependency>& list, std::size_t producer, const OneRegister& name) {
  for (Dependency& known : list)
    if (known.producer == producer && known.registers.file == name.first &&
        known.registers.first + known.registers.count == name.second) {
      ++known.registers.count;
      return;
    }
  list.push_back({.producer = producer, .registers = {name.first, name.second, 1}});
}

}  // namespace

std::vector<std::vector<Dependency>> dependencies_of(const CodeSection& section, const FlowGraph& flow) {
  std::vector<std::vector<Dependency>> found(section.instructions.size());
  for (const auto& [name, accesses] : accesses_of(section)) {
    const ReachingProducers reaching(section, flow, accesses);
    for (std::size_t block = 0; block < flow.blocks.size(); ++block)
      reaching.for_each_read(block, [&, &name = name](std::size_t reader, const Producers& producers) {
        for (const std::size_t producer : producers) add(found[reader], producer, name);
      });
  }
  for (std::vector<Dependency>& list : found)
    std::stable_sort(list.begin(), list.end(),
                     [](const Dependency& a, const Dependency& b) { return a.producer < b.producer; });
  return found;
}

}  // namespace tilescope
