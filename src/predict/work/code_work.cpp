#include "predict/work/code_work.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/contains.h"
#include "predict/point/code_of.h"
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
  std::int64_t end = 0, begin = 0, groups = 0;  // groups: of 32 tiles of keys
};

// Passes of all query tiles of a head whose tile of keys some row of a unit does not see whole; a unit is the rows that
// decide together. At the end, and where the mask has a first key.
CutPasses cut_passes(const BoundIsland& bound, const BoundLoop& query, const BoundLoop& key, std::int64_t unit,
                     bool one_mask) {
  constexpr std::int64_t group = 32;
  CutPasses cut;
  const Mask& mask = bound.point.mask;
  if (!mask.contiguous()) return cut;
  const LiveTiles tiles(mask, query.size, key.size, query.tile, key.tile);
  const KeyInterval keys = mask.keys(query.size, key.size);
  for (std::int64_t i = 0; i < query.trips; ++i) {
    const TileRange live = tiles.keys_of(i);
    if (live.empty()) continue;
    cut.groups += ceil_div(live.end, group);
    for (std::int64_t row = i * query.tile; row < (i + 1) * query.tile; row += unit) {
      const std::int64_t whole = std::clamp(keys.end.at(row) / key.tile, live.first, live.end);
      cut.end += live.end - whole;
      if (keys.begin.moves())
        cut.begin +=
            std::clamp(ceil_div(keys.begin.at(row + unit - 1), key.tile), live.first, one_mask ? whole : live.end) -
            live.first;
    }
  }
  return cut;
}

// Tiles of keys of a row, over all parts.
std::int64_t key_tiles(const BoundIsland& bound) {
  return ceil_div(bound.point.workload.kv_len, bound.variant->tile_kv);
}

// Steps of all blocks, each up to `most`; parts of a split are equal but for the last one.
std::int64_t first_steps(const BoundIsland& bound, std::int64_t blocks, std::int64_t steps, std::int64_t most) {
  const std::int64_t longest = steps_of(bound.nest), all = blocks * longest;
  if (bound.nest.guarded() || longest <= 0 || all == steps) return std::min(steps, checked_mul(blocks, most));
  const std::int64_t tiles = key_tiles(bound), parts = ceil_div(tiles, longest), last = tiles - (parts - 1) * longest,
                     each = blocks / parts;
  return checked_mul(each, (parts - 1) * std::min(longest, most) + std::min(last, most));
}

// Decisions to cut a tile of keys, of packed rows: each is for so many keys, of which one lies behind the last that the
// first row sees.
std::int64_t cut_units(const BoundIsland& bound, std::int64_t unit) {
  const std::int64_t keys = bound.point.workload.kv_len;
  const std::int64_t seen =
      bound.point.mask.contiguous() ? bound.point.mask.keys(bound.point.workload.q_len, keys).end.at(0) : keys;
  return key_tiles(bound) * bound.variant->tile_kv / unit - std::max<std::int64_t>(0, seen) / unit;
}

// Heads of all batch entries, each with all its tiles. Blocks that own a tile of queries are as many for each of them.
std::int64_t heads_of(const BoundIsland& bound, const BoundLoop* query, const BoundLoop* key) {
  if (!query || query->group) return query ? bound.nest.blocks() / query->trips : bound.nest.blocks();
  std::int64_t heads = 1;
  for (const BoundLoop& loop : bound.nest.all())
    if (&loop != query && &loop != key) heads = checked_mul(heads, loop.trips);
  return heads;
}

// How often a loop over steps begins.
std::int64_t live_of(const BoundIsland& bound, const BoundLoop* query, const BoundLoop* key, std::int64_t heads) {
  const std::int64_t blocks = bound.nest.blocks();
  if (query && !query->group) return key && !key->group ? checked_mul(blocks, key->trips) : blocks;
  return bound.nest.guarded() ? checked_mul(heads, bound.whole.tiles.query_tiles) : blocks;
}

