// Compares the traffic of tensor memory with loops that execute and count every instruction of an ideal kernel.
#include <doctest/doctest.h>

#include "hardware/profile.h"
#include "predict/explain/row_columns.h"
#include "predict/predict.h"

namespace tilescope::tmem_test {
namespace {

const std::string tmem_source = TILESCOPE_SOURCE_DIR;

struct ExecutedTmem {
  std::int64_t read = 0, written = 0, fetched = 0;

  // tcgen05.mma of m rows and n columns over k_total values of 2 bytes; a fresh sum does not read D first.
  void mma(std::int64_t m, std::int64_t n, std::int64_t k_total, bool fresh, bool a_in_tmem) {
    for (std::int64_t k = 0; k < k_total; k += 16) {
      written += 4 * m * n, read += fresh && k == 0 ? 0 : 4 * m * n;
      (a_in_tmem ? read : fetched) += 2 * m * 16;
      fetched += 2 * n * 16;
    }
  }
};

// Tiles of 64 rows use 64 lanes, larger ones 128 at a time.
ExecutedTmem execute_tiles(const Workload& w, bool causal, std::int64_t tile_q, std::int64_t tile_kv) {
  ExecutedTmem count;
  const std::int64_t m = tile_q % 128 == 0 ? 128 : 64;
  for (std::int64_t head = 0; head < w.batch * w.heads_q; ++head)
    for (std::int64_t q = 0; q < w.q_len; q += tile_q) {
      bool fresh = true;
      for (std::int64_t x = 0; x < w.kv_len; x += tile_kv) {
        const std::int64_t last_row = std::min(q + tile_q, w.q_len) - 1;
        if (causal && x > last_row + w.kv_len - w.q_len) continue;
        for (std::int64_t row = 0; row < tile_q; row += m) count.mma(m, tile_kv, w.d_qk, true, false);
        count.read += 4 * tile_q * tile_kv;                                     // threads load S
        count.written += 2 * tile_q * tile_kv;                                  // and store P
        count.read += 4 * tile_q * w.d_v, count.written += 4 * tile_q * w.d_v;  // and rescale O
        for (std::int64_t row = 0; row < tile_q; row += m) count.mma(m, w.d_v, tile_kv, fresh, true);
        fresh = false;
      }
      count.read += 4 * tile_q * w.d_v;  // O at the end
    }
  return count;
}

Point point_with(const Plan& plan, const Workload& w,
                 std::initializer_list<std::pair<const char*, std::int64_t>> tiles) {
  Point point = default_point(plan);
  point.workload = w;
  for (const auto& [name, size] : tiles)
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter(name))] = size;
  return point;
}

const FootprintRow* row_at(const Prediction& prediction, Boundary level) {
  for (const FootprintRow& row : prediction.footprint)
    if (row.level == level) return &row;
  return nullptr;
}

}  // namespace

TEST_CASE("tensor memory serves and takes what every instruction of an ideal kernel reads and writes there") {
  const HardwareProfile b200 = find_profile("b200_sxm", tmem_source + "/hardware");
  const Plan plan = load_plan_for_schedule("flash2", tmem_source);
  for (const bool causal : {false, true})
    for (const std::int64_t tile_q : {64, 128, 256})
      for (const std::int64_t tile_kv : {64, 128})
        for (const Workload& w : {Workload{1, 1, 1, 256, 512, 128, 128}, Workload{2, 3, 3, 300, 1000, 64, 64}}) {
          CAPTURE(causal);
          CAPTURE(tile_q);
          CAPTURE(tile_kv);
          CAPTURE(w.q_len);
          Point point = point_with(plan, w, {{"q", tile_q}, {"kv", tile_kv}});
          point.mask = *parse_mask(causal ? "causal" : "none");
          const Prediction prediction = predict(plan, b200, point);
          const ExecutedTmem executed = execute_tiles(w, causal, tile_q, tile_kv);
          CHECK(prediction.traffic[LevelId::tmem][0] == executed.read);
          CHECK(prediction.traffic[LevelId::tmem][1] == executed.written);
          CHECK(prediction.operand_bytes == executed.fetched);
          const FootprintRow* held = row_at(prediction, Boundary::tmem);
          REQUIRE(held);
          CHECK(held->bytes == 4 * tile_q * (tile_kv + w.d_v));  // P takes the place of S
          CHECK(held->capacity_bytes == 256 * 1024);
        }
}

