// Compares instructions of split keys and of their merge, from machine code, with a walk over blocks, warps and lanes.
#include <doctest/doctest.h>

#include <algorithm>

#include "predict/described_kernel.h"

namespace tilescope::code_work_split_test {
namespace {

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

const LaunchCode& merge_of(const Plan& plan, std::int64_t parts, std::int64_t columns) {
  return *std::find_if(plan.kernel.launch_codes.begin(), plan.kernel.launch_codes.end(), [&](const LaunchCode& each) {
    return each.columns == columns && parts >= each.least_steps && (each.most_steps == 0 || parts <= each.most_steps);
  });
}

struct Sum {
  const InstanceCode& code;
  std::int64_t instructions = 0;
  void add(CodePass pass, std::int64_t runs) { instructions += runs * code.of(pass, CodeCount::instructions); }
  void add(const PassCounts& counts, std::int64_t runs) { instructions += runs * counts[0]; }
};

// One warp of the merge's blocks, lane by lane.
void walk_loop(const StepsLoop& loop, std::int64_t warp, std::int64_t parts, std::int64_t blocks, Sum& sum) {
  std::int64_t left = 0, groups = 0;
  for (std::int64_t lane = 0; lane < loop.beside; ++lane) {
    std::int64_t own = 0;
    for (std::int64_t s = warp * loop.beside % loop.apart + lane; s < parts; s += loop.apart) ++own;
    left = std::max(left, own % loop.group), groups = std::max(groups, own / loop.group);
  }
  sum.add(loop.left, blocks * left), sum.add(loop.of_group, blocks * groups);
  if (left + groups > 0) sum.add(loop.some, blocks);
  if (left > 0) sum.add(loop.around_left, blocks);
  if (groups > 0) sum.add(loop.around_groups, blocks);
}

}  // namespace

TEST_CASE("instructions of split keys and of their merge run as often as a walk over blocks and warps says") {
  const Plan plan = load_plan_for_kernel("split_kv", TILESCOPE_SOURCE_DIR);
  const std::size_t number = 1;  // head_dim 128, tiles of 64 keys, 3 stages
  const KernelVariant& variant = plan.kernel.variants.at(number);
  REQUIRE(variant.head_dim == 128);
  for (const bool causal : {false, true})
    for (const std::int64_t splits : {1, 2, 4, 5, 13, 40})
      for (const Workload w : {Workload{2, 8, 2, 1, 3000, 128, 128}, Workload{1, 6, 1, 4, 4097, 128, 128}}) {
        CAPTURE(splits);
        CAPTURE(w.kv_len);
        Point point = point_of(plan, w, number);
        point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = splits;
        if (causal) point.mask = *parse_mask("causal");
        Sum sum{.code = variant.code};
        const std::int64_t heads = w.batch * w.heads_kv, rows = w.heads_q / w.heads_kv * w.q_len,
                           row_tiles = up(rows, 16), tiles = up(w.kv_len, 64), each = up(tiles, splits);
        for (std::int64_t first = 0; first < tiles; first += each) {
          const std::int64_t steps = std::min(each, tiles - first), blocks = heads * row_tiles;
          sum.add(CodePass::once, 4 * blocks), sum.add(CodePass::step, 4 * blocks * steps);
          sum.add(CodePass::ahead, 4 * blocks * std::max<std::int64_t>(0, steps - 2));
          sum.add(CodePass::first, blocks);
        }
        // 2 copies before the loop, which short parts leave out: `fill` is of both.
        std::int64_t copied = 0;
        for (std::int64_t first = 0; first < tiles; first += each)
          copied += heads * row_tiles * std::min<std::int64_t>({2, each, tiles - first});
        sum.add(CodePass::fill, 4 * copied / 2);
        for (std::int64_t tile = 0; tile < tiles; ++tile)
          for (std::int64_t warp = 0; warp < 4; ++warp)
            if (tile * 64 + warp * 16 + 16 > w.kv_len - (causal ? w.q_len - 1 : 0))
              sum.add(CodePass::end, heads * row_tiles);
        const std::int64_t parts = up(tiles, each), all = w.batch * w.heads_q * w.q_len;
        const InstanceCode& merge = merge_of(plan, parts, 128).code;
        Sum merged{.code = merge};
        const std::int64_t warps = parts <= 4 ? up(all * 16, 32) : all * 4;
        merged.add(CodePass::once, warps), merged.add(CodePass::step, warps * parts);
        merged.add(CodePass::first, all), merged.add(CodePass::row, std::min(all, warps));
        for (const StepsLoop& loop : merge.loops)
          for (std::int64_t warp = 0; warp < 4; ++warp) walk_loop(loop, warp, parts, all, merged);
        const Prediction prediction = predicted(plan, point);
        REQUIRE(prediction.islands.size() == 2);
        CHECK(prediction.islands[0].work.instructions == sum.instructions);
        CHECK(prediction.islands[1].work.instructions == merged.instructions);
      }
}

TEST_CASE("a step of split_kv has the operations of its source") {
  const Plan plan = load_plan_for_kernel("split_kv", TILESCOPE_SOURCE_DIR);
  for (const KernelVariant& v : plan.kernel.variants) {
    const std::int64_t scores = v.tile_q * v.tile_kv / (v.warps * 32), rows = 2;  // of a thread
    const auto step = [&](CodeCount count) { return v.code.of(CodePass::step, count); };
    CHECK(step(CodeCount::xu) == scores + rows);
    CHECK(step(CodeCount::ffma) == scores);
    CHECK(step(CodeCount::fadd) == scores + rows);
    CHECK(step(CodeCount::fmul) == 2 * rows + v.tile_q * v.head_dim / 32);
    CHECK(step(CodeCount::shuffle) == 2 * rows);
    CHECK(step(CodeCount::matrix) == 2 * v.tile_q * v.tile_kv * v.head_dim / (16 * 8 * 16) / v.warps);
  }
}

}  // namespace tilescope::code_work_split_test
