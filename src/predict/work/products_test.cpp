// Compares operands, tiles and footprints of described Hopper kernels with loops that execute and count every
// instruction.
#include <doctest/doctest.h>

#include "cost/live_tiles.h"
#include "predict/described_kernel.h"
#include "predict/point/support.h"

namespace tilescope::work_products_test {
namespace {

const char* const hopper = R"(schedule: flash2
dtypes: [bf16]
head_dims: [128, 256]
masks: [none, causal]
islands:
  - name: forward
    stores_log_sum_exp: true
    writes_masked_rows: true
    tensor_path: wgmma
    mma: {m: 64, n: columns, k: 16}
    row_replication: 4
    loads_by: tma
    stages: 2
    output_through_smem: true
    persistent: true
    block_order: [q, heads, batch]
code:
  facts: [{launch: forward, stores_by: tma, smem_extra_bytes: 256}]
  variants:
    - {head_dim: 128, tile_q: 128, tile_kv: 176, warps: 12, consumer_warps: 8, consumer_registers: 240,
        producer_registers: 24, registers_hold: [P]}
    - {head_dim: 128, tile_q: 192, tile_kv: 128, warps: 16, stages: 3, consumer_warps: 12, consumer_registers: 160,
        producer_registers: 32, registers_hold: [P]}
    - {head_dim: 128, tile_q: 128, tile_kv: 256, warps: 12, consumer_warps: 8, consumer_registers: 240,
        producer_registers: 24, registers_hold: [P]}
    - {head_dim: 256, tile_q: 128, tile_kv: 80, warps: 12, consumer_warps: 8, consumer_registers: 240,
        producer_registers: 24, registers_hold: [P]}
)";

// Executes every warpgroup instruction of every live tile. Counts the bytes fetched from shared memory and the FLOP.
struct Executed {
  std::int64_t fetched = 0, flop = 0;
  void wgmma(std::int64_t n, std::int64_t k_total, bool a_in_smem) {
    for (std::int64_t k = 0; k < k_total; k += 16)
      fetched += 2 * ((a_in_smem ? 64 * 16 : 0) + n * 16), flop += 2 * 64 * n * 16;
  }
};

Executed execute_forward(const Workload& w, bool causal, std::int64_t tile_q, std::int64_t tile_kv) {
  Executed count;
  for (std::int64_t head = 0; head < w.batch * w.heads_q; ++head)
    for (std::int64_t q = 0; q < w.q_len; q += tile_q)
      for (std::int64_t x = 0; x < w.kv_len; x += tile_kv) {
        const std::int64_t last_row = std::min(q + tile_q, w.q_len) - 1;
        if (causal && x > last_row + w.kv_len - w.q_len) continue;
        for (std::int64_t warpgroup = 0; warpgroup < tile_q / 64; ++warpgroup) {
          count.wgmma(tile_kv, w.d_qk, true);
          count.wgmma(w.d_v, tile_kv, false);
        }
      }
  return count;
}

}  // namespace

TEST_CASE("wgmma fetches A and B of every instruction from shared memory, except operands in registers") {
  const Plan plan = plan_of(hopper);
  for (const std::size_t variant : {0u, 1u, 3u})
    for (const bool causal : {false, true})
      for (const Workload shape : {Workload{1, 2, 1, 1024, 1024, 128, 128}, Workload{2, 2, 2, 300, 777, 128, 128}}) {
        Workload w = shape;
        w.d_qk = w.d_v = plan.kernel.variants[variant].head_dim;
        CAPTURE(variant);
        CAPTURE(causal);
        CAPTURE(w.q_len);
        Point point = point_of(plan, w, variant);
        if (causal) point.mask = *parse_mask("causal");
        const Prediction prediction = predicted(plan, point);
        const Executed executed =
            execute_forward(w, causal, plan.kernel.variants[variant].tile_q, plan.kernel.variants[variant].tile_kv);
        CHECK(prediction.operand_bytes == executed.fetched);
        CHECK(prediction.work.tensor_flop == executed.flop);
        CHECK(prediction.work.tensor_flop_in[static_cast<std::size_t>(Format::bf16)] == executed.flop);
      }
}