TEST_CASE(
    "operands of a step from shared memory are those of FlashAttention-4's roofline (arXiv 2603.05451, table 1)") {
  const HardwareProfile b200 = find_profile("b200_sxm", tmem_source + "/hardware");
  const Plan plan = load_plan_for_schedule("flash2", tmem_source);
  for (const auto& [rows, clocks] : {std::pair<std::int64_t, std::int64_t>{128, 768}, {256, 1536}}) {
    const Point point = point_with(plan, {1, 1, 1, rows, 128, 128, 128}, {{"q", rows}, {"kv", 128}});
    CHECK(predict(plan, b200, point).operand_bytes == 128 * clocks);  // 128 B a clock
  }
}

TEST_CASE("a tile whose accumulators exceed tensor memory is infeasible there") {
  const HardwareProfile b200 = find_profile("b200_sxm", tmem_source + "/hardware");
  const Plan plan = load_plan_for_schedule("flash2", tmem_source);
  const Workload w{1, 4, 4, 1024, 1024, 128, 128};
  Point point = point_with(plan, w, {{"q", 256}, {"kv", 128}});
  CHECK(row_at(predict(plan, b200, point), Boundary::tmem)->fits());  // two tiles of 128 rows, as FlashAttention-4 has
  point = point_with(plan, w, {{"q", 256}, {"kv", 256}});
  const Prediction large = predict(plan, b200, point);
  CHECK_FALSE(row_at(large, Boundary::tmem)->fits());
  CHECK_FALSE(large.feasible);
}

TEST_CASE("a backward kernel turns its scores, so that two of three products take them from tensor memory") {
  const HardwareProfile b200 = find_profile("b200_sxm", tmem_source + "/hardware");
  const Plan plan = load_plan_for_schedule("flash2-backward", tmem_source);
  const Workload w{1, 2, 2, 512, 512, 64, 64};
  const Point point = point_with(plan, w, {{"q", 64}, {"kv", 64}});
  const Prediction prediction = predict(plan, b200, point);
  const std::int64_t tiles = 2 * 512 * 512;  // scores of both heads, each visited once
  const auto at = [&](const char* array, Boundary boundary, Direction direction, Cause cause) {
    std::int64_t bytes = 0;
    for (const Term& term : prediction.terms)
      if (term.array >= 0 && plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name == array &&
          term.boundary == boundary && term.direction == direction && term.cause == cause)
        bytes += term.bytes;
    return bytes;
  };
  CHECK(at("P", Boundary::tmem, Direction::write, Cause::tensor_memory) == 2 * tiles);  // for dV
  CHECK(at("P", Boundary::tmem, Direction::read, Cause::mma) == 2 * tiles);
  CHECK(at("P", Boundary::smem, Direction::write, Cause::staging) == 0);
  CHECK(at("dS", Boundary::tmem, Direction::write, Cause::tensor_memory) == 2 * tiles);  // for dK
  CHECK(at("dS", Boundary::smem, Direction::write, Cause::staging) == 2 * tiles);  // for dQ, whose rows are queries
  CHECK(at("dS", Boundary::smem, Direction::read, Cause::operand) == 2 * tiles);
}

TEST_CASE("GPUs without tensor memory, few queries and described kernels have no traffic there") {
  const Plan flash2 = load_plan_for_schedule("flash2", tmem_source);
  for (const char* gpu : {"h200_sxm", "a100_sxm_80", "rtx5090", "l40s", "mi300x"}) {
    const Prediction prediction = predict(flash2, find_profile(gpu, tmem_source + "/hardware"),
                                          point_with(flash2, {1, 4, 4, 512, 512, 128, 128}, {{"q", 128}, {"kv", 64}}));
    CHECK_MESSAGE(prediction.traffic.both(LevelId::tmem) == 0, gpu);
    CHECK_MESSAGE(!counted_in(prediction, LevelId::tmem), gpu);
    CHECK_MESSAGE(row_at(prediction, Boundary::tmem) == nullptr, gpu);
  }
  for (const char* gpu : {"b200_sxm", "gb200", "b300_sxm"}) {
    const HardwareProfile blackwell = find_profile(gpu, tmem_source + "/hardware");
    const Workload w{1, 4, 4, 512, 512, 128, 128};
    CHECK(predict(flash2, blackwell, point_with(flash2, w, {{"q", 128}, {"kv", 64}})).traffic.both(LevelId::tmem) > 0);
    CHECK(predict(flash2, blackwell, point_with(flash2, w, {{"q", 16}, {"kv", 64}})).traffic.both(LevelId::tmem) == 0);
    const Plan described = load_plan_for_kernel("pytorch_flash2", tmem_source);
    CHECK(
        predict(described, blackwell, point_with(described, w, {{"q", 128}, {"kv", 64}})).traffic.both(LevelId::tmem) ==
        0);
  }
}

}  // namespace tilescope::tmem_test
