// Compares the tiles and keys that masks leave with loops over every query and key.
#include <doctest/doctest.h>

#include "cost/live_tiles.h"
#include "predict/described_kernel.h"

namespace tilescope::products_masks_test {

TEST_CASE("a block mask is read row by row in whole sectors, and windows skip tiles") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none, window, block-sparse]
islands:
  - {name: forward, stores_log_sum_exp: true, writes_masked_rows: true, tensor_path: mma.sync, mma: {m: 16, n: 8,
      k: 16}, block_order: [q, heads, batch]}
code: {facts: [{launch: forward, mask_entry_bytes: 1}]}
variants:
  - {head_dim: 64, tile_q: 64, tile_kv: 64, warps: 4}
)");
  Point point = point_of(plan, {2, 3, 3, 1000, 900, 64, 64});
  auto blocks = std::make_shared<Mask::Blocks>();
  blocks->block_q = 128, blocks->block_kv = 64;
  for (std::int64_t i = 0; i < 8; ++i) {
    std::vector<bool> row;
    for (std::int64_t j = 0; j < 15; ++j) row.push_back((3 * i + 5 * j) % 4 == 0);
    blocks->live.push_back(row);
  }
  point.mask = {.kind = MaskKind::blocks, .blocks = blocks, .text = "blocks"};
  const Prediction sparse = predicted(plan, point);
  std::int64_t mask = 0, keys = 0, live_tiles = 0;
  for (std::int64_t tile = 0; tile * 64 < 1000; ++tile) {
    const std::int64_t row = tile * 64 / 128, first = row * 15, last = first + 14;
    mask += (last / 32 - first / 32 + 1) * 32;
    for (std::int64_t j = 0; j < 15; ++j)
      if (blocks->live[static_cast<std::size_t>(row)][static_cast<std::size_t>(j)])
        keys += std::min<std::int64_t>(64, 900 - 64 * j), ++live_tiles;
  }
  std::int64_t predicted_mask = 0;
  for (const Term& term : sparse.terms)
    if (term.cause == Cause::mask && term.boundary == Boundary::l2) predicted_mask += term.bytes;
  CHECK(predicted_mask == 6 * mask);
  CHECK(bytes_of_terms(plan, sparse, "K", Boundary::l2, Direction::read, Cause::tile) == 6 * keys * 64 * 2);
  CHECK(sparse.work.tensor_flop == 6 * live_tiles * 4 * 64 * 64 * 64);
  CHECK(bytes_of_terms(plan, sparse, "O", Boundary::l2, Direction::write, Cause::tile) == 6 * 1000 * 64 * 2);
  point.mask = *parse_mask("window:200");
  std::int64_t window_tiles = 0;
  for (std::int64_t q = 0; q < 1000; q += 64)
    for (std::int64_t x = 0; x < 900; x += 64) {
      bool live = false;
      for (std::int64_t i = q; i < std::min<std::int64_t>(q + 64, 1000); ++i)
        for (std::int64_t j = x; j < std::min<std::int64_t>(x + 64, 900); ++j)
          live = live || (j <= i - 100 && j > i - 100 - 200);
      window_tiles += live;
    }
  CHECK(predicted(plan, point).work.tensor_flop == 6 * window_tiles * 4 * 64 * 64 * 64);
}

TEST_CASE("a block that stops at its last key loads no later keys; only its sums over keys become shorter") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none, causal, window]
islands:
  - {name: forward, tensor_path: mma.sync, mma: {m: 16, n: 8, k: 16}, through_smem: [P],
     products: {scores: {grid: {rows: 2}}, values: {grid: {rows: 2}}}, block_order: [q, heads, batch]}