// How often warps execute each piece of the code.
Executions executions(const BoundIsland& bound, const InstanceCode& code) {
  const BoundLoop *query = guard_loop(bound, true), *key = guard_loop(bound, false);
  const std::int64_t blocks = bound.nest.blocks(), heads = heads_of(bound, query, key);
  const std::int64_t live = live_of(bound, query, key, heads);
  const std::int64_t steps = visited_points(bound.nest, bound.whole, {}, true);
  Executions runs{};
  at(runs, CodePass::launch) = code.warps * std::min(blocks, bound.hardware.units.value);  // one block a unit, at least
  at(runs, CodePass::once) = checked_mul(code.warps, blocks);
  at(runs, CodePass::live) = checked_mul(code.warps, live);
  at(runs, CodePass::step) = checked_mul(code.warps, steps - live * code.before);
  const std::int64_t copied = first_steps(bound, blocks, steps, code.lead);
  at(runs, CodePass::ahead) = checked_mul(code.warps, code.lead > 1 ? steps - copied : steps - live);
  at(runs, CodePass::fill) = checked_mul(code.warps, copied) / code.lead;
  at(runs, CodePass::first) = checked_mul(code.first_warps, blocks);
  at(runs, CodePass::copies) = steps;
  if (code.mask_keys > 0) {
    const std::int64_t parts = ceil_div(key_tiles(bound), std::max<std::int64_t>(1, steps_of(bound.nest)));
    at(runs, CodePass::end) =
        checked_mul(checked_mul(code.mask_warps > 0 ? code.mask_warps : code.first_warps, blocks / parts),
                    cut_units(bound, code.mask_keys));
  } else if (query && key) {
    const std::int64_t unit = code.mask_rows > 0 ? code.mask_rows : query->tile;
    const CutPasses cut = cut_passes(bound, *query, *key, unit, code.one_mask);
    const std::int64_t warps = std::max<std::int64_t>(1, code.warps * unit / query->tile);  // of a unit
    const bool moves = bound.point.mask.contiguous() && bound.point.mask.keys(query->size, key->size).end.moves();
    at(runs, moves ? CodePass::end : CodePass::tail) = checked_mul(checked_mul(warps, heads), cut.end);
    at(runs, CodePass::list) = checked_mul(heads, cut.groups);
    at(runs, CodePass::begin) = checked_mul(checked_mul(warps, heads), cut.begin);
  }
  return runs;
}

constexpr std::array<std::pair<Pipe, CodeCount>, 7> counts_of_pipes{{{Pipe::xu, CodeCount::xu},
                                                                     {Pipe::ffma, CodeCount::ffma},
                                                                     {Pipe::fadd, CodeCount::fadd},
                                                                     {Pipe::fmul, CodeCount::fmul},
                                                                     {Pipe::alu, CodeCount::alu},
                                                                     {Pipe::conversion, CodeCount::conversion},
                                                                     {Pipe::shuffle, CodeCount::shuffle}}};

constexpr std::array outside_steps{CodePass::launch, CodePass::once, CodePass::fill, CodePass::first};

// Instructions of a pass on none of the pipes. Matrix products of mma.sync, loads of their operands and copies by
// threads are counted from the schedule.
std::int64_t others(const BoundIsland& bound, const PassCounts& counts) {
  const auto of = [&](CodeCount count) { return counts[static_cast<std::size_t>(count)]; };
  std::int64_t rest = of(CodeCount::instructions);
  for (const auto& [pipe, count] : counts_of_pipes) rest -= of(count);
  if (bound.how.path().from_registers) rest -= of(CodeCount::matrix) + of(CodeCount::ldsm);
  if (!bound.how.path().tensor_cores) rest -= of(CodeCount::matrix);
  return bound.how.load().bulk ? rest : rest - of(CodeCount::ldgsts);
}

// Rows of a launch's output; 0: it has none.
std::int64_t output_rows(const BoundIsland& bound) {
  const int output = output_array(bound);
  if (output < 0) return 0;
  const Axes axes = bound.plan.schedule.diagram.arrays[static_cast<std::size_t>(output)].axes;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) rows = checked_mul(rows, bound.nest.size(axes[i]));
  return rows;
}

