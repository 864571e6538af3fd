#include "kernel/describe/facts.h"

#include <algorithm>
#include <set>

#include "kernel/describe/always.h"
#include "kernel/describe/followed.h"
#include "kernel/describe/step_program.h"
#include "kernel/describe/stores.h"

namespace tilescope {
namespace {

using K = InstructionKind;

constexpr std::int64_t most_block_threads = 1024;

std::int64_t opcode_count(const CodeCounts& counts, std::string_view name) {
  std::int64_t sum = 0;
  for (const auto& [mnemonic, count] : counts.opcodes)
    if (mnemonic == name || (mnemonic.starts_with(name) && mnemonic[name.size()] == '.')) sum += count;
  return sum;
}

// Instructions by pipe of compute capability 9.0. Of the kinds that run on the ALU pipe VIADD is an exception; R2UR, of
// another kind, runs there too. In a step of 24 Triton kernels on an H100, alu and conversion together are equal to the
// counter smsp__inst_executed_pipe_alu.
ThreadWork work_of(const CodeCounts& c) {
  const std::int64_t alu = c.of(K::integer) + c.of(K::logic) + c.of(K::compare) + c.of(K::select) + c.of(K::move) -
                           opcode_count(c, "VIADD") + opcode_count(c, "R2UR") + opcode_count(c, "CS2R") +
                           opcode_count(c, "VOTE") + opcode_count(c, "ELECT");
  const std::int64_t named = c.of(K::special) + opcode_count(c, "FFMA") + opcode_count(c, "FADD") +
                             opcode_count(c, "FMUL") + alu + c.of(K::conversion) + c.of(K::shuffle) + c.of(K::matrix);
  ThreadWork work{{"xu", c.of(K::special)},
                  {"ffma", opcode_count(c, "FFMA")},
                  {"fadd", opcode_count(c, "FADD")},
                  {"fmul", opcode_count(c, "FMUL")},
                  {"alu", alu},
                  {"conversion", c.of(K::conversion)},
                  {"shuffle", c.of(K::shuffle)},
                  {"others", c.instructions - named}};
  std::erase_if(work, [](const auto& entry) { return entry.second == 0; });
  return work;
}

// Where warps take turns, at what: which instructions stand between a wait for the turn and the arrival that hands it
// on. A turn may begin in one pass and end in the next one.
void add_turns(const std::vector<const Instruction*>& pass, AttentionFacts& facts) {
  std::int64_t products = 0, specials = 0, products_inside = 0, specials_inside = 0;
  bool inside = false;
  for (int round = 0; round < 2; ++round)
    for (const Instruction* i : pass) {
      if (i->opcode == "BAR" && i->has("SYNC") && !i->operands.empty() && i->operands.front() != "0x0") inside = true;
      if (i->opcode == "BAR" && i->has("ARV")) inside = false;
      const bool product = opcode_row(i->opcode).kind == K::matrix, special = i->opcode == "MUFU" && i->has("EX2");
      if (round == 0) continue;  // it tells whether the pass begins inside a turn
      products += product, specials += special;
      products_inside += product && inside, specials_inside += special && inside;
    }
  facts.score_turns = specials > 0 && 2 * specials_inside > specials;
  facts.product_turns = !facts.score_turns || 2 * products_inside > products;
}

SpilledBytes spilled(const CodeCounts& counts) {
  return {counts.thread_bytes(K::store, CodeMemory::local), counts.thread_bytes(K::load, CodeMemory::local)};
}

// A warp waits where an instruction reads a register that a load from local memory has yet to write; loads complete in
// order, so one wait is for all that were issued before.
std::int64_t waits_for_spills(const std::vector<const Instruction*>& code) {
  std::int64_t waits = 0;
  std::set<int> outstanding;
  for (const Instruction* instruction : code) {
    const bool waits_here =
        std::any_of(instruction->reads.begin(), instruction->reads.end(), [&](const RegisterSpan& span) {
          for (int i = 0; i < span.count; ++i)
            if (span.file == RegisterFile::general && outstanding.contains(span.first + i)) return true;
          return false;
        });
    if (waits_here) ++waits, outstanding.clear();
    if (instruction->opcode != "LDL") continue;
    for (const RegisterSpan& span : instruction->writes)
      for (int i = 0; i < span.count; ++i) outstanding.insert(span.first + i);
  }
  return waits;
}

// Bytes that a thread copies to shared memory from the begin of a block to the end of the pass, on the way that copies
// most. `known` has the blocks of the loop that were asked for; one that is under way is not gone through again.
std::int64_t copied_from(const CodeSummary& code, std::size_t loop, std::size_t block,
                         std::map<std::size_t, std::int64_t>& known) {
  const auto [answer, is_new] = known.try_emplace(block, 0);
  if (!is_new) return answer->second;
  std::int64_t rest = 0;
  for (const std::size_t next : code.blocks[block].successors)
    if (stands_in(code, code.blocks[next], loop) && code.blocks[next].first != code.loops[loop].header)
      rest = std::max(rest, copied_from(code, loop, next, known));
  return known[block] = rest + code.blocks[block].counts.thread_bytes(K::async_copy, CodeMemory::global_to_shared);
}

std::int64_t most_copied(const CodeSummary& code, std::size_t loop) {
  std::map<std::size_t, std::int64_t> known;
  std::int64_t most = 0;
  for (const std::size_t block : code.loops[loop].blocks)
    if (code.blocks[block].first == code.loops[loop].header) most = copied_from(code, loop, block, known);
  for (const std::size_t block : code.loops[loop].blocks) most = std::max(most, copied_from(code, loop, block, known));
  return most;
}

// K and V that the loop unpacks from an 8-bit floating-point format before products.
void add_unpacked(const CodeCounts& pass, AttentionFacts& facts) {
  facts.loaded_bits = facts.operand_bits;
  for (const auto& [mnemonic, count] : pass.opcodes)
    for (const char* format : {"E4M3", "E5M2"})
      if (mnemonic.starts_with("F2FP") && mnemonic.find("UNPACK") != std::string::npos &&
          mnemonic.find(format) != std::string::npos)
        facts.loaded_bits = 8, facts.loaded_as = format;
}

// By matrix loads, of which every lane reads bytes of its own.
std::int64_t matrix_loaded(const CodeCounts& pass) {
  std::int64_t bytes = 0;
  for (const auto& [form, count] : pass.memory)
    if (form.opcode == "LDSM") bytes += form.thread_bytes * count.of_thread() * warp_lanes;
  return bytes;
}

std::set<std::int64_t> store_widths(const CodeCounts& counts) {
  std::set<std::int64_t> widths;
  for (const auto& [form, count] : counts.memory)
    if (form.kind == K::store && (form.memory == CodeMemory::global || form.memory == CodeMemory::generic))
      widths.insert(form.thread_bytes);
  return widths;
}

void add_roles(const CodeSummary& code, const AttentionLoop& found, AttentionFacts& facts) {
  std::vector<std::size_t> loops{found.loop};
  if (found.nested) loops.insert(loops.end(), found.nested->helpers.begin(), found.nested->helpers.end());
  for (std::size_t i = 0; i < code.roles.size(); ++i) {
    const CodeRole& role = code.roles[i];
    const bool runs = std::any_of(loops.begin(), loops.end(), [&](std::size_t loop) {
      const std::vector<std::size_t>& roles = code.loops[loop].roles;
      return std::find(roles.begin(), roles.end(), i) != roles.end();
    });
    if (role.registers) (runs ? facts.consumer_registers : facts.producer_registers) = role.registers;
    if (!runs) continue;
    for (const auto& [first, last] : role.warps)
      for (int warp = first; warp <= last; ++warp) facts.loop_warps.push_back(warp);
  }
  std::sort(facts.loop_warps.begin(), facts.loop_warps.end());
}

// Whether Q, which no pass loads, comes to registers without loads from shared memory before the loop.
bool loads_q_directly(const CodeSummary& code, const AttentionLoop& found) {
  if (found.pass != AttentionPass::forward) return false;
  if (found.scores.instruction.a_from_shared || found.q_loaded || found.q_loaded_once) return false;
  bool from_global = false;
  for (const CodeBlock& block : code.blocks) {
    if (!block.reached || block.loop || block.first >= code.loops[found.loop].header) continue;
    if (block.counts.thread_bytes(K::load, CodeMemory::shared) > 0) return false;
    for (const auto& [form, count] : block.counts.memory)
      if (form.kind == K::load && form.memory == CodeMemory::global) {
        if (form.opcode.find("STRONG") != std::string::npos) return false;
        from_global = true;
      }
  }
  return from_global;
}

void add_outside(const CodeSummary& code, const AttentionLoop& found, AttentionFacts& facts) {
  const std::vector<bool> always = always_around(code, found.loop);
  CodeCounts once, all;
  for (std::size_t i = 0; i < code.blocks.size(); ++i) {
    const CodeBlock& block = code.blocks[i];
    bool in_attention = found.nested ? stands_in(code, block, found.loop) : block.loop == found.loop;
    for (const std::size_t masked : found.masked) in_attention |= block.loop == masked;
    for (const std::size_t helper : found.nested ? found.nested->helpers : std::vector<std::size_t>{})
      in_attention |= block.loop == helper;
    // A step before or behind such a loop stands outside of it as it stands inside.
    const bool step = found.nested && block.counts.of(K::matrix) > 0;
    if (!block.reached || in_attention) continue;
    if (always[i] && !step) once += block.counts;
    all += block.counts;
  }
  facts.once = work_of(once);
  facts.spilled_once = spilled(once);
  const std::set<std::int64_t> widths = store_widths(all);
  facts.stores_log_sum_exp = all.special.contains("LG2") || (widths.size() > 1 && widths.contains(4));
  facts.output_through_smem = all.thread_bytes(K::store, CodeMemory::shared) > 0 &&
                              all.thread_bytes(K::load, CodeMemory::shared) > 0 && !widths.empty();
  for (const auto& [form, count] : code.counts.memory)
    facts.copy_engine |= form.opcode == "UTMALDG", facts.copies_out |= form.opcode == "UTMASTG";
  facts.output_through_smem |= facts.copies_out;
  facts.q_direct = loads_q_directly(code, found);
  facts.stores_without_product = stores_without_product(code), facts.rewrites_tiles = rewrites_tiles(code);
  const bool rows = widths.contains(4) && (widths.size() > 1 || facts.copies_out);
  if (rows && !facts.loop_warps.empty())
    facts.rows_stored = rows_stored_at_once(code, facts.loop_warps.front(),
                                            facts.most_threads > 0 ? facts.most_threads : most_block_threads);
}

// Instructions of a step: of the loops inside those whose number of passes the code decides. Where a way through the
// loop leaves the products out, every pass with products counts.
CodeCounts step_of(const CodeSummary& code, const AttentionLoop& found) {
  const CodeLoop& loop = code.loops[found.loop];
  if (!found.nested || !found.nested->scores) return loop.always;
  const std::vector<bool> always = always_around(code, *found.nested->scores);
  CodeCounts step;
  for (const std::size_t block : loop.blocks)
    if (always[block] || std::count(loop.main_path.begin(), loop.main_path.end(), block) > 0)
      step += code.blocks[block].counts;
  for (std::int64_t pass = 0; pass < found.nested->score_passes; ++pass)
    step += code.loops[*found.nested->scores].always;
  return step;
}

void add_nested(const CodeSummary& code, const AttentionLoop& found, AttentionFacts& facts) {
  const NestedProducts& nested = *found.nested;
  facts.score_grid = nested.score_grid, facts.value_grid = nested.value_grid;
  facts.helpers = static_cast<std::int64_t>(nested.helpers.size());
  facts.p_in_smem = facts.helpers > 0 || found.values.a_loaded || found.values.instruction.a_from_shared;
  if (nested.scores && nested.score_passes == 0)
    facts.depth_of_pass = found.scores.depth(), facts.score_pass = work_of(code.loops[*nested.scores].always);
  if (nested.values)
    facts.value_depth = found.values.depth(), facts.value_pass = work_of(code.loops[*nested.values].always);
  if (nested.scores) facts.sliced = code.loops[*nested.scores].always.of(K::copy_wait) > 0;
}

bool copies_by_engine(const CodeSummary& code) {
  return std::any_of(code.counts.memory.begin(), code.counts.memory.end(),
                     [](const auto& entry) { return entry.first.opcode == "UTMALDG"; });
}

// Copies of the copy engine: how many passes one of them serves, and bytes that arrive at once.
void add_copies(const CodeSummary& code, const AttentionLoop& found, AttentionFacts& facts) {
  const auto warp_of = [&](const CodeLoop& loop) -> std::int64_t {
    return loop.roles.empty() ? 0 : code.roles[loop.roles.front()].warps.front().first;
  };
  if (found.pass == AttentionPass::backward_keys || found.pass == AttentionPass::backward_queries)
    facts.passes_of_copy = FollowedLoop(code, found.loop, warp_of(code.loops[found.loop])).passes_of_wait().value_or(0);
  if (facts.v_head_dim >= facts.head_dim || facts.depth_of_pass > 0) return;
  std::set<std::int64_t> arriving;
  for (std::size_t i = 0; i < code.loops.size(); ++i) {
    if (code.loops[i].parent || code.loops[i].waits) continue;
    for (const std::int64_t bytes : FollowedLoop(code, i, warp_of(code.loops[i])).expected_bytes())
      arriving.insert(bytes);
  }
  facts.arriving.assign(arriving.begin(), arriving.end());
}

}  // namespace

void share_columns(AttentionFacts& facts) {
  const bool forward = facts.pass == AttentionPass::forward && facts.score_grid.rows == 0 && !facts.p_in_smem;
  if (!forward || facts.copied_bytes == 0 || facts.most_threads == 0 || facts.score_parts > 1) return;
  if (facts.loaded_bits != facts.operand_bits || facts.column_units != 1) return;
  const std::int64_t units = static_cast<std::int64_t>(facts.loop_warps.size()) * warp_lanes / facts.unit_threads;
  const std::int64_t column = facts.keys * facts.operand_bits / 8, own = column * (facts.head_dim + facts.v_head_dim);
  const std::int64_t copied = facts.copied_bytes * facts.most_threads, more = copied - own;
  if (more <= 0 || copied % own == 0 || more % (column * facts.v_head_dim) != 0) return;
  const std::int64_t sharing = 1 + more / (column * facts.v_head_dim);
  constexpr std::int64_t most_columns = 1 << 20;
  if (units % sharing != 0 || sharing * facts.v_head_dim > most_columns) return;
  facts.column_units = sharing, facts.v_head_dim *= sharing;
}

AttentionFacts with_head_dims(AttentionFacts facts, std::int64_t head_dim, std::int64_t v_head_dim) {
  if (facts.depth_of_pass == 0) return facts;
  const std::int64_t passes = (head_dim + facts.depth_of_pass - 1) / facts.depth_of_pass;
  for (const auto& [pipe, count] : facts.score_pass) facts.step[pipe] += passes * count;
  facts.program = with_passes(std::move(facts.program), InnerLoop::scores, passes);
  facts.head_dim = head_dim, facts.v_head_dim = v_head_dim;
  facts.depth_of_pass = 0, facts.score_pass.clear();
  return facts;
}

FoundFacts attention_facts(const CubinKernel& kernel, const std::string& compute_capability, const CodeSummary& code) {
  FoundLoop search = attention_loop(code);
  if (!search.loop) return {.missing = std::move(search.missing)};
  const AttentionLoop& found = *search.loop;
  const CodeLoop& loop = code.loops[found.loop];
  const MatrixInstruction& scores = found.scores.instruction;
  AttentionFacts facts;
  facts.kernel = kernel.name, facts.compute_capability = compute_capability;
  facts.pass = found.pass, facts.p_in_registers = found.p_in_registers;
  facts.registers = kernel.registers, facts.static_smem = kernel.shared_bytes, facts.local_bytes = kernel.local_bytes;
  facts.most_threads = kernel.most_threads;
  facts.opcode = scores.opcode, facts.operands = scores.type_b;
  facts.m = scores.m, facts.n = scores.n, facts.k = scores.k;
  facts.operand_bits = scores.bits_b, facts.unit_threads = scores.threads;
  facts.score_parts = found.score_parts;
  facts.rows = found.rows, facts.keys = found.keys, facts.transposed = found.transposed;
  facts.head_dim = found.head_dim, facts.v_head_dim = found.v_head_dim;
  facts.q_in_smem = scores.a_from_shared || found.q_loaded, facts.scores_ahead = found.scores_ahead;
  facts.q_once_in_smem = found.q_loaded_once, facts.value_operands = found.values.instruction.type_b;
  facts.value_bits = found.values.instruction.bits_b;
  add_roles(code, found, facts);
  const CodeCounts step = step_of(code, found);
  facts.step = work_of(step);
  if (!found.masked.empty()) facts.masked_step = work_of(code.loops[found.masked.front()].always);
  CodeCounts pass = loop.always;
  pass += loop.sometimes;
  add_unpacked(pass, facts);
  facts.copied_bytes = most_copied(code, found.loop);
  if (!found.q_loaded && !found.q_loaded_once) facts.fetched_bytes = matrix_loaded(loop.always);
  for (const auto& [form, count] : pass.memory)
    facts.reduces |=
        form.opcode == "RED" || form.opcode == "REDG" || form.opcode == "UTMAREDG" || form.opcode == "ATOMG";
  facts.barriers = opcode_count(pass, "BAR");
  facts.turns = opcode_count(pass, "BAR.ARV") > 0;
  if (facts.turns) add_turns(loop_code(code, loop), facts);
  facts.persistent = loop.parent.has_value();
  if (found.nested) add_nested(code, found, facts);
  if (copies_by_engine(code)) add_copies(code, found, facts);
  facts.spilled_step = spilled(step), facts.spill_waits = waits_for_spills(loop_code(code, loop));
  add_outside(code, found, facts);
  facts.results_as = format_of_results(code);
  const auto threads = static_cast<std::int64_t>(facts.loop_warps.size()) * warp_lanes;
  facts.program = step_program(code, found, {.take_turns = facts.turns, .units = threads / facts.unit_threads});
  if (!found.values.a_loaded && !found.values.instruction.a_from_shared) share_columns(facts);
  return {.facts = std::move(facts)};
}

}  // namespace tilescope
