#include "kernel/describe/attention_loop.h"

#include <algorithm>

#include "kernel/describe/backward/backward_loop.h"
#include "kernel/describe/nested/nested_loop.h"

namespace tilescope {
namespace {

bool is_exponential(const Instruction& instruction) { return instruction.opcode == "MUFU" && instruction.has("EX2"); }

// Whether an exponential stands behind the last instruction of the scores and before the first of the values.
bool exponentials_between(const std::vector<const Instruction*>& code, const MatrixProduct& scores,
                          const MatrixProduct& values) {
  const auto first_value = static_cast<std::ptrdiff_t>(*std::min_element(values.first.begin(), values.first.end()));
  const auto first_score = static_cast<std::ptrdiff_t>(*std::min_element(scores.first.begin(), scores.first.end()));
  if (first_value < first_score) return true;  // the pass begins with the values of an earlier step
  return std::any_of(code.begin() + first_score, code.begin() + first_value,
                     [](const Instruction* instruction) { return is_exponential(*instruction); });
}

// Instructions that every pass executes.
std::vector<const Instruction*> main_code(const CodeSummary& code, const CodeLoop& loop) {
  CodeLoop main;
  main.blocks = loop.main_path;
  return loop_code(code, main);
}

// Scores are summed in parts where there are more results than exponentials: quantised keys with a scale a group of
// values, for example. Every score has one exponential (and each row one more).
std::int64_t parts_of_sum(const MatrixProduct& scores, const CodeLoop& loop) {
  const std::int64_t of_thread = scores.elements() / scores.instruction.threads;
  const std::int64_t exponentials = loop.always.special.at("EX2");
  return std::max<std::int64_t>(1, (of_thread + exponentials - 1) / exponentials);
}

// Whether the scores' rows are the instruction's columns: they are too few for its rows.
bool is_transposed(const AttentionLoop& loop) {
  const MatrixInstruction& s = loop.scores.instruction;
  return s.threads == 32 && loop.rows % s.m != 0 && loop.rows % s.n == 0 && loop.keys % s.m == 0;
}

// Scores and values of a loop over queries, which both start anew: results of earlier steps come from memory. Products
// of one shape are half scores and half values, as the keys are as many as the columns.
bool split_fresh(const CodeLoop& loop, std::vector<MatrixProduct>& scores, std::vector<MatrixProduct>& values) {
  if (!values.empty() || scores.empty() || scores.size() > 2 || !loop.parent || !scores.front().a_loaded) return false;
  if (scores.size() == 2) {
    values.push_back(scores.back()), scores.pop_back();
    return true;
  }
  MatrixProduct& all = scores.front();
  if (all.chains % 2 != 0 || all.first.size() != static_cast<std::size_t>(all.chains)) return false;
  const auto half = all.first.begin() + all.chains / 2;
  all.chains /= 2;
  values.push_back(all);
  values.front().first.assign(half, all.first.end());
  all.first.erase(half, all.first.end());
  return true;
}

FoundLoop loop_of(const CodeSummary& code, std::size_t index) {
  const std::vector<const Instruction*> instructions = loop_code(code, code.loops[index]);
  const std::vector<MatrixProduct> products = matrix_products(instructions);
  std::vector<MatrixProduct> scores, values;
  for (const MatrixProduct& product : products) (product.fresh ? scores : values).push_back(product);
  const bool over_queries = split_fresh(code.loops[index], scores, values);
  if (scores.size() != 1 || values.size() != 1)
    return {.missing = "one product that starts anew in each pass and one that adds to the passes before"};
  AttentionLoop loop{.loop = index, .scores = scores.front(), .values = values.front()};
  if (over_queries) loop.pass = AttentionPass::forward_queries;
  const MatrixProduct &s = loop.scores, &o = loop.values;
  if (s.instruction.threads != o.instruction.threads)
    return {.missing = "two products that are shared by as many threads"};
  loop.keys = o.depth(), loop.head_dim = s.depth();
  const std::int64_t parts = parts_of_sum(s, code.loops[index]);
  loop.head_dim *= parts, loop.score_parts = parts;
  if (parts > 1 && s.instruction.b_from_shared)  // such keys cannot be quantised
    return {.missing = "one product that starts anew: a second one is that of a backward pass"};
  if (s.elements() % (parts * loop.keys) != 0) return {.missing = "scores that fill a tile of whole rows"};
  loop.rows = s.elements() / (parts * loop.keys);
  loop.transposed = loop.rows > 0 && is_transposed(loop);
  if (loop.rows == 0 || (!loop.transposed && loop.rows % s.instruction.m != 0) || o.elements() % loop.rows != 0)
    return {.missing = "scores and values with the same rows"};
  loop.v_head_dim = o.elements() / loop.rows;
  loop.scores_ahead = !exponentials_between(instructions, s, o);
  for (const MatrixProduct& product : matrix_products(main_code(code, code.loops[index])))
    if (product.fresh && product.instruction == s.instruction) loop.q_loaded |= product.a_loaded;
  loop.q_loaded_once = s.a_loaded && !loop.q_loaded;
  return {.loop = std::move(loop)};
}

bool same_products(const AttentionLoop& a, const AttentionLoop& b) {
  return a.rows == b.rows && a.keys == b.keys && a.transposed == b.transposed && a.pass == b.pass &&
         a.head_dim == b.head_dim && a.v_head_dim == b.v_head_dim;
}

}  // namespace

std::vector<const Instruction*> loop_code(const CodeSummary& code, const CodeLoop& loop) {
  std::vector<std::size_t> blocks = loop.blocks;
  std::sort(blocks.begin(), blocks.end(),
            [&](std::size_t a, std::size_t b) { return code.blocks[a].begin < code.blocks[b].begin; });
  std::vector<const Instruction*> instructions;
  for (const std::size_t block : blocks)
    for (std::size_t i = code.blocks[block].begin; i < code.blocks[block].end; ++i)
      instructions.push_back(&code.section.instructions[i]);
  return instructions;
}

bool stands_in(const CodeSummary& code, const CodeBlock& block, std::size_t loop) {
  for (std::optional<std::size_t> around = block.loop; around; around = code.loops[*around].parent)
    if (*around == loop) return true;
  return false;
}

FoundLoop attention_loop(const CodeSummary& code) {
  // First, because the sums of a backward pass may look like scores in parts.
  if (std::optional<AttentionLoop> backward = backward_loop(code)) return {.loop = std::move(backward)};
  std::vector<AttentionLoop> found;
  std::string missing = "a loop with matrix products and exponentials";
  for (std::size_t i = 0; i < code.loops.size(); ++i) {
    const auto exponentials = code.loops[i].always.special.find("EX2");
    if (code.loops[i].always.of(InstructionKind::matrix) == 0 || exponentials == code.loops[i].always.special.end())
      continue;
    FoundLoop one = loop_of(code, i);
    if (one.loop) found.push_back(std::move(*one.loop));
    else missing = std::move(one.missing);
  }
  if (found.empty()) {
    FoundLoop nested = nested_loop(code);
    return nested.loop || !nested.missing.empty() ? std::move(nested) : FoundLoop{.missing = std::move(missing)};
  }
  const auto size = [&](const AttentionLoop& loop) { return code.loops[loop.loop].always.instructions; };
  auto least = std::min_element(found.begin(), found.end(),
                                [&](const AttentionLoop& a, const AttentionLoop& b) { return size(a) < size(b); });
  AttentionLoop loop = *least;
  for (const AttentionLoop& other : found) {
    if (other.loop == loop.loop) continue;
    if (!same_products(loop, other)) return {.missing = "loops over keys that agree on one tile"};
    loop.masked.push_back(other.loop);
  }
  return {.loop = std::move(loop)};
}

}  // namespace tilescope
