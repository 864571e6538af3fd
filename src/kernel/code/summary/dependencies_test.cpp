#include "kernel/code/summary/dependencies.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "kernel/code/testdata/test_kernels.h"

namespace dependencies_test {

using namespace tilescope;

namespace {

using OneRegister = std::pair<RegisterFile, int>;

// Whether the code can go from behind `producer` to `reader` without another unconditional write of the register.
bool may_reach(const CodeSection& section, const FlowGraph& flow, std::size_t producer, std::size_t reader,
               const OneRegister& name) {
  std::vector<bool> seen(section.instructions.size(), false);
  std::vector<std::size_t> waiting;
  const auto follow = [&](std::size_t at) {
    const std::size_t block = flow.block_of[at];
    if (at + 1 < flow.blocks[block].end) return waiting.push_back(at + 1);
    for (const std::size_t next : flow.graph.successors[block]) waiting.push_back(flow.blocks[next].first);
  };
  follow(producer);
  while (!waiting.empty()) {
    const std::size_t at = waiting.back();
    waiting.pop_back();
    if (at == reader) return true;
    if (seen[at]) continue;
    seen[at] = true;
    const Instruction& instruction = section.instructions[at];
    const bool overwrites =
        std::any_of(instruction.writes.begin(), instruction.writes.end(), [&](const RegisterSpan& span) {
          return span.file == name.first && span.first <= name.second && name.second < span.first + span.count;
        });
    if (!overwrites || instruction.guard.kind != Guard::Kind::always) follow(at);
  }
  return false;
}

}  // namespace

TEST_CASE("dependencies are those that a walk over all ways finds") {
  const CodeSummary code = test_summary("split_kv");
  const FlowGraph flow = flow_graph(code.section);
  const auto dependencies = dependencies_of(code.section, flow);
  std::map<OneRegister, std::vector<std::size_t>> writers;
  for (std::size_t at = 0; at < code.section.instructions.size(); ++at)
    for (const RegisterSpan& span : code.section.instructions[at].writes)
      for (int i = 0; i < span.count; ++i)
        if (code.section.instructions[at].guard.kind != Guard::Kind::never)
          writers[{span.file, span.first + i}].push_back(at);
  std::int64_t found = 0;
  for (std::size_t reader = 0; reader < code.section.instructions.size(); reader += 7)
    for (const RegisterSpan& span : code.section.instructions[reader].reads)
      for (int i = 0; i < span.count; ++i)
        for (const std::size_t producer : writers[{span.file, span.first + i}]) {
          const bool listed =
              std::any_of(dependencies[reader].begin(), dependencies[reader].end(), [&](const Dependency& each) {
                const RegisterSpan& by = each.registers;
                return each.producer == producer && by.file == span.file && by.first <= span.first + i &&
                       span.first + i < by.first + by.count;
              });
          CHECK(listed == may_reach(code.section, flow, producer, reader, {span.file, span.first + i}));
          found += listed;
        }
  CHECK(found > 200);
}

// The compiler schedules by the registers and scoreboards of the encoding, so this checks both against each other: a
// wrong width, a missed operand or a wrong field would leave a read without a wait.
TEST_CASE("within a block no register is read before the scoreboard of its result is waited for") {
  std::int64_t checked = 0;
  for (const std::string& kernel : test_kernels) {
    const CodeSummary code = test_summary(kernel);
    for (const CodeBlock& block : code.blocks) {
      std::map<OneRegister, int> pending;  // scoreboard of a result on its way
      for (std::size_t at = block.begin; at < block.end; ++at) {
        const Instruction& instruction = code.section.instructions[at];
        std::erase_if(pending, [&](const auto& entry) { return instruction.control.wait_mask >> entry.second & 1; });
        for (const RegisterSpan& span : instruction.reads)
          for (int i = 0; i < span.count; ++i, ++checked)
            CHECK_MESSAGE(pending.count({span.file, span.first + i}) == 0, instruction.text());
        for (const RegisterSpan& span : instruction.writes)
          for (int i = 0; i < span.count; ++i) {
            pending.erase({span.file, span.first + i});
            if (instruction.control.result_scoreboard != IssueControl::no_scoreboard)
              pending[{span.file, span.first + i}] = instruction.control.result_scoreboard;
          }
      }
    }
  }
  CHECK(checked > 10'000);
}

}  // namespace dependencies_test