TEST_CASE("shared-memory bytes moved by TMA are counted apart from those moved by threads and instructions") {
  const Plan plan = plan_of(hopper);
  const Prediction prediction = predicted(plan, point_of(plan, {1, 1, 1, 1024, 1024, 128, 128}, 1));
  const std::int64_t tiles = 6, q = tiles * 192 * 128 * 2, kv = tiles * 8 * 2 * 128 * 128 * 2;
  CHECK(prediction.bulk_smem[1] == q + kv);  // fills, whole tiles
  CHECK(prediction.bulk_smem[0] == q);       // O out
  const auto& smem = prediction.traffic[Boundary::smem];
  CHECK(smem[1] - prediction.bulk_smem[1] == q);  // O in, by threads
  CHECK(smem[0] - prediction.bulk_smem[0] == prediction.operand_bytes);
  CHECK(prediction.islands[0].blocks == 6);  // a persistent grid is no larger than its tiles
  CHECK(predicted(plan, point_of(plan, {4, 16, 16, 8192, 8192, 128, 128}, 1)).islands[0].blocks == 132);
}

// Counted on an H200 (validate/records): 24 tiles of 176 keys bring 4224 rows to the SM. The array has 4096 rows.
TEST_CASE("TMA loads whole tiles, including rows past the end; memory delivers only the rows that exist") {
  const Plan plan = plan_of(hopper);
  const Workload w{2, 2, 1, 300, 777, 128, 128};
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    Point point = point_of(plan, w, 0);  // 128 x 176
    if (causal) point.mask = *parse_mask("causal");
    const Prediction prediction = predicted(plan, point);
    std::int64_t q = 0, kv = 0;
    for (std::int64_t first = 0; first < w.q_len; first += 128) {
      q += 128;
      for (std::int64_t x = 0; x < w.kv_len; x += 176)
        if (!causal || x <= std::min(first + 127, w.q_len - 1) + w.kv_len - w.q_len) kv += 176;
    }
    CHECK(bytes_of_terms(plan, prediction, "Q", Boundary::l2, Direction::read, Cause::tile) ==
          w.batch * w.heads_q * q * 128 * 2);
    CHECK(bytes_of_terms(plan, prediction, "K", Boundary::l2, Direction::read, Cause::tile) ==
          w.batch * w.heads_q * kv * 128 * 2);
    CHECK(bytes_of_terms(plan, prediction, "Q", Boundary::hbm, Direction::read, Cause::tile) ==
          w.batch * w.heads_q * w.q_len * 128 * 2);
    CHECK(bytes_of_terms(plan, prediction, "K", Boundary::hbm, Direction::read, Cause::tile) ==
          w.batch * w.heads_kv * w.kv_len * 128 * 2);
  }
}

TEST_CASE("a Hopper tile fits while its scores, output, probabilities and row state fit the consumers' registers") {
  const Plan plan = plan_of(hopper);
  const auto row = [&](std::size_t variant, Boundary level) {
    const Workload w{
        1, 1, 1, 8192, 8192, plan.kernel.variants[variant].head_dim, plan.kernel.variants[variant].head_dim};
    for (const FootprintRow& found : predicted(plan, point_of(plan, w, variant)).footprint)
      if (found.level == level) return found;
    return FootprintRow{};
  };
  // Per consumer thread: 128 x 176 / 256 fp32 scores, 128 x 128 / 256 fp32 outputs, half as many probabilities as
  // scores, 2 rows' maximum and sum.
  CHECK(row(0, Boundary::reg).bytes == 256 * 4 * (88 + 64 + 44 + 4));
  CHECK(row(0, Boundary::reg).capacity_bytes == 256 * 4 * 240);
  CHECK(row(0, Boundary::reg).fits());
  CHECK(row(1, Boundary::reg).bytes == 384 * 4 * (64 + 64 + 32 + 4));
  CHECK_FALSE(row(1, Boundary::reg).within());  // 164 of 160: three warpgroups need smaller tiles
  CHECK_FALSE(row(2, Boundary::reg).within());  // 128 + 64 + 64 + 4 of 240
  CHECK(row(3, Boundary::reg).bytes == 256 * 4 * (40 + 128 + 20 + 4));
  CHECK(row(3, Boundary::reg).fits());
  CHECK(row(0, Boundary::smem).bytes == 2 * 128 * (128 + 2 * 2 * 176) + 256);
  CHECK(row(1, Boundary::smem).bytes == 2 * 128 * (192 + 3 * 2 * 128) + 256);  // the variant's stages, not the island's
}

TEST_CASE("two variants may differ only in their stages") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none]
islands:
  - {name: forward, tensor_path: wgmma, mma: {m: 64, n: columns, k: 16}, block_order: [q, heads, batch]}