// Warps with a row's share of the output.
std::int64_t warps_of_launch(const BoundIsland& bound) {
  const std::int64_t all = checked_mul(grid_blocks(bound), warps_of_block(bound)), rows = output_rows(bound);
  return rows == 0 ? all : std::min(all, ceil_div(checked_mul(rows, row_lanes(bound)), lanes_of_warp(bound)));
}

// Rounds of a block, each of which takes so many terms of a sum; other sums and streams repeat them.
std::int64_t rounds_of_block(const BoundIsland& bound, const InstanceCode& code) {
  const auto axis = bound.plan.schedule.diagram.find_axis(code.round_axis);
  if (!axis) return 0;
  std::int64_t rounds = ceil_div(bound.nest.size(*axis), code.round_terms);
  for (const BoundLoop& loop : bound.nest.all())
    if (!loop.group && loop.axis != *axis) rounds = checked_mul(rounds, loop.trips);
  return rounds;
}

// The same of a launch without tensor cores: of rounds, of a row that no loop cuts, or of as many warps as the rows of
// its output take.
Executions executions_of_launch(const BoundIsland& bound, const InstanceCode& code) {
  const std::int64_t blocks = grid_blocks(bound);
  Executions runs{};
  at(runs, CodePass::first) = checked_mul(code.first_warps, blocks);
  if (code.packet > 0) {
    const std::int64_t packets = ceil_div(bound.point.workload.kv_len, code.packet);
    at(runs, CodePass::once) = checked_mul(code.warps, blocks), at(runs, CodePass::step) = checked_mul(packets, blocks);
    at(runs, CodePass::tail) = checked_mul(std::clamp<std::int64_t>(packets - code.packets, 0, code.warps), blocks);
    return runs;
  }
  if (code.round_terms > 0) {
    at(runs, CodePass::once) = checked_mul(code.warps, blocks);
    at(runs, CodePass::step) = checked_mul(checked_mul(code.warps, blocks), rounds_of_block(bound, code));
    return runs;
  }
  const std::int64_t warps =
      bound.how.row_threads.columns > 0 ? warps_of_launch(bound) : checked_mul(code.warps, blocks);
  at(runs, CodePass::once) = warps;
  at(runs, CodePass::step) = checked_mul(warps, steps_of(bound.nest));
  at(runs, CodePass::row) = std::min(warps, output_rows(bound));
  return runs;
}

// How often a warp executes a piece, and how often its threads do, all of them together.
struct Runs {
  std::int64_t warps = 0, threads = 0;
};

void add_instructions(const BoundIsland& bound, const PassCounts& counts, const Runs& runs, Work& work) {
  const std::int64_t lanes = lanes_of_warp(bound);
  const auto of = [&](CodeCount count) { return counts[static_cast<std::size_t>(count)]; };
  for (const auto& [pipe, count] : counts_of_pipes) {
    const bool by_thread = pipe == Pipe::ffma || pipe == Pipe::fadd || pipe == Pipe::fmul;  // else whole warps count
    work.pipes[static_cast<std::size_t>(pipe)] +=
        checked_mul(by_thread ? runs.threads : checked_mul(runs.warps, lanes), of(count));
  }
  work.instructions += checked_mul(runs.warps, of(CodeCount::instructions));
  work.pipes[static_cast<std::size_t>(Pipe::shared)] += checked_mul(runs.warps, of(CodeCount::wavefronts));
  work.alu_instructions += checked_mul(runs.warps, of(CodeCount::alu) + of(CodeCount::conversion));
  work.pipes[static_cast<std::size_t>(Pipe::others)] +=
      checked_mul(checked_mul(runs.warps, lanes), others(bound, counts));
}

