// Compares operands, reductions and sums in memory of kernels that write more than once with counts by hand.
#include <doctest/doctest.h>

#include "predict/described_kernel.h"

namespace tilescope::products_backward_test {
namespace {

// FlashAttention-2's backward pass at head_dim 128: 8 warps, 64 queries, 128 keys. The warps form grids of 2 x 4 for S
// and dP, 4 x 2 for dK and dV, 2 x 4 for dQ.
const char* const backward = R"(schedule: flash2-backward
dtypes: [fp16]
head_dims: [128]
masks: [none, causal]
islands:
  - {name: preprocess, tensor_path: none, block_order: [q, heads, batch], row_replication: 8}
  - name: main
    tensor_path: mma.sync
    mma: {m: 16, n: 8, k: 16}
    through_smem: [P, dS, dK]
    output_through_smem: true
    stages_of: {Q: 2}
    products:
      scores: {grid: {rows: 2, columns: 4}}
      probability_gradient: {grid: {rows: 2, columns: 4}}
      query_gradient: {grid: {rows: 2, columns: 4}}
      key_gradient: {grid: {rows: 4, columns: 2}}
      value_gradient: {grid: {rows: 4, columns: 2}}
    block_order: [kv, heads, batch]
  - {name: convert, tensor_path: none, block_order: [q, heads, batch]}
code:
  facts:
    - {launch: preprocess, work: {ffma: {per_element: {dO: 1}}, fadd: {per_row: 5}}}
    - {launch: main, reductions: [dQ]}
    - {launch: convert, work: {fmul: {per_output: 1}}}
  variants:
  - {head_dim: 128, tile_q: 64, tile_kv: 128, warps: 8, smem_bytes: 147456}
)";

}  // namespace

TEST_CASE(
    "the backward pass fetches each of its ten operands once for each warp that needs it; dQ is written by "
    "reductions") {
  const Plan plan = plan_of(backward);
  const Workload w{1, 4, 2, 256, 384, 128, 128};
  const Prediction prediction = predicted(plan, point_of(plan, w));
  // Each warp of a rows x columns grid fetches its rows of A and its columns of B, 2 bytes a value.
  const auto product = [](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t rows, std::int64_t columns) {
    std::int64_t bytes = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) bytes += 2 * (m / rows * k + k * n / columns);
    return bytes;
  };
  const std::int64_t step = product(64, 128, 128, 2, 4) + product(64, 128, 128, 2, 4)     // S, dP
                            + product(64, 128, 128, 2, 4)                                 // dQ = dS K
                            + product(128, 128, 64, 4, 2) + product(128, 128, 64, 4, 2);  // dK, dV
  const std::int64_t steps = 4 * 3 * 4;  // query heads, tiles of keys, tiles of queries
  CHECK(prediction.operand_bytes == steps * step);
  const auto staged = [&](const char* array, Direction direction) {
    return bytes_of_terms(plan, prediction, array, Boundary::smem, direction, Cause::staging);
  };
  CHECK(staged("P", Direction::write) == steps * 64 * 128 * 2);
  CHECK(staged("P", Direction::read) == 0);  // read as an operand
  CHECK(staged("dS", Direction::write) == steps * 64 * 128 * 2);
  CHECK(staged("dK", Direction::read) == 2 * 384 * 128 * 2);
  const std::int64_t dq = 4 * 256 * 128 * 4, main = 1;
  CHECK(bytes_of_terms(plan, prediction, "dQ_acc", Boundary::l2, Direction::write, Cause::tile) ==
        3 * dq + dq);  // each tile of keys adds; zeros are written before
  CHECK(bytes_of_terms(plan, prediction, "dQ_acc", Boundary::l2, Direction::read, Cause::tile) ==
        dq);  // only the conversion; a reduction returns nothing
  for (const FootprintRow& row : prediction.footprint)
    if (row.island == main && row.level == Boundary::smem) CHECK(row.bytes == plan.kernel.variants[0].smem_bytes);
  CHECK(prediction.islands[0].work.pipes[static_cast<std::size_t>(Pipe::ffma)] == 4 * 256 * 128);
  CHECK(prediction.islands[0].work.pipes[static_cast<std::size_t>(Pipe::fadd)] == 4 * 256 * 5 * 8);
  CHECK(prediction.islands[2].work.pipes[static_cast<std::size_t>(Pipe::fmul)] == 4 * 256 * 128);
}

