// Sectors of rows in every array layout: against a count over addresses, and as an H100 counted them.
#include "predict/traffic/array_layout.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <set>

#include "base/test_seed.h"
#include "predict/described_kernel.h"

namespace array_layout_test {

using namespace tilescope;

namespace {

// A forward kernel of Triton: K and V by asynchronous copies of threads, Q and O past shared memory.
struct Counted {
  const char* layout;
  Workload workload;
  std::int64_t tile_q, tile_kv, warps, stages;
  bool causal;
  double read, written;  // l1tex__m_xbar2l1tex_read_bytes, l1tex__m_l1tex2xbar_write_bytes; a median of three
};

Prediction predicted_for(const Counted& c, const std::string& layout) {
  const std::string text = fmt::format(R"(schedule: flash2
dtypes: [fp16]
head_dims: [{1}]
masks: [none, causal]
{0}islands:
  - name: forward
    tensor_path: wgmma
    mma: {{m: 64, n: columns, k: 16}}
    row_replication: 4
    stores_log_sum_exp: true
    block_order: [q, heads, batch]
variants:
  - {{head_dim: {1}, tile_q: {2}, tile_kv: {3}, warps: {4}, stages: {5}}}
)",
                                       layout.empty() ? "" : fmt::format("layout: [{}]\n", layout), c.workload.d_qk,
                                       c.tile_q, c.tile_kv, c.warps, c.stages);
  const Plan plan = plan_of(text);
  Point point = point_of(plan, c.workload);
  if (c.causal) point.mask = *parse_mask("causal");
  return predicted(plan, point);
}

constexpr const char* dense = "batch, heads, length, dim";
constexpr const char* by_rows = "batch, length, heads, dim";
constexpr const char* side_by_side = "batch, length, arrays, heads, dim";

// validate/captures/triton_layouts.py on an H100.
const Counted counted[] = {{dense, {2, 8, 8, 2048, 2048, 72, 72}, 64, 64, 4, 2, false, 474480640, 4849664},
                           {by_rows, {2, 8, 8, 2048, 2048, 72, 72}, 64, 64, 4, 2, false, 474999008, 5373952},
                           {by_rows, {2, 8, 8, 2048, 2048, 80, 80}, 64, 64, 4, 2, false, 340787200, 5373952},
                           {by_rows, {2, 8, 8, 2048, 2048, 40, 40}, 128, 64, 8, 3, false, 137363456, 3276800},
                           {dense, {2, 8, 8, 2048, 2048, 40, 40}, 128, 64, 8, 3, false, 136839168, 2752512},
                           {by_rows, {1, 16, 16, 2048, 2048, 104, 104}, 128, 64, 8, 2, true, 185597952, 7471104},
                           {side_by_side, {2, 12, 12, 1024, 1024, 64, 64}, 128, 64, 4, 3, true, 31457280, 3244032},
                           {by_rows, {3, 6, 2, 1536, 1536, 72, 72}, 64, 32, 4, 3, true, 159252480, 4534272},
                           {by_rows, {2, 16, 4, 2048, 2048, 128, 128}, 128, 64, 8, 2, true, 301989888, 17039360},
                           {side_by_side, {1, 8, 8, 4096, 4096, 88, 88}, 128, 64, 8, 2, false, 576716800, 6422528}};

}  // namespace

TEST_CASE("the sectors of rows are those that a count over all addresses finds") {
  std::mt19937 random(test_seed());
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (int round = 0; round < 400; ++round) {
    RowPlaces places{.batch = from(1, 3), .heads = from(1, 9), .length = from(1, 40), .row = from(1, 150)};
    places.head_step = places.row;
    places.step = places.row * places.heads + (round % 2 == 0 ? 0 : from(0, 100));
    places.entry_step = places.step * places.length, places.first = from(0, 200);
    const std::int64_t sector = std::int64_t{16} << (random() % 3);
    std::int64_t rows = 0, blocks = 0;
    for (std::int64_t b = 0; b < places.batch; ++b)
      for (std::int64_t h = 0; h < places.heads; ++h)
        for (std::int64_t l = 0; l < places.length; ++l) {
          const std::int64_t start = places.first + b * places.entry_step + h * places.head_step + l * places.step;
          std::set<std::int64_t> of_row, of_block;
          for (std::int64_t byte = 0; byte < places.row; ++byte) {
            if (byte % sector == 0) blocks += std::ssize(of_block), of_block.clear();
            of_row.insert((start + byte) / sector), of_block.insert((start + byte) / sector);
          }
          rows += std::ssize(of_row), blocks += std::ssize(of_block);
        }
    CHECK(sectors_of_rows(places, sector, false) == rows);
    CHECK(sectors_of_rows(places, sector, true) == blocks);
  }
}

TEST_CASE("bytes between L2 and SMs in several layouts are those that an H100 counted of Triton kernels") {
  for (const Counted& c : counted) {
    const Prediction with = predicted_for(c, c.layout), without = predicted_for(c, "");
    const auto& moved = with.traffic[Boundary::l2];
    CAPTURE(c.layout);
    CAPTURE(c.workload.d_qk);
    CHECK(static_cast<double>(moved[0]) / c.read == doctest::Approx(1).epsilon(0.001));
    CHECK(static_cast<double>(moved[1]) / c.written == doctest::Approx(1).epsilon(0.001));
    // Rows of whole sectors cross alike in every layout, and each byte comes from memory once.
    const bool whole = c.workload.d_qk % 16 == 0;
    CHECK((without.traffic[Boundary::l2] == moved) == whole);
    CHECK(with.traffic[Boundary::hbm][0] >= with.compulsory_bytes - with.traffic[Boundary::hbm][1]);
    CHECK(with.traffic[Boundary::hbm][0] == without.traffic[Boundary::hbm][0]);  // all arrays fit the L2
  }
}

}  // namespace array_layout_test
