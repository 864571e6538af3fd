// Addresses of tiles in every array layout, against a list of all rows.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "base/test_seed.h"
#include "predict/described_kernel.h"
#include "predict/l2/walk/tiles.h"

namespace array_addresses_test {

using namespace tilescope;

namespace {

Plan plan_in(const std::string& layout) {
  return plan_of(fmt::format(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none]
layout: [{}]
islands:
  - name: forward
    tensor_path: mma.sync
    mma: {{m: 16, n: 8, k: 16}}
    block_order: [q, heads, batch]
variants:
  - {{head_dim: 64, tile_q: 16, tile_kv: 8, warps: 1}}
)",
                             layout));
}

// Addresses of every row of an array of so many heads, `before` bytes into a token's row, from its tensor's start.
std::set<std::int64_t> all_rows(const Workload& w, const std::string& layout, std::int64_t heads, std::int64_t token,
                                std::int64_t before) {
  std::set<std::int64_t> rows;
  const bool by_length = layout.starts_with("length");
  for (std::int64_t b = 0; b < w.batch; ++b)
    for (std::int64_t l = 0; l < w.q_len; ++l)
      for (std::int64_t h = 0; h < heads; ++h)
        rows.insert((by_length ? l * w.batch + b : b * w.q_len + l) * token + before + h * 128);
  return rows;
}

}  // namespace

TEST_CASE("pieces of tiles begin at rows of their array and come to all of its bytes, each address once") {
  std::mt19937 random(test_seed());
  for (const std::string layout :
       {"batch, length, heads, dim", "length, batch, heads, dim", "batch, length, arrays, heads, dim"}) {
    const Plan plan = plan_in(layout);
    const HardwareProfile hardware = h200();
    for (int round = 0; round < 12; ++round) {
      const auto some = [&](int most) { return 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
      const std::int64_t kv = some(3), length = 16 + some(60);
      const Workload w{some(3), kv * some(3), kv, length, length, 64, 64};
      if (w.heads_q == 1) continue;  // dense
      const Point point = point_of(plan, w);
      TileStreams streams;
      const BoundIsland bound = bind_island(plan, hardware, point, 0);
      REQUIRE(tile_streams(bound, streams));
      place_tiles(bound, streams);
      CAPTURE(layout);
      const bool packed = layout.find("arrays") != layout.npos;
      const std::int64_t q = 128 * w.heads_q, k = 128 * w.heads_kv;
      std::set<std::int64_t> starts;
      std::int64_t bytes = 0;
      for (const CachePiece& piece : streams.pieces) {
        bytes += piece.bytes;
        if (piece.bytes > 0 && piece.address < 2 << 20) starts.insert(piece.address);
      }
      CHECK(bytes == w.batch * w.q_len * 2 * (q + k));
      // The first tensor: Q, or all inputs.
      std::set<std::int64_t> rows = all_rows(w, layout, w.heads_q, packed ? q + 2 * k : q, 0);
      if (packed)
        for (const std::int64_t before : {q, q + k}) rows.merge(all_rows(w, layout, w.heads_kv, q + 2 * k, before));
      for (const std::int64_t start : starts) CHECK(rows.contains(start));
      // Pieces of Q have two rows, those of K and V one.
      std::size_t least = 0;
      for (std::int64_t tile = 0; tile < w.q_len; tile += 16)
        least += static_cast<std::size_t>((std::min<std::int64_t>(16, w.q_len - tile) + 1) / 2);
      CHECK(starts.size() >= least * static_cast<std::size_t>(w.batch * w.heads_q));
    }
  }
}

}  // namespace array_addresses_test