variants:
  - {head_dim: 64, tile_q: 128, tile_kv: 128, warps: 12, stages: 2}
  - {head_dim: 64, tile_q: 128, tile_kv: 128, warps: 12, stages: 4}
)");
  Point point = point_of(plan, {1, 1, 1, 512, 512, 64, 64}, 1);
  CHECK(selected_variant(plan, point) == &plan.kernel.variants[1]);
  point.stages = 0;
  CHECK(selected_variant(plan, point) == &plan.kernel.variants[0]);
  point.stages = 3;
  CHECK(unsupported(plan, h200(), point) ==
        std::vector<std::string>{
            "kernel 'described' has no tile 128x128 with 12 warps and 3 stages at head_dim 64; built: "
            "128x128 with 12 warps and 2 stages, 128x128 with 12 warps and 4 stages"});
}

TEST_CASE("each warpgroup computes scores of a block's last tile up to the last key that its rows see") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none, causal]
islands:
  - {name: forward, tensor_path: wgmma, mma: {m: 64, n: columns, k: 16}, block_order: [q, heads, batch]}
code: {facts: [{launch: forward, narrow_scores: {rows: 64, keys: 64}, work: {xu: {per_score: 1}}}]}
variants:
  - {head_dim: 64, tile_q: 128, tile_kv: 224, warps: 12, consumer_warps: 8, registers_hold: [P]}
)");
  for (const char* mask : {"none", "causal"})
    for (const Workload w : {Workload{1, 2, 2, 1000, 1000, 64, 64}, Workload{1, 2, 2, 300, 1040, 64, 64},
                             Workload{1, 2, 2, 2048, 2048, 64, 64}, Workload{1, 2, 2, 700, 500, 64, 64}}) {
      Point point = point_of(plan, w);
      point.mask = *parse_mask(mask);
      std::int64_t tiles = 0, columns = 0;  // steps of blocks; columns of scores for 64 rows
      for (std::int64_t q = 0; q < w.q_len; q += 128) {
        const auto keys_seen = [&](std::int64_t last_row) {  // by a row; past the end, by the last row
          std::int64_t keys = 0;
          for (std::int64_t j = 0; j < w.kv_len; ++j)
            keys += sees(point.mask, w.q_len, w.kv_len, std::min(last_row, w.q_len - 1), j);
          return keys;
        };
        const std::int64_t steps = (keys_seen(q + 127) + 223) / 224;
        if (steps == 0) continue;
        tiles += steps, columns += 2 * (steps - 1) * 224;
        for (const std::int64_t last_row : {q + 63, q + 127}) {
          const std::int64_t left = keys_seen(last_row) - (steps - 1) * 224;
          columns += left <= 64 ? 64 : left <= 128 ? 128 : left <= 192 ? 192 : 224;
        }
      }
      CAPTURE(mask);
      CAPTURE(w.q_len);
      CAPTURE(w.kv_len);
      const Prediction prediction = predicted(plan, point);
      CHECK(prediction.work.tensor_flop == 2 * 2 * 64 * (64 * columns + 128 * 224 * tiles));
      CHECK(prediction.islands[0].work.pipes[0] == 2 * 64 * columns);
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::read, Cause::operand) ==
            2 * columns * 64 * 2);
      CHECK(bytes_of_terms(plan, prediction, "V", Boundary::smem, Direction::read, Cause::operand) ==
            2 * 2 * tiles * 224 * 64 * 2);
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::write, Cause::fill) ==
            2 * tiles * 224 * 64 * 2);
    }
}

TEST_CASE(
    "a variant is found by its head_dim, tiles and warps; a size that its file does not state matches any value") {
  const Plan fused = load_plan_for_kernel("fused_mma", TILESCOPE_SOURCE_DIR);
  Point point = default_point(fused);
  point.workload.d_qk = 128, point.warps = 8;
  point.tiles = {128, 64, 1};
  REQUIRE(selected_variant(fused, point) != nullptr);
  CHECK(selected_variant(fused, point)->head_dim == 128);
  CHECK(selected_variant(fused, point)->tile("kv") == 64);
  CHECK(selected_variant(fused, point)->tile("pack") == 0);
  point.tiles[2] = 4;
  CHECK(selected_variant(fused, point) != nullptr);
  point.tiles[0] = 999;
  CHECK(selected_variant(fused, point) == nullptr);
  for (const KernelVariant& variant : fused.kernel.variants) {
    point.workload.d_qk = variant.head_dim;
    take_variant(point, fused.schedule, variant);
    CHECK(selected_variant(fused, point) == &variant);
  }
}

}  // namespace tilescope::work_products_test