// How often a block's warp number `warp` executes each piece of a loop.
template <class Piece>
void for_each_piece(const BoundIsland& bound, const StepsLoop& loop, std::int64_t warp, const Piece& piece) {
  const std::int64_t first = warp * loop.beside % loop.apart, steps = steps_of(bound.nest),
                     lanes = lanes_of_warp(bound) / loop.beside;
  Runs some, around_left, around_groups, left, groups;
  for (std::int64_t beside = 0; beside < loop.beside && first + beside < steps; ++beside) {
    const std::int64_t own = ceil_div(steps - first - beside, loop.apart);
    const auto add = [&](Runs& runs, std::int64_t times) {
      runs.warps = std::max(runs.warps, times), runs.threads += checked_mul(lanes, times);
    };
    add(left, own % loop.group), add(groups, own / loop.group), add(some, 1);
    add(around_left, own % loop.group > 0), add(around_groups, own >= loop.group);
  }
  piece(loop.left, left), piece(loop.of_group, groups), piece(loop.some, some);
  piece(loop.around_left, around_left), piece(loop.around_groups, around_groups);
}

// Executions by warps and threads of each piece.
Runs runs_of(const BoundIsland& bound, const InstanceCode& code, CodePass pass, std::int64_t warps) {
  if (pass == CodePass::row) return {.warps = warps, .threads = output_rows(bound)};
  const std::int64_t lanes = pass == CodePass::first ? code.first_lanes : lanes_of_warp(bound);
  return {.warps = warps, .threads = checked_mul(warps, lanes)};
}

void add_launch_work(const BoundIsland& bound, const InstanceCode& code, Work& work) {
  const std::int64_t of_block = warps_of_block(bound);
  const Executions runs = executions_of_launch(bound, code);
  for (std::size_t i = 0; i < code_pass_count; ++i)
    add_instructions(bound, code.passes[i], runs_of(bound, code, static_cast<CodePass>(static_cast<int>(i)), runs[i]),
                     work);
  const std::int64_t blocks = grid_blocks(bound);
  for (const StepsLoop& loop : code.loops)
    for (std::int64_t warp = 0; warp < of_block; ++warp)
      for_each_piece(bound, loop, warp, [&](const PassCounts& counts, const Runs& of_warp) {
        const Runs all{.warps = checked_mul(blocks, of_warp.warps), .threads = checked_mul(blocks, of_warp.threads)};
        add_instructions(bound, counts, all, work);
      });
}

// Scores that a block's first step leaves out: the instructions that each score has.
void leave_out_scores(const BoundIsland& bound, const InstanceCode& code, Work& work) {
  const BoundLoop *query = guard_loop(bound, true), *key = guard_loop(bound, false);
  if (bound.how.narrow_scores.rows == 0 || !query || !key) return;
  const std::int64_t left =
      checked_mul(bound.nest.blocks() / query->trips, bound.whole.tiles.area - bound.scored.tiles.area);
  const std::int64_t scores_of_thread = query->tile * key->tile / (code.warps * lanes_of_warp(bound));
  const auto of_thread = static_cast<double>(scores_of_thread);
  const auto warps = static_cast<double>(left) / static_cast<double>(lanes_of_warp(bound));
  const auto leave_out = [&](CodePass pass, CodeCount of, CodeCount from) {
    const double halves = std::floor(2 * static_cast<double>(code.of(pass, of)) / of_thread) / 2;
    const auto row = std::find_if(counts_of_pipes.begin(), counts_of_pipes.end(),
                                  [&](const auto& each) { return each.second == from; });
    work.pipes[static_cast<std::size_t>(row->first)] -= std::llround(halves * static_cast<double>(left));
    work.instructions -= std::llround(halves * warps);
    if (from == CodeCount::alu || from == CodeCount::conversion) work.alu_instructions -= std::llround(halves * warps);
  };
  const CodePass first = code.before > 0 ? CodePass::live : CodePass::step;
  for (const CodeCount count : {CodeCount::xu, CodeCount::ffma, CodeCount::fadd, CodeCount::conversion})
    leave_out(first, count, count);
  leave_out(first, CodeCount::maxima, CodeCount::alu);
  // Such a tile is cut.
  leave_out(bound.point.mask.masks() ? CodePass::end : CodePass::tail, CodeCount::alu, CodeCount::alu);
}

