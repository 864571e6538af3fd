// Compares instructions from a kernel's machine code with loops over every tile, and with counters of records.
#include <doctest/doctest.h>

#include "cost/live_tiles.h"
#include "predict/described_kernel.h"

namespace tilescope::code_work_test {
namespace {

// Of one head: passes by a walk over every row and key of every tile.
struct Walked {
  std::int64_t tiles = 0, live = 0, steps = 0, end = 0, begin = 0;  // end and begin: of units
};

Walked walk(const Point& point, std::int64_t tile_q, std::int64_t tile_kv, std::int64_t unit) {
  const Workload& w = point.workload;
  const KeyInterval keys = point.mask.keys(w.q_len, w.kv_len);
  Walked found;
  for (std::int64_t q = 0; q < w.q_len; q += tile_q) {
    std::int64_t steps = 0;
    for (std::int64_t x = 0; x < w.kv_len; x += tile_kv) {
      bool live = false;
      for (std::int64_t i = q; i < std::min(q + tile_q, w.q_len); ++i)
        for (std::int64_t j = x; j < std::min(x + tile_kv, w.kv_len); ++j)
          live = live || sees(point.mask, w.q_len, w.kv_len, i, j);
      if (!live) continue;
      ++steps;
      for (std::int64_t row = q; row < q + tile_q; row += unit) {
        found.end += keys.end.at(row) < x + tile_kv;
        found.begin += keys.begin.at(row + unit - 1) > x;
      }
    }
    ++found.tiles, found.steps += steps, found.live += steps > 0;
  }
  return found;
}

}  // namespace

TEST_CASE("instructions of machine code run as often as a walk over all tiles says") {
  for (const std::string kernel : {"fused_mma", "fused_wgmma"}) {
    const Plan plan = load_plan_for_kernel(kernel, TILESCOPE_SOURCE_DIR);
    for (const char* mask : {"none", "causal", "window:100"})
      for (const Workload w : {Workload{2, 6, 3, 300, 300, 128, 128}, Workload{1, 2, 2, 64, 777, 128, 128},
                               Workload{1, 2, 1, 500, 130, 128, 128}}) {
        if (kernel == "fused_mma" && std::string(mask) == "window:100") continue;
        CAPTURE(kernel);
        CAPTURE(mask);
        CAPTURE(w.q_len);
        Point point = point_of(plan, w);
        const auto of_width = std::find_if(plan.kernel.variants.begin(), plan.kernel.variants.end(),
                                           [](const KernelVariant& v) { return v.head_dim == 128 && v.tile_q == 128; });
        take_variant(point, plan.schedule, *of_width);
        point.mask = *parse_mask(mask);
        const InstanceCode& code = of_width->code;
        const std::int64_t unit = code.mask_rows > 0 ? code.mask_rows : 128, heads = w.batch * w.heads_q;
        const Walked walked = walk(point, 128, of_width->tile_kv, unit);
        const bool moves = std::string(mask) != "none";
        const auto runs = [&](CodeCount count) {
          const auto of = [&](CodePass pass) { return code.of(pass, count); };
          const std::int64_t tiles = code.warps * heads *
                                     (walked.tiles * of(CodePass::once) + walked.live * of(CodePass::live) +
                                      (walked.steps - code.before * walked.live) * of(CodePass::step) +
                                      (walked.steps - walked.live) * of(CodePass::ahead));
          const std::int64_t masked = code.warps * unit / 128 * heads *
                                      (walked.end * of(moves ? CodePass::end : CodePass::tail) +
                                       (moves ? walked.begin : 0) * of(CodePass::begin));
          const std::int64_t launch = code.warps * std::min<std::int64_t>(132, heads * walked.tiles);
          const std::int64_t first = code.first_warps * heads * walked.tiles * of(CodePass::first);
          return tiles + masked + first + launch * of(CodePass::launch) + heads * walked.steps * of(CodePass::copies);
        };
        const Work work = predicted(plan, point).work;
        CHECK(work.instructions == runs(CodeCount::instructions));
        CHECK(work.alu_instructions == runs(CodeCount::alu) + runs(CodeCount::conversion));
        const auto pipe = [&](Pipe which) { return work.pipes[static_cast<std::size_t>(which)]; };
        CHECK(pipe(Pipe::xu) == 32 * runs(CodeCount::xu));
        CHECK(pipe(Pipe::ffma) == 32 * runs(CodeCount::ffma));
        CHECK(pipe(Pipe::fmul) == 32 * runs(CodeCount::fmul));
      }
  }
}

TEST_CASE("a step of fused_mma has the operations of its source") {
  const Plan plan = load_plan_for_kernel("fused_mma", TILESCOPE_SOURCE_DIR);
  for (const KernelVariant& v : plan.kernel.variants) {
    const std::int64_t scores = v.tile_q * v.tile_kv / (v.warps * 32), rows = v.tile_q * 4 / (v.warps * 32);
    const auto step = [&](CodeCount count) { return v.code.of(CodePass::step, count); };
    CHECK(step(CodeCount::xu) == scores + rows);
    CHECK(step(CodeCount::ffma) == scores);
    CHECK(step(CodeCount::fadd) == scores + rows);
    CHECK(step(CodeCount::fmul) == 2 * rows + v.tile_q * v.head_dim / (v.warps * 32));
    CHECK(step(CodeCount::shuffle) == 2 * rows);
    CHECK(step(CodeCount::maxima) >= scores);
    CHECK(step(CodeCount::matrix) == 2 * v.tile_q * v.tile_kv * v.head_dim / (16 * 8 * 16) / v.warps);
  }
}

}  // namespace tilescope::code_work_test
