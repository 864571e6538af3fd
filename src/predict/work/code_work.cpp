#include "predict/work/code_work.h"

#include <algorithm>

#include "base/checked.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

using Executions = std::array<std::int64_t, code_pass_count>;

std::int64_t& at(Executions& runs, CodePass pass) { return runs[static_cast<std::size_t>(pass)]; }

const BoundLoop* guard_loop(const BoundIsland& bound, bool query) {
  const auto& guard = bound.plan.schedule.diagram.guard;
  return guard ? bound.nest.loop_over(query ? guard->query : guard->key) : nullptr;
}

struct CutPasses {
  std::int64_t end = 0, begin = 0;
};

// Passes of all query tiles of a head whose tile of keys some row of a unit does not see whole; a unit is the rows that
// decide together. At the end, and where the mask has a first key.
CutPasses cut_passes(const BoundIsland& bound, const BoundLoop& query, const BoundLoop& key, std::int64_t unit) {
  CutPasses cut;
  const Mask& mask = bound.point.mask;
  if (!mask.contiguous()) return cut;
  const LiveTiles tiles(mask, query.size, key.size, query.tile, key.tile);
  const KeyInterval keys = mask.keys(query.size, key.size);
  for (std::int64_t i = 0; i < query.trips; ++i) {
    const TileRange live = tiles.keys_of(i);
    if (live.empty()) continue;
    for (std::int64_t row = i * query.tile; row < (i + 1) * query.tile; row += unit) {
      cut.end += live.end - std::clamp(keys.end.at(row) / key.tile, live.first, live.end);
      if (keys.begin.moves())
        cut.begin += std::clamp(ceil_div(keys.begin.at(row + unit - 1), key.tile), live.first, live.end) - live.first;
    }
  }
  return cut;
}

// How often warps execute each piece of the code.
Executions executions(const BoundIsland& bound, const InstanceCode& code) {
  const BoundLoop *query = guard_loop(bound, true), *key = guard_loop(bound, false);
  const std::int64_t blocks = bound.nest.blocks(), heads = query ? blocks / query->trips : blocks;
  const std::int64_t live = bound.nest.guarded() ? checked_mul(heads, bound.whole.tiles.query_tiles) : blocks;
  const std::int64_t steps = visited_points(bound.nest, bound.whole, {}, true);
  Executions runs{};
  at(runs, CodePass::launch) = code.warps * std::min(blocks, bound.hardware.units.value);  // one block a unit, at least
  at(runs, CodePass::once) = checked_mul(code.warps, blocks);
  at(runs, CodePass::live) = checked_mul(code.warps, live);
  at(runs, CodePass::step) = checked_mul(code.warps, steps - live * code.before);
  at(runs, CodePass::ahead) = checked_mul(code.warps, steps - live);
  at(runs, CodePass::copies) = steps;
  if (query && key) {
    const std::int64_t unit = code.mask_rows > 0 ? code.mask_rows : query->tile;
    const CutPasses cut = cut_passes(bound, *query, *key, unit);
    const std::int64_t warps = std::max<std::int64_t>(1, code.warps * unit / query->tile);  // of a unit
    const bool moves = bound.point.mask.contiguous() && bound.point.mask.keys(query->size, key->size).end.moves();
    at(runs, moves ? CodePass::end : CodePass::tail) = checked_mul(checked_mul(warps, heads), cut.end);
    at(runs, CodePass::begin) = checked_mul(checked_mul(warps, heads), cut.begin);
  }
  return runs;
}

constexpr std::array<std::pair<Pipe, CodeCount>, 7> counted{{{Pipe::xu, CodeCount::xu},
                                                             {Pipe::ffma, CodeCount::ffma},
                                                             {Pipe::fadd, CodeCount::fadd},
                                                             {Pipe::fmul, CodeCount::fmul},
                                                             {Pipe::alu, CodeCount::alu},
                                                             {Pipe::conversion, CodeCount::conversion},
                                                             {Pipe::shuffle, CodeCount::shuffle}}};

// Instructions of a pass on none of the pipes. Matrix products of mma.sync, loads of their operands and copies by
// threads are counted from the schedule.
std::int64_t others(const BoundIsland& bound, const InstanceCode& code, CodePass pass) {
  std::int64_t rest = code.of(pass, CodeCount::instructions);
  for (const auto& [pipe, count] : counted) rest -= code.of(pass, count);
  if (bound.how.path().from_registers) rest -= code.of(pass, CodeCount::matrix) + code.of(pass, CodeCount::ldsm);
  return bound.how.load().bulk ? rest : rest - code.of(pass, CodeCount::ldgsts);
}

}  // namespace

void add_code_work(const BoundIsland& bound, const InstanceCode& code, Work& work) {
  const Executions runs = executions(bound, code);
  const std::int64_t lanes = lanes_of_warp(bound);
  const auto of = [](auto& list, Pipe pipe) -> auto& { return list[static_cast<std::size_t>(pipe)]; };
  for (std::size_t i = 0; i < code_pass_count; ++i) {
    const auto pass = static_cast<CodePass>(static_cast<int>(i));
    for (const auto& [pipe, count] : counted)
      of(work.pipes, pipe) += checked_mul(checked_mul(runs[i], lanes), code.of(pass, count));
    work.instructions += checked_mul(runs[i], code.of(pass, CodeCount::instructions));
    work.alu_instructions += checked_mul(runs[i], code.of(pass, CodeCount::alu) + code.of(pass, CodeCount::conversion));
    of(work.pipes, Pipe::others) += checked_mul(checked_mul(runs[i], lanes), others(bound, code, pass));
  }
  // A step rescales the results; what is neither a step's nor rescales is done once, for the results.
  const std::int64_t all_steps = checked_mul(lanes, runs[static_cast<std::size_t>(CodePass::step)] +
                                                        code.before * runs[static_cast<std::size_t>(CodePass::live)]);
  for (const Pipe pipe : {Pipe::ffma, Pipe::fadd, Pipe::fmul}) {
    const auto count = std::find_if(counted.begin(), counted.end(), [&](const auto& row) { return row.first == pipe; });
    of(work.of_outputs, pipe) = of(work.pipes, pipe) - checked_mul(all_steps, code.of(CodePass::step, count->second));
  }
  const int output = output_array(bound);
  const std::int64_t of_thread =
      output < 0 ? 0 : tile_values(bound, static_cast<ArrayId>(output)) / (code.warps * lanes);
  of(work.of_outputs, Pipe::fmul) +=
      checked_mul(all_steps, std::min(of_thread, code.of(CodePass::step, CodeCount::fmul)));
  of(work.of_threads, Pipe::alu) =
      checked_mul(all_steps, code.of(CodePass::step, CodeCount::alu) - code.of(CodePass::step, CodeCount::maxima));
  of(work.of_threads, Pipe::alu) += checked_mul(checked_mul(lanes, runs[static_cast<std::size_t>(CodePass::ahead)]),
                                                code.of(CodePass::ahead, CodeCount::alu));
}

}  // namespace tilescope
