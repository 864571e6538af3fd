#include "cli/output/code/code_json.h"

#include <algorithm>
#include <set>

#include "cli/output/code/code_columns.h"
#include "kernel/code/summary/dependencies.h"

namespace tilescope::cli {
namespace {

Json matrix_json(const CodeCounts& counts) {
  Json list = Json::array();
  for (const auto& [form, count] : counts.matrix)
    list.push_back({{"opcode", form.opcode},
                    {"m", form.m},
                    {"n", form.n},
                    {"k", form.k},
                    {"type_a", form.type_a},
                    {"type_b", form.type_b},
                    {"type_result", form.result},
                    {"threads", form.threads},
                    {"a_from", form.a_from_shared ? "shared" : "register"},
                    {"b_from", form.b_from_shared ? "shared" : "register"},
                    {"sparse", form.sparse},
                    {"shared_bytes", form.shared_bytes()},
                    {"flop", form.flop()},
                    {"count", count}});
  return list;
}

Json memory_json(const CodeCounts& counts) {
  Json list = Json::array();
  for (const auto& [form, count] : counts.memory)
    list.push_back({{"kind", to_string(form.kind)},
                    {"memory", to_string(form.memory)},
                    {"opcode", form.opcode},
                    {"thread_bytes", form.thread_bytes > 0 ? Json(form.thread_bytes) : Json()},
                    {"count", count.instructions},
                    {"guarded", count.guarded},
                    {"alternative", count.alternative}});
  return list;
}

Json waits_json(const CodeCounts& counts) {
  Json list = Json::array();
  for (const auto& [wait, count] : counts.waits)
    list.push_back({{"opcode", wait.first}, {"groups_left", wait.second}, {"count", count}});
  return list;
}

Json counts_json(const CodeCounts& counts, bool opcodes) {
  Json kinds = Json::object(), special = Json::object();
  for (const auto& [kind, count] : counts.kinds) kinds[to_string(kind)] = count;
  for (const auto& [name, count] : counts.special) special[name] = count;
  Json object{{"instructions", counts.instructions}, {"kinds", std::move(kinds)},
              {"tensor_flop", counts.tensor_flop()}, {"matrix", matrix_json(counts)},
              {"special", std::move(special)},       {"memory", memory_json(counts)},
              {"waits", waits_json(counts)}};
  if (opcodes) object["opcodes"] = counts.opcodes;
  return object;
}

Json roles_json(const CodeSummary& code) {
  Json list = Json::array();
  for (const CodeRole& role : code.roles)
    list.push_back({{"warps", role.warps},
                    {"registers", role.registers ? Json(*role.registers) : Json()},
                    {"loops", role.loops},
                    {"own", counts_json(role.own, true)},
                    {"shared", counts_json(role.shared, false)}});
  return list;
}

Json loops_json(const CodeSummary& code) {
  Json list = Json::array();
  for (const CodeLoop& loop : code.loops)
    list.push_back({{"header", shown_address(loop.header)},
                    {"parent", loop.parent ? Json(*loop.parent) : Json()},
                    {"depth", loop.depth},
                    {"blocks", loop.blocks},
                    {"main_path", loop.main_path},
                    {"roles", loop.roles},
                    {"waits", loop.waits},
                    {"calls", calls_in(loop)},
                    {"always", counts_json(loop.always, true)},
                    {"sometimes", counts_json(loop.sometimes, true)}});
  return list;
}

Json blocks_json(const CodeSummary& code) {
  Json list = Json::array();
  for (const CodeBlock& block : code.blocks)
    list.push_back({{"first", shown_address(block.first)},
                    {"last", shown_address(block.last)},
                    {"successors", block.successors},
                    {"loop", block.loop ? Json(*block.loop) : Json()},
                    {"roles", block.roles},
                    {"reached", block.reached},
                    {"counts", counts_json(block.counts, true)}});
  return list;
}

Json spans_json(const std::vector<RegisterSpan>& spans) {
  Json list = Json::array();
  for (const RegisterSpan& span : spans) list.push_back(to_string(span));
  return list;
}

Json instructions_json(const CodeSummary& code) {
  const auto scoreboard = [](int number) { return number == IssueControl::no_scoreboard ? Json() : Json(number); };
  const auto dependencies = dependencies_of(code.section, flow_graph(code.section));
  Json list = Json::array();
  for (std::size_t at = 0; at < code.section.instructions.size(); ++at) {
    const Instruction& instruction = code.section.instructions[at];
    Json producers = Json::array();
    for (const Dependency& each : dependencies[at])
      producers.push_back({{"address", shown_address(code.section.instructions[each.producer].address)},
                           {"registers", to_string(each.registers)}});
    Json waits = Json::array();
    for (int board = 0; board < IssueControl::no_scoreboard - 1; ++board)
      if (instruction.control.wait_mask >> board & 1) waits.push_back(board);
    list.push_back({{"address", shown_address(instruction.address)},
                    {"text", instruction.text()},
                    {"kind", to_string(opcode_row(instruction.opcode).kind)},
                    {"reads", spans_json(instruction.reads)},
                    {"writes", spans_json(instruction.writes)},
                    {"depends_on", std::move(producers)},
                    {"stall", instruction.control.stall},
                    {"yield", instruction.control.yield},
                    {"result_scoreboard", scoreboard(instruction.control.result_scoreboard)},
                    {"operand_scoreboard", scoreboard(instruction.control.operand_scoreboard)},
                    {"waits_for", std::move(waits)}});
  }
  return list;
}

}  // namespace

Json code_json(const CodeSummary& code, bool instructions) {
  std::set<std::string> unknown;
  for (const Instruction& instruction : code.section.instructions)
    if (opcode_row(instruction.opcode).kind == InstructionKind::unknown) unknown.insert(instruction.opcode);
  Json irreducible = Json::array(), functions = Json::array();
  for (const auto& [from, to] : code.irreducible)
    irreducible.push_back({{"from", shown_address(from)}, {"to", shown_address(to)}});
  for (const auto& [address, name] : code.section.functions)
    functions.push_back({{"name", name}, {"address", shown_address(address)}});
  Json object{{"counts", counts_json(code.counts, true)},
              {"unknown_opcodes", unknown},
              {"warps", code.warps},
              {"roles", roles_json(code)},
              {"loops", loops_json(code)},
              {"blocks", blocks_json(code)},
              {"functions", std::move(functions)},
              {"irreducible", std::move(irreducible)},
              {"unknown_targets", code.unknown_targets}};
  if (instructions) object["instruction_list"] = instructions_json(code);
  return object;
}

Json bounds_json(const CodeSummary& code, const KernelBounds& bounds, bool instructions) {
  const std::vector<Instruction>& list = code.section.instructions;
  Json loops = Json::array();
  for (const LoopBound& bound : bounds.loops) {
    Json pipes = Json::object(), timed = Json::array();
    for (const auto& [pipe, clocks] : bound.pipes) pipes[to_string(pipe)] = clocks;
    for (const TimedInstruction& each : bound.instructions)
      timed.push_back({{"address", shown_address(list[each.instruction].address)},
                       {"pipe", each.pipe ? Json(to_string(*each.pipe)) : Json()},
                       {"pipe_clocks", each.pipe_clocks},
                       {"issued", each.issued},
                       {"waited", each.waited},
                       {"reason", each.reason},
                       {"waits_for", each.waits_for ? Json(shown_address(list[*each.waits_for].address)) : Json()}});
    loops.push_back({{"loop", bound.loop},
                     {"issue", bound.issue},
                     {"banks", bound.banks},
                     {"pipes", std::move(pipes)},
                     {"alone", bound.alone},
                     {"busiest", bound.busiest},
                     {"warps_to_hide", bound.warps_to_hide}});
    if (instructions) loops.back()["instruction_list"] = std::move(timed);
  }
  return {{"hardware", bounds.hardware}, {"missing", bounds.missing}, {"loops", std::move(loops)}};
}

}  // namespace tilescope::cli