code: {facts: [{launch: forward, stops_at_last_key: 32}]}
variants:
  - {head_dim: 64, tile_q: 64, tile_kv: 128, warps: 4}
)");
  for (const char* mask : {"none", "causal", "window:150"})
    for (const Workload w : {Workload{1, 2, 2, 1000, 1000, 64, 64}, Workload{1, 2, 2, 300, 1040, 64, 64},
                             Workload{1, 2, 2, 2048, 2048, 64, 64}}) {
      Point point = point_of(plan, w);
      point.mask = *parse_mask(mask);
      std::int64_t loaded = 0, tiles = 0, summed = 0;
      for (std::int64_t q = 0; q < w.q_len; q += 64)
        for (std::int64_t x = 0; x < w.kv_len; x += 128) {
          std::int64_t last = -1;
          for (std::int64_t j = x; j < std::min(x + 128, w.kv_len); ++j)
            for (std::int64_t i = q; i < std::min(q + 64, w.q_len); ++i)
              if (sees(point.mask, w.q_len, w.kv_len, i, j)) last = j;
          if (last < 0) continue;
          bool more = false;  // keys after this tile
          for (std::int64_t i = q; i < std::min(q + 64, w.q_len) && x + 128 < w.kv_len; ++i)
            more = more || sees(point.mask, w.q_len, w.kv_len, i, x + 128);
          const std::int64_t keys = more ? 128 : last - x + 1;
          loaded += keys, summed += (keys + 31) / 32 * 32, ++tiles;
        }
      CAPTURE(mask);
      CAPTURE(w.kv_len);
      const Prediction prediction = predicted(plan, point);
      for (const char* array : {"K", "V"})
        CHECK(bytes_of_terms(plan, prediction, array, Boundary::l2, Direction::read, Cause::tile) ==
              2 * loaded * 64 * 2);
      CHECK(prediction.work.tensor_flop == 2 * 2 * 64 * 64 * (tiles * 128 + summed));
      CHECK(bytes_of_terms(plan, prediction, "V", Boundary::smem, Direction::read, Cause::operand) ==
            2 * 2 * summed * 64 * 2);
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::read, Cause::operand) ==
            2 * 2 * tiles * 128 * 64 * 2);
    }
}

TEST_CASE("warpgroups that leave out a block's last tiles, of which they see no key, compute less and load as much") {
  const std::string text = R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none, causal, window]
islands:
  - {name: forward, tensor_path: wgmma, mma: {m: 64, n: columns, k: 16}, block_order: [q, heads, batch]}
variants:
  - {head_dim: 64, tile_q: 256, tile_kv: 64, warps: 16}
)";
  const Plan whole = plan_of(text);
  const Plan own = plan_of(text + "code: {facts: [{launch: forward, own_last_tile: 64}]}\n");
  for (const char* mask : {"none", "causal", "window:150"})
    for (const Workload w : {Workload{1, 2, 2, 1000, 1000, 64, 64}, Workload{1, 2, 2, 300, 1040, 64, 64},
                             Workload{1, 2, 2, 2048, 2048, 64, 64}}) {
      Point point = point_of(own, w);
      point.mask = *parse_mask(mask);
      const auto live = [&](std::int64_t q, std::int64_t rows, std::int64_t x) {
        for (std::int64_t i = std::min(q, w.q_len - 1); i < std::min(q + rows, w.q_len); ++i)
          for (std::int64_t j = x; j < std::min(x + 64, w.kv_len); ++j)
            if (sees(point.mask, w.q_len, w.kv_len, i, j)) return true;
        return false;
      };
      std::int64_t tiles = 0;  // of a warpgroup
      for (std::int64_t q = 0; q < w.q_len; q += 256)
        for (std::int64_t group = q; group < q + 256; group += 64) {
          std::int64_t left = 0;  // behind the last tile with a key that the warpgroup sees
          for (std::int64_t x = 0; x < w.kv_len; x += 64) {
            if (!live(q, 256, x)) continue;
            left = live(std::min(group, (w.q_len - 1) / 64 * 64), 64, x) ? 0 : left + 1;
            ++tiles;
          }
          tiles -= left;
        }
      CAPTURE(mask);
      CAPTURE(w.kv_len);
      const Prediction prediction = predicted(own, point), all = predicted(whole, point);
      CHECK(prediction.work.tensor_flop == 2 * 2 * 2 * 64 * 64 * 64 * tiles);
      CHECK(prediction.work.tensor_flop <= all.work.tensor_flop);
      CHECK(prediction.traffic[LevelId::l2] == all.traffic[LevelId::l2]);
    }
}

}  // namespace tilescope::products_masks_test