TEST_CASE("copies of arrays staged in shared memory, and products made in parts, determine what fits") {
  std::string text = backward;
  const auto change = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  change("stages_of: {Q: 2}", "stages_of: {Q: 2, dS: 3}");
  change("scores: {grid", "scores: {parts: 2, grid");
  const Plan once = plan_of(backward), again = plan_of(text);
  const Workload w{1, 4, 2, 256, 384, 128, 128};
  const Prediction one = predicted(once, point_of(once, w)), two = predicted(again, point_of(again, w));
  REQUIRE(one.footprint.size() == 3);  // smem, register, hbm
  CHECK(two.footprint[0].bytes - one.footprint[0].bytes == 2 * 64 * 128 * 2);
  // S and dP of 64 x 128 are held with dK and dV of 128 x 128, but without dQ. In halves, half of S is held.
  CHECK(one.footprint[1].bytes == 4 * (2 * 64 * 128 + 2 * 128 * 128));
  CHECK(one.footprint[1].bytes - two.footprint[1].bytes == 4 * 64 * 128 / 2);
}

TEST_CASE(
    "a result that is read, updated and written passes through shared memory both ways; rows that no tile sees are "
    "written once") {
  const Plan plan = plan_of(R"(schedule: flash1
dtypes: [fp16]
head_dims: [64]
masks: [none, causal]
islands:
  - {name: forward, writes_masked_rows: true, tensor_path: mma.sync, mma: {m: 16, n: 8, k: 16}, through_smem: [O],
      stages_of: {Q: 2}, block_order: [heads, batch]}
variants:
  - {head_dim: 64, tile_q: 64, tile_kv: 64, warps: 4}
)");
  const Prediction whole = predicted(plan, point_of(plan, {1, 2, 2, 256, 512, 64, 64}));
  const std::int64_t o = 2 * 256 * 64 * 2;
  CHECK(bytes_of_terms(plan, whole, "O", Boundary::l2, Direction::write, Cause::tile) == 8 * o);
  CHECK(bytes_of_terms(plan, whole, "O", Boundary::l2, Direction::read, Cause::tile) == 7 * o);
  CHECK(bytes_of_terms(plan, whole, "O", Boundary::smem, Direction::write, Cause::fill) == 7 * o);
  CHECK(bytes_of_terms(plan, whole, "O", Boundary::smem, Direction::read, Cause::operand) == 7 * o);
  CHECK(bytes_of_terms(plan, whole, "O", Boundary::smem, Direction::write, Cause::staging) == 8 * o);
  for (const char* statistic : {"m", "l"})
    CHECK(bytes_of_terms(plan, whole, statistic, Boundary::l2, Direction::write, Cause::tile) == 8 * 2 * 256 * 4);
  Point masked = point_of(plan, {1, 1, 1, 512, 256, 64, 64});  // the first 256 queries see no key
  masked.mask = *parse_mask("causal");
  const Prediction causal = predicted(plan, masked);
  // 4 tiles of queries see no key. The tiles of keys then visit 4, 3, 2 and 1 tiles. The last two visits are of one
  // tile, which stays.
  CHECK(bytes_of_terms(plan, causal, "O", Boundary::l2, Direction::write, Cause::tile) ==
        (4 + 4 + 3 + 2 + 1 - 1) * 64 * 64 * 2);
  CHECK(bytes_of_terms(plan, causal, "O", Boundary::l2, Direction::read, Cause::tile) == (3 + 2 + 1 - 1) * 64 * 64 * 2);
}

TEST_CASE("zeros of sums that another launch adds to count as bytes of the launch that clears them") {
  Plan plan = load_plan_for_kernel("backward", TILESCOPE_SOURCE_DIR);
  const Point point = point_of(plan, {1, 4, 2, 256, 384, 128, 128});
  const auto written = [&](const Prediction& out, int island, Boundary boundary) {
    std::int64_t bytes = 0;
    for (const Term& term : out.terms) {
      const bool sums =
          term.array >= 0 && plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name == "dQ_acc";
      if (sums && term.island == island && term.boundary == boundary && term.direction == Direction::write)
        bytes += term.bytes;
    }
    return bytes;
  };
  constexpr std::int64_t dq = 4 * 256 * 128 * 4;
  const Prediction cleared = predicted(plan, point);
  CHECK(written(cleared, 0, Boundary::l2) == dq);
  CHECK(written(cleared, 0, Boundary::hbm) == dq);
  CHECK(written(cleared, 1, Boundary::l2) == 3 * dq);  // three tiles of keys
  plan.kernel.islands[0].zeroes.clear();
  const Prediction unsaid = predicted(plan, point);
  CHECK(written(unsaid, 0, Boundary::l2) == 0);
  CHECK(written(unsaid, 1, Boundary::l2) == 4 * dq);
  CHECK(unsaid.traffic == cleared.traffic);
}

}  // namespace tilescope::products_backward_test
