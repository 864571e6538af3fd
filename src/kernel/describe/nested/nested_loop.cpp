#include "kernel/describe/nested/nested_loop.h"

#include <algorithm>

#include "kernel/describe/followed.h"
#include "kernel/describe/nested/warp_grid.h"

namespace tilescope {
namespace {

// The instructions of some blocks, in the order of their addresses.
struct Code {
  std::vector<const Instruction*> instructions;
  std::vector<std::size_t> place;  // of each in the section

  std::optional<std::size_t> loop_of(const CodeSummary& code, std::size_t position) const {
    return code.blocks[block_of(code, place[position])].loop;
  }
};

Code code_inside(const CodeSummary& code, std::size_t loop) {
  Code found;
  for (const CodeBlock& block : code.blocks)  // in the order of the section
    for (std::size_t i = block.begin; i < block.end && block.reached && stands_in(code, block, loop); ++i)
      found.instructions.push_back(&code.section.instructions[i]), found.place.push_back(i);
  return found;
}

CodeCounts all_of(const CodeLoop& loop) {
  CodeCounts all = loop.always;
  return all += loop.sometimes;
}

bool multiplies(const CodeLoop& loop) { return !loop.waits && all_of(loop).of(InstructionKind::matrix) > 0; }

bool share_roles(const CodeLoop& a, const CodeLoop& b) {
  return std::any_of(a.roles.begin(), a.roles.end(),
                     [&](std::size_t role) { return std::count(b.roles.begin(), b.roles.end(), role) > 0; });
}

std::int64_t warps_of(const CodeSummary& code, const CodeLoop& loop) {
  std::int64_t warps = 0;
  for (const std::size_t role : loop.roles)
    for (const auto& [first, last] : code.roles[role].warps) warps += last - first + 1;
  return warps;
}

std::int64_t first_warp(const CodeSummary& code, const CodeLoop& loop) {
  return loop.roles.empty() ? 0 : code.roles[loop.roles.front()].warps.front().first;
}

struct FoundProducts {
  MatrixProduct scores{}, values{};
  NestedProducts nested{};
  std::string missing{};
};

FoundProducts products_of(const CodeSummary& code, std::size_t loop, const Code& inside) {
  FoundProducts found;
  std::vector<MatrixProduct> scores, values;
  for (MatrixProduct& product : matrix_products(inside.instructions)) {
    const bool starts = product.fresh || product.may_restart;
    (starts ? scores : values).push_back(std::move(product));
  }
  if (scores.size() != 1 || values.size() != 1) {
    found.missing = "one product that starts anew in each pass and one that adds to the passes before";
    return found;
  }
  found.scores = std::move(scores.front()), found.values = std::move(values.front());
  const auto place_of = [&](const MatrixProduct& product) -> std::optional<std::size_t> {
    const auto place = inside.loop_of(code, product.first.front());
    return place == loop ? std::nullopt : place;
  };
  found.nested.scores = place_of(found.scores), found.nested.values = place_of(found.values);
  if (found.nested.scores)
    found.nested.score_passes =
        FollowedLoop(code, loop, first_warp(code, code.loops[loop])).passes_of(*found.nested.scores).value_or(0);
  return found;
}

// Fragments say how many rows and columns a warp has; addresses, how the warps of a block share the tile.
std::string add_warp_tiles(const CodeSummary& code, const Code& inside, std::int64_t warps, AttentionLoop& loop) {
  const auto grid_of = [&](const MatrixProduct& product) -> std::optional<UnitGrid> {
    if (product.a_tiles * product.b_tiles != product.chains || !product.a_load || !product.b_load) return std::nullopt;
    return warp_grid(code, inside.place[*product.a_load], inside.place[*product.b_load], warps);
  };
  const auto scores = grid_of(loop.scores), values = grid_of(loop.values);
  if (!scores || !values) return "operands whose addresses say how warps share the products";
  const MatrixProduct &s = loop.scores, &o = loop.values;
  loop.rows = s.instruction.m * s.a_tiles, loop.keys = s.instruction.n * s.b_tiles;
  if (loop.rows * scores->rows != o.instruction.m * o.a_tiles * values->rows)
    return "scores and values with the same rows";
  loop.v_head_dim = o.instruction.n * o.b_tiles * values->columns;
  loop.nested->score_grid = *scores, loop.nested->value_grid = *values;
  return "";
}

// Columns of the values that loops of other warps add to: P comes from shared memory.
std::int64_t add_helpers(const CodeSummary& code, AttentionLoop& loop) {
  std::int64_t columns = 0;
  for (std::size_t i = 0; i < code.loops.size(); ++i) {
    const CodeLoop& other = code.loops[i];
    if (!multiplies(other) || other.always.special.contains("EX2") || share_roles(other, code.loops[loop.loop]))
      continue;
    const std::vector<MatrixProduct> products = matrix_products(loop_code(code, other));
    const bool adds = products.size() == 1 && !products.front().fresh && products.front().instruction.a_from_shared &&
                      products.front().depth() == loop.keys && products.front().elements() % loop.rows == 0 &&
                      warps_of(code, other) * warp_lanes == products.front().instruction.threads;
    if (!adds) continue;
    columns += products.front().elements() / loop.rows;
    loop.nested->helpers.push_back(i);
  }
  return columns;
}

std::string add_group_tiles(const CodeSummary& code, std::int64_t warps, AttentionLoop& loop) {
  const MatrixProduct &s = loop.scores, &o = loop.values;
  if (loop.nested->values) return "values in the loop over keys itself";
  if (warps * warp_lanes != s.instruction.threads) return "one warpgroup that computes the scores";
  loop.keys = o.depth();
  if (s.elements() % loop.keys != 0 || s.elements() / loop.keys % s.instruction.m != 0)
    return "scores that fill a tile of whole rows";
  loop.rows = s.elements() / loop.keys;
  if (o.elements() % loop.rows != 0) return "scores and values with the same rows";
  loop.v_head_dim = o.elements() / loop.rows + add_helpers(code, loop);
  loop.nested->score_grid = {1, 1};
  loop.nested->value_grid = {1, 1 + static_cast<std::int64_t>(loop.nested->helpers.size())};
  return "";
}

FoundLoop nested_loop_of(const CodeSummary& code, std::size_t index) {
  const Code inside = code_inside(code, index);
  FoundProducts products = products_of(code, index, inside);
  if (!products.missing.empty()) return {.missing = std::move(products.missing)};
  AttentionLoop loop{
      .loop = index, .scores = std::move(products.scores), .values = std::move(products.values), .nested = {}};
  loop.nested = products.nested;
  if (loop.scores.instruction.threads != loop.values.instruction.threads)
    return {.missing = "two products that are shared by as many threads"};
  loop.head_dim = loop.scores.depth() * std::max<std::int64_t>(1, products.nested.score_passes);
  const std::int64_t warps = warps_of(code, code.loops[index]);
  std::string missing = loop.scores.instruction.threads == warp_lanes ? add_warp_tiles(code, inside, warps, loop)
                                                                      : add_group_tiles(code, warps, loop);
  if (!missing.empty()) return {.missing = std::move(missing)};
  loop.q_loaded = loop.scores.a_loaded;
  return {.loop = std::move(loop)};
}

}  // namespace

FoundLoop nested_loop(const CodeSummary& code) {
  FoundLoop found;
  for (std::size_t i = 0; i < code.loops.size(); ++i) {
    if (code.loops[i].waits || !all_of(code.loops[i]).special.contains("EX2")) continue;
    const bool inside = std::any_of(code.loops.begin(), code.loops.end(),
                                    [&](const CodeLoop& other) { return other.parent == i && multiplies(other); });
    if (!inside) continue;
    FoundLoop one = nested_loop_of(code, i);
    if (one.loop && found.loop) return {.missing = "loops over keys that agree on one tile"};
    if (one.loop || !found.loop) found = std::move(one);
  }
  return found;
}

}  // namespace tilescope
