#include "kernel/code/summary/product_loop.h"

namespace tilescope {

std::optional<ProductLoop> product_loop(const CodeSummary& code) {
  std::vector<CodeCounts> passes(code.loops.size());
  for (std::size_t i = code.loops.size(); i-- > 0;) {  // inner loops first
    passes[i] += code.loops[i].always;
    passes[i] += code.loops[i].sometimes;
    if (code.loops[i].parent) passes[*code.loops[i].parent] += passes[i];
  }
  std::optional<ProductLoop> best;
  int depth = 0;
  for (std::size_t i = 0; i < code.loops.size(); ++i) {
    const std::int64_t products = passes[i].of(InstructionKind::matrix);
    const auto exponentials = passes[i].special.find("EX2");
    if (products == 0 || exponentials == passes[i].special.end()) continue;
    if (best && (code.loops[i].depth < depth || (code.loops[i].depth == depth && products <= best->products))) continue;
    best = ProductLoop{code.loops[i].header, products, exponentials->second};
    depth = code.loops[i].depth;
  }
  return best;
}

}  // namespace tilescope