void add_times(const PassCounts& counts, std::int64_t times, PassCounts& sum) {
  for (std::size_t i = 0; i < code_count_count; ++i) sum[i] += checked_mul(times, counts[i]);
}

}  // namespace

double rounds_of_step(const BoundIsland& bound) {
  return static_cast<double>(rounds_of_block(bound, *code_of(bound))) / static_cast<double>(steps_of(bound.nest));
}

WarpCounts counts_of_warp(const BoundIsland& bound, const InstanceCode& code) {
  const std::int64_t blocks = std::max<std::int64_t>(1, grid_blocks(bound));
  const Executions runs = executions_of_launch(bound, code);
  WarpCounts warp;
  for (std::size_t i = 0; i < code_pass_count; ++i) {
    const bool first = i == static_cast<std::size_t>(CodePass::first);
    add_times(code.passes[i], ceil_div(runs[i], blocks * (first ? code.first_warps : code.warps)), warp.outside);
  }
  for (const StepsLoop& loop : code.loops) {
    PassCounts& most = warp.loops.emplace_back();
    for (std::int64_t number = 0; number < warps_of_block(bound); ++number) {
      PassCounts own{};
      for_each_piece(bound, loop, number,
                     [&](const PassCounts& counts, const Runs& of_warp) { add_times(counts, of_warp.warps, own); });
      for (std::size_t i = 0; i < code_count_count; ++i) most[i] = std::max(most[i], own[i]);
    }
  }
  return warp;
}

void add_code_work(const BoundIsland& bound, const InstanceCode& code, Work& work) {
  if (!bound.how.uses_tensor_cores()) return add_launch_work(bound, code, work);
  const Executions runs = executions(bound, code);
  const std::int64_t lanes = lanes_of_warp(bound);
  const auto of = [](auto& list, Pipe pipe) -> auto& { return list[static_cast<std::size_t>(pipe)]; };
  for (std::size_t i = 0; i < code_pass_count; ++i) {
    const auto pass = static_cast<CodePass>(static_cast<int>(i));
    const auto before = work.pipes;
    add_instructions(bound, code.passes[i], runs_of(bound, code, pass, runs[i]), work);
    if (!contains(outside_steps, pass)) continue;
    for (std::size_t p = 0; p < pipe_count; ++p) work.outside[p] += work.pipes[p] - before[p];
  }
  leave_out_scores(bound, code, work);
  // A step rescales the results; what is neither a step's nor rescales is done once, for the results.
  const std::int64_t all_steps = checked_mul(lanes, runs[static_cast<std::size_t>(CodePass::step)] +
                                                        code.before * runs[static_cast<std::size_t>(CodePass::live)]);
  for (const Pipe pipe : {Pipe::ffma, Pipe::fadd, Pipe::fmul}) {
    const auto count = std::find_if(counts_of_pipes.begin(), counts_of_pipes.end(),
                                    [&](const auto& row) { return row.first == pipe; });
    of(work.of_outputs, pipe) = of(work.pipes, pipe) - checked_mul(all_steps, code.of(CodePass::step, count->second));
  }
  const auto& operators = bound.plan.schedule.diagram.operators;
  const bool rescales = std::any_of(bound.island.operators.begin(), bound.island.operators.end(), [&](int op) {
    return operators[static_cast<std::size_t>(op)].kind == OperatorKind::softmax;
  });
  const int output = output_array(bound);
  const std::int64_t of_thread =
      output < 0 || !rescales ? 0 : tile_values(bound, static_cast<ArrayId>(output)) / (code.warps * lanes);
  of(work.of_outputs, Pipe::fmul) +=
      checked_mul(all_steps, std::min(of_thread, code.of(CodePass::step, CodeCount::fmul)));
  of(work.of_threads, Pipe::alu) =
      checked_mul(all_steps, code.of(CodePass::step, CodeCount::alu) - code.of(CodePass::step, CodeCount::maxima));
  of(work.of_threads, Pipe::alu) += checked_mul(checked_mul(lanes, runs[static_cast<std::size_t>(CodePass::ahead)]),
                                                code.of(CodePass::ahead, CodeCount::alu));
}

}  // namespace tilescope
