#include "kernel/describe/backward/backward_loop.h"

#include <algorithm>

namespace tilescope {
namespace {

struct Sums {
  std::int64_t elements = 0, depth = 0;  // depth: of each product; 0: they differ
  void add(const MatrixProduct& product) {
    depth = elements == 0 || depth == product.depth() ? product.depth() : 0;
    elements += product.elements();
  }
};

std::optional<AttentionLoop> loop_of(const CodeSummary& code, std::size_t index, std::int64_t exponentials) {
  const std::vector<MatrixProduct> products = matrix_products(loop_code(code, code.loops[index]));
  const MatrixProduct* scores = nullptr;
  Sums added;
  std::int64_t fresh = 0;
  for (const MatrixProduct& product : products) {
    if (product.instruction.threads != products.front().instruction.threads) return std::nullopt;
    const std::int64_t both = 2 * exponentials * product.instruction.threads;  // S and dP
    if (product.fresh && !scores && product.elements() >= both) scores = &product;
    if (product.fresh) fresh += product.elements();
    else added.add(product);
  }
  if (!scores || added.depth == 0) return std::nullopt;
  const std::int64_t of_unit = exponentials * scores->instruction.threads, head_dim = scores->depth();
  const std::int64_t streamed = added.depth, owned = of_unit / streamed;
  if (owned == 0 || of_unit % streamed != 0) return std::nullopt;
  AttentionLoop loop{.loop = index, .scores = *scores, .values = *scores, .head_dim = head_dim, .v_head_dim = head_dim};
  const std::int64_t results = added.elements / (owned * head_dim), more = fresh - 2 * of_unit;
  if (added.elements != results * owned * head_dim || more < 0) return std::nullopt;
  if (results == 2) {
    loop.pass = more > 0 ? AttentionPass::backward : AttentionPass::backward_keys;
    loop.rows = streamed, loop.keys = owned;
  } else if (results == 1 && more == 0) {
    loop.pass = AttentionPass::backward_queries;
    loop.rows = owned, loop.keys = streamed;
  } else {
    return std::nullopt;
  }
  const auto from_registers = [](const MatrixProduct& product) {
    return product.fresh || (product.instruction.b_from_shared && !product.instruction.a_from_shared);
  };
  loop.p_in_registers = std::all_of(products.begin(), products.end(), from_registers);
  return loop;
}

}  // namespace

std::optional<AttentionLoop> backward_loop(const CodeSummary& code) {
  std::optional<AttentionLoop> found;
  for (std::size_t i = 0; i < code.loops.size(); ++i) {
    CodeCounts pass = code.loops[i].always;
    const auto exponentials = pass.special.find("EX2");
    if (pass.of(InstructionKind::matrix) == 0 || exponentials == pass.special.end()) continue;
    std::optional<AttentionLoop> loop = loop_of(code, i, exponentials->second);
    if (loop && found) return std::nullopt;  // which of them?
    if (loop) found = std::move(loop);
  }
  return found;
}

}  // namespace tilescope
