// Operands, formats, rows and footprints that descriptors describe, against loops that execute every instruction and count.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <map>
#include <set>

#include "cost/live_tiles.h"
#include "predict/prediction.h"

namespace tilescope {
namespace {

HardwareProfile h200() { return find_profile("h200_sxm", fmt::format("{}/hardware", TILESCOPE_SOURCE_DIR)); }

Plan plan_of(const std::string& yaml) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("tilescope_products_{}.yaml", ::getpid());
  std::ofstream(file) << "schema: tilescope/kernel/1\nkernel: described\nsummary: a kernel of this test\n" << yaml;
  const Plan plan = load_plan_for_kernel(file.string(), TILESCOPE_SOURCE_DIR);
  std::filesystem::remove(file);
  return plan;
}

Point point_of(const Plan& plan, const Workload& workload, std::size_t variant = 0) {
  Point point = default_point(plan);
  point.workload = workload;
  if (!plan.kernel.formats.empty()) set_formats(point, plan.schedule.diagram, plan.kernel.formats.front());
  take_variant(point, plan.schedule, plan.kernel.variants.at(variant));
  return point;
}

Prediction predicted(const Plan& plan, const Point& point) {
  Prediction prediction;
  predict(plan, h200(), point, prediction);
  return prediction;
}

std::int64_t bytes_of_terms(const Plan& plan, const Prediction& prediction, const std::string& array, Boundary boundary, Direction direction, Cause cause) {
  std::int64_t bytes = 0;
  for (const Term& term : prediction.terms)
    if (term.array >= 0 && plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name == array && term.boundary == boundary &&
        term.direction == direction && term.cause == cause)
      bytes += term.bytes;
  return bytes;
}

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
    stores_by: tma
    stages: 2
    smem_extra_bytes: 256
    output_through_smem: true
    persistent: true
    block_order: [q, heads, batch]
variants:
  - {head_dim: 128, tile_q: 128, tile_kv: 176, warps: 12, consumer_warps: 8, consumer_registers: 240, producer_registers: 24, registers_hold: [P]}
  - {head_dim: 128, tile_q: 192, tile_kv: 128, warps: 16, stages: 3, consumer_warps: 12, consumer_registers: 160, producer_registers: 32, registers_hold: [P]}
  - {head_dim: 128, tile_q: 128, tile_kv: 256, warps: 12, consumer_warps: 8, consumer_registers: 240, producer_registers: 24, registers_hold: [P]}
  - {head_dim: 256, tile_q: 128, tile_kv: 80, warps: 12, consumer_warps: 8, consumer_registers: 240, producer_registers: 24, registers_hold: [P]}
)";

// Every warpgroup instruction of every live tile: bytes it fetches from shared memory and FLOP.
struct Executed {
  std::int64_t fetched = 0, flop = 0;
  void wgmma(std::int64_t n, std::int64_t k_total, bool a_in_smem) {
    for (std::int64_t k = 0; k < k_total; k += 16) fetched += 2 * ((a_in_smem ? 64 * 16 : 0) + n * 16), flop += 2 * 64 * n * 16;
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

TEST_CASE("wgmma fetches A and B of every instruction from shared memory, but what it takes from registers") {
  const Plan plan = plan_of(hopper);
  for (const std::size_t variant : {0u, 1u, 3u})
    for (const bool causal : {false, true})
      for (const Workload shape : {Workload{1, 2, 1, 1024, 1024, 128, 128}, Workload{2, 2, 2, 300, 777, 128, 128}}) {
        Workload w = shape;
        w.d_qk = w.d_v = plan.kernel.variants[variant].head_dim;
        CAPTURE(variant); CAPTURE(causal); CAPTURE(w.q_len);
        Point point = point_of(plan, w, variant);
        if (causal) point.mask = *parse_mask("causal");
        const Prediction prediction = predicted(plan, point);
        const Executed executed = execute_forward(w, causal, plan.kernel.variants[variant].tile_q, plan.kernel.variants[variant].tile_kv);
        CHECK(prediction.operand_bytes == executed.fetched);
        CHECK(prediction.work.tensor_flop == executed.flop);
        CHECK(prediction.work.tensor_flop_in[static_cast<std::size_t>(Format::bf16)] == executed.flop);
      }
}

TEST_CASE("what TMA moves in shared memory is told apart from what threads and instructions do") {
  const Plan plan = plan_of(hopper);
  const Prediction prediction = predicted(plan, point_of(plan, {1, 1, 1, 1024, 1024, 128, 128}, 1));
  const std::int64_t tiles = 6, q = tiles * 192 * 128 * 2, kv = tiles * 8 * 2 * 128 * 128 * 2;
  CHECK(prediction.bulk_smem[1] == q + kv);  // fills, whole tiles
  CHECK(prediction.bulk_smem[0] == q);       // O out
  const auto& smem = prediction.traffic[static_cast<std::size_t>(Boundary::smem)];
  CHECK(smem[1] - prediction.bulk_smem[1] == q);  // O in, by threads
  CHECK(smem[0] - prediction.bulk_smem[0] == prediction.operand_bytes);
  CHECK(prediction.islands[0].blocks == 6);  // a persistent grid is no larger than its tiles
  CHECK(predicted(plan, point_of(plan, {4, 16, 16, 8192, 8192, 128, 128}, 1)).islands[0].blocks == 132);
}

// Counted on an H200 (validate/recorded): 24 key tiles of 176 bring 4224 rows to the SM where there are 4096.
TEST_CASE("what TMA loads arrives in whole tiles, rows past the end included, and memory gives only what it holds") {
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
    CHECK(bytes_of_terms(plan, prediction, "Q", Boundary::l2, Direction::read, Cause::tile) == w.batch * w.heads_q * q * 128 * 2);
    CHECK(bytes_of_terms(plan, prediction, "K", Boundary::l2, Direction::read, Cause::tile) == w.batch * w.heads_q * kv * 128 * 2);
    CHECK(bytes_of_terms(plan, prediction, "Q", Boundary::hbm, Direction::read, Cause::tile) == w.batch * w.heads_q * w.q_len * 128 * 2);
    CHECK(bytes_of_terms(plan, prediction, "K", Boundary::hbm, Direction::read, Cause::tile) == w.batch * w.heads_kv * w.kv_len * 128 * 2);
  }
}

TEST_CASE("a Hopper tile fits while its scores, output, probabilities and row state fit the consumers' registers") {
  const Plan plan = plan_of(hopper);
  const auto row = [&](std::size_t variant, Boundary level) {
    const Workload w{1, 1, 1, 8192, 8192, plan.kernel.variants[variant].head_dim, plan.kernel.variants[variant].head_dim};
    for (const FootprintRow& found : predicted(plan, point_of(plan, w, variant)).footprint)
      if (found.level == level) return found;
    return FootprintRow{};
  };
  // Per consumer thread: 128 x 176 / 256 fp32 scores, 128 x 128 / 256 fp32 outputs, half as many probabilities as scores, 2 rows' maximum and sum.
  CHECK(row(0, Boundary::reg).bytes == 256 * 4 * (88 + 64 + 44 + 4));
  CHECK(row(0, Boundary::reg).capacity_bytes == 256 * 4 * 240);
  CHECK(row(0, Boundary::reg).fits());
  CHECK(row(1, Boundary::reg).bytes == 384 * 4 * (64 + 64 + 32 + 4));
  CHECK_FALSE(row(1, Boundary::reg).fits());  // 164 of 160: three warpgroups need smaller tiles
  CHECK_FALSE(row(2, Boundary::reg).fits());  // 128 + 64 + 64 + 4 of 240
  CHECK(row(3, Boundary::reg).bytes == 256 * 4 * (40 + 128 + 20 + 4));
  CHECK(row(3, Boundary::reg).fits());
  CHECK(row(0, Boundary::smem).bytes == 2 * 128 * (128 + 2 * 2 * 176) + 256);
  CHECK(row(1, Boundary::smem).bytes == 2 * 128 * (192 + 3 * 2 * 128) + 256);  // the variant's stages, not the island's
}

TEST_CASE("stages alone may tell two variants apart") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none]
islands:
  - {name: forward, tensor_path: wgmma, mma: {m: 64, n: columns, k: 16}, block_order: [q]}
variants:
  - {head_dim: 64, tile_q: 128, tile_kv: 128, warps: 12, stages: 2}
  - {head_dim: 64, tile_q: 128, tile_kv: 128, warps: 12, stages: 4}
)");
  Point point = point_of(plan, {1, 1, 1, 512, 512, 64, 64}, 1);
  CHECK(selected_variant(plan, point) == &plan.kernel.variants[1]);
  point.stages = 0;
  CHECK(selected_variant(plan, point) == &plan.kernel.variants[0]);
  point.stages = 3;
  CHECK(unsupported(plan, point) == std::vector<std::string>{"kernel 'described' has no tile 128x128 with 12 warps and 3 stages at head_dim 64; built: "
                                                             "128x128 with 12 warps and 2 stages, 128x128 with 12 warps and 4 stages"});
}

// FlashAttention-2's backward pass at head_dim 128: 8 warps, 64 queries, 128 keys, S and dP 2 x 4, dK and dV 4 x 2, dQ 2 x 4.
const char* const backward = R"(schedule: flash2-backward
dtypes: [fp16]
head_dims: [128]
masks: [none, causal]
islands:
  - {name: preprocess, tensor_path: none, block_order: [q, heads, batch], work: {ffma: {per_element: {dO: 1}}, fadd: {per_row: 5}}, row_replication: 8}
  - name: main
    tensor_path: mma.sync
    mma: {m: 16, n: 8, k: 16}
    through_smem: [P, dS, dK]
    output_through_smem: true
    reductions: [dQ]
    stages_of: {Q: 2}
    products:
      scores: {grid: {rows: 2, columns: 4}}
      probability_gradient: {grid: {rows: 2, columns: 4}}
      query_gradient: {grid: {rows: 2, columns: 4}}
      key_gradient: {grid: {rows: 4, columns: 2}}
      value_gradient: {grid: {rows: 4, columns: 2}}
    block_order: [kv, heads, batch]
  - {name: convert, tensor_path: none, block_order: [q, heads, batch], work: {fmul: {per_output: 1}}}
variants:
  - {head_dim: 128, tile_q: 64, tile_kv: 128, warps: 8, smem_bytes: 147456}
)";

TEST_CASE("the backward pass fetches each of its ten operands once a warp that needs it, and dQ leaves by reductions") {
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
  const std::int64_t step = product(64, 128, 128, 2, 4) + product(64, 128, 128, 2, 4)    // S, dP
                            + product(64, 128, 128, 2, 4)                                // dQ = dS K
                            + product(128, 128, 64, 4, 2) + product(128, 128, 64, 4, 2);  // dK, dV
  const std::int64_t steps = 4 * 3 * 4;  // query heads, tiles of keys, tiles of queries
  CHECK(prediction.operand_bytes == steps * step);
  const auto staged = [&](const char* array, Direction direction) { return bytes_of_terms(plan, prediction, array, Boundary::smem, direction, Cause::staging); };
  CHECK(staged("P", Direction::write) == steps * 64 * 128 * 2);
  CHECK(staged("P", Direction::read) == 0);  // read as an operand
  CHECK(staged("dS", Direction::write) == steps * 64 * 128 * 2);
  CHECK(staged("dK", Direction::read) == 2 * 384 * 128 * 2);
  const std::int64_t dq = 4 * 256 * 128 * 4, main = 1;
  CHECK(bytes_of_terms(plan, prediction, "dQ_acc", Boundary::l2, Direction::write, Cause::tile) == 3 * dq + dq);  // each tile of keys adds; zeros before
  CHECK(bytes_of_terms(plan, prediction, "dQ_acc", Boundary::l2, Direction::read, Cause::tile) == dq);            // convert alone: a reduction returns nothing
  for (const FootprintRow& row : prediction.footprint)
    if (row.island == main && row.level == Boundary::smem) CHECK(row.bytes == plan.kernel.variants[0].smem_bytes);
  CHECK(prediction.islands[0].work.pipes[static_cast<std::size_t>(Pipe::ffma)] == 4 * 256 * 128);
  CHECK(prediction.islands[0].work.pipes[static_cast<std::size_t>(Pipe::fadd)] == 4 * 256 * 5 * 8);
  CHECK(prediction.islands[2].work.pipes[static_cast<std::size_t>(Pipe::fmul)] == 4 * 256 * 128);
}

TEST_CASE("copies of what passes through shared memory, and products made in parts, decide what fits") {
  std::string text = backward;
  const auto change = [&](const std::string& from, const std::string& to) { text.replace(text.find(from), from.size(), to); };
  change("stages_of: {Q: 2}", "stages_of: {Q: 2, dS: 3}");
  change("scores: {grid", "scores: {parts: 2, grid");
  const Plan once = plan_of(backward), again = plan_of(text);
  const Workload w{1, 4, 2, 256, 384, 128, 128};
  const Prediction one = predicted(once, point_of(once, w)), two = predicted(again, point_of(again, w));
  REQUIRE(one.footprint.size() == 2);
  CHECK(two.footprint[0].bytes - one.footprint[0].bytes == 2 * 64 * 128 * 2);
  // S and dP of 64 x 128 beside dK and dV of 128 x 128, dQ not yet: in halves, half of S.
  CHECK(one.footprint[1].bytes == 4 * (2 * 64 * 128 + 2 * 128 * 128));
  CHECK(one.footprint[1].bytes - two.footprint[1].bytes == 4 * 64 * 128 / 2);
}

const char* const decode = R"(schedule: split-kv
diagram: attention_paged
sizes: {pages: {of: kv_len, per: 64}}
dtypes: [{all: fp16, kv: "int4:g32:b2"}, fp16, {all: fp16, q: fp8_e4m3, k: fp8_e4m3}]
head_dims: [128]
masks: [none, causal]
limits: {q_len: 16}
packed_rows: true
whole_tile_parts: true
free: [splits]
islands:
  - name: partial
    stores_log_sum_exp: true
    writes_masked_rows: true
    tensor_path: mma.sync
    mma: {m: 16, n: 8, k: 16}
    stages: 4
    direct: [Q]
    products: {scores: {grid: {rows: 1, columns: 4}}, values: {grid: {rows: 1, columns: 1, depth: 4}}}
    block_order: [kv, q, heads, batch]
  - {name: combine, tensor_path: none, block_order: [q, heads, batch], work: {xu: {per_row_step: 1}, ffma: {per_output_step: 1}}}
variants:
  - {head_dim: 128, tile_q: 16, tile_kv: 64, warps: 4, registers_hold: [Q]}
)";

TEST_CASE("packed rows, parts of whole tiles, quantised pages: a decode kernel tile by tile") {
  const Plan plan = plan_of(decode);
  for (const std::int64_t splits : {1, 3, 7, 16})
    for (const Workload w : {Workload{2, 8, 2, 1, 1000, 128, 128}, Workload{1, 12, 2, 3, 4097, 128, 128}}) {
      Point point = point_of(plan, w);
      point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = splits;
      point.mask = *parse_mask("causal");
      CAPTURE(splits); CAPTURE(w.kv_len);
      REQUIRE(unsupported(plan, point).empty());
      const std::int64_t rows = w.heads_q / w.heads_kv * w.q_len, row_tiles = (rows + 15) / 16;
      const std::int64_t tiles = (w.kv_len + 63) / 64, each = (tiles + splits - 1) / splits;
      std::int64_t steps = 0, parts = 0, kv_values = 0;
      for (std::int64_t first = 0; first < tiles; first += each, ++parts)
        for (std::int64_t tile = first; tile < std::min(first + each, tiles); ++tile) ++steps, kv_values += std::min<std::int64_t>(64, w.kv_len - tile * 64) * 128;
      const std::int64_t heads = w.batch * w.heads_kv, scales = 128 / 32 * 2;
      const Prediction prediction = predicted(plan, point);
      CHECK(prediction.islands[0].blocks == heads * row_tiles * parts);
      CHECK(prediction.work.tensor_flop == heads * row_tiles * steps * 2 * 16 * 64 * (128 + 128));
      for (const char* array : {"K", "V"})
        CHECK(bytes_of_terms(plan, prediction, array, Boundary::l2, Direction::read, Cause::tile) == heads * row_tiles * kv_values / 128 * (128 / 2 + scales));
      CHECK(bytes_of_terms(plan, prediction, "O_part", Boundary::l2, Direction::write, Cause::tile) == heads * rows * parts * 128 * 4);
      CHECK(bytes_of_terms(plan, prediction, "L_part", Boundary::l2, Direction::read, Cause::tile) == heads * rows * parts * 4);
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::read, Cause::operand) == heads * row_tiles * steps * 64 * (128 / 2));
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::read, Cause::scales) == heads * row_tiles * steps * 64 * scales);
      CHECK(bytes_of_terms(plan, prediction, "Q", Boundary::smem, Direction::read, Cause::operand) == 0);
      CHECK(bytes_of_terms(plan, prediction, "O", Boundary::l2, Direction::write, Cause::tile) == w.batch * w.heads_q * w.q_len * 128 * 2);
    }
  CHECK(plan.schedule.diagram.axes[index(*plan.schedule.diagram.find_axis("p"))].size_in({1, 1, 1, 1, 1000, 128, 128}) == 16);
}

TEST_CASE("a tile that comes through L1 is fetched once a unit: blocks dealt to units one by one") {
  const auto with = [](std::string text, const std::string& old, const std::string& now) { return text.replace(text.find(old), old.size(), now); };
  const std::string through_l1 = with(decode, "registers_hold: [Q]", "registers_hold: [Q], l1_reads: [Q]");
  for (const std::string order : {"[kv, q, heads, batch]", "[q, kv, heads, batch]", "[heads, kv, q, batch]", "[batch, heads, q, kv]"}) {
    const Plan plan = plan_of(with(through_l1, "[kv, q, heads, batch]", order));
    for (const std::int64_t parts : {1, 5, 132, 200, 300}) {
      const Workload w{3, 80, 4, 1, parts * 64, 128, 128};  // rows: 20 a KV head, two tiles of 16
      Point point = point_of(plan, w);
      point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = parts;
      const std::int64_t units = h200().units.value;
      std::map<std::string, std::int64_t> sizes{{"q", 2}, {"kv", parts}, {"heads", w.heads_kv}, {"batch", w.batch}};
      std::set<std::array<std::int64_t, 4>> fetched;  // row tile, head, batch entry; unit
      std::int64_t expected = 0;
      const std::vector<std::string>& fastest_first = plan.kernel.islands.front().block_order;
      for (std::int64_t block = 0; block < 2 * parts * w.heads_kv * w.batch; ++block) {
        std::map<std::string, std::int64_t> at;
        std::int64_t rest = block;
        for (const std::string& dimension : fastest_first) at[dimension] = rest % sizes[dimension], rest /= sizes[dimension];
        if (fetched.insert({at["q"], at["heads"], at["batch"], block % units}).second) expected += (at["q"] == 0 ? 16 : 4) * 128 * 2;
      }
      CAPTURE(order); CAPTURE(parts);
      CHECK(bytes_of_terms(plan, predicted(plan, point), "Q", Boundary::l2, Direction::read, Cause::tile) == expected);
    }
  }
}

TEST_CASE("formats are built in combinations, and each product runs in its own") {
  const Plan plan = plan_of(decode);
  Point point = point_of(plan, {1, 8, 2, 1, 4096, 128, 128});
  CHECK(unsupported(plan, point).empty());
  set_dtype(point, plan.schedule.diagram, "v", Dtype{Format::fp16});
  CHECK(unsupported(plan, point) ==
        std::vector<std::string>{"kernel 'described' is not built for these formats; built: --dtype fp16,kv=int4:g32:b2 or fp16 or fp16,q=fp8_e4m3,k=fp8_e4m3"});
  set_formats(point, plan.schedule.diagram, plan.kernel.formats[2]);
  CHECK(unsupported(plan, point).empty());
  const Prediction prediction = predicted(plan, point);
  const auto in = [&](Format format) { return prediction.work.tensor_flop_in[static_cast<std::size_t>(format)]; };
  CHECK(in(Format::fp8_e4m3) == in(Format::fp16));
  CHECK(in(Format::fp8_e4m3) + in(Format::fp16) == prediction.work.tensor_flop);
  const HardwareProfile hardware = h200();
  const double clock = hardware.tensor_hz->value * 132, flop = static_cast<double>(in(Format::fp16));
  CHECK(prediction.time.seconds[static_cast<std::size_t>(Resource::tensor)] == doctest::Approx(flop / (8192 * clock) + flop / (2730.67 * clock)));
}

TEST_CASE("a latent that keys and values share is loaded once and fetched for both products") {
  const Plan plan = plan_of(R"(schedule: split-kv
diagram: mla_absorbed
dtypes: [bf16]
head_dims: [576]
masks: [none]
packed_rows: true
whole_tile_parts: true
free: [splits]
islands:
  - name: partial
    stores_log_sum_exp: true
    tensor_path: wgmma
    mma: {m: 64, n: columns, k: 16}
    through_smem: [P]
    products: {scores: {grid: {rows: 1, columns: 1, depth: 2}}, values: {grid: {rows: 1, columns: 2}}}
    block_order: [kv, q, heads, batch]
  - {name: combine, tensor_path: none, block_order: [q, heads, batch]}
variants:
  - {head_dim: 576, v_head_dim: 512, tile_q: 64, tile_kv: 64, warps: 8}
)");
  Point point = point_of(plan, {2, 128, 1, 1, 4096, 576, 512});
  point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = 4;
  REQUIRE(unsupported(plan, point).empty());
  const Prediction prediction = predicted(plan, point);
  const std::int64_t blocks_of_rows = 2 * 2, steps = blocks_of_rows * 64;
  CHECK(bytes_of_terms(plan, prediction, "C", Boundary::l2, Direction::read, Cause::tile) == blocks_of_rows * 4096 * 576 * 2);
  CHECK(bytes_of_terms(plan, prediction, "V", Boundary::l2, Direction::read, Cause::tile) == 0);
  CHECK(prediction.compulsory_bytes == 2 * 2 * (128 * 576 + 4096 * 576 + 128 * 512));  // Q, the latent, O
  const std::int64_t scores = 64 * 576 * 2 + 64 * 576 * 2;   // Q and the latent, one instruction column
  const std::int64_t values = 2 * 64 * 64 * 2 + 64 * 512 * 2;  // P by both warpgroups, the latent's first 512 columns
  CHECK(prediction.operand_bytes == steps * (scores + values));
  CHECK(prediction.work.tensor_flop == steps * 2 * 64 * 64 * (576 + 512));
  Plan one_reads = plan;  // the other warpgroup has P in registers
  one_reads.kernel.islands[0].products.back().fetches["P"] = 1;
  CHECK(predicted(one_reads, point).operand_bytes == steps * (scores + values - 64 * 64 * 2));
  Point wrong = point;
  wrong.workload.d_v = 576;
  CHECK(unsupported(plan, wrong).size() == 1);
}

TEST_CASE("a block mask is read row by row in whole sectors, and windows skip tiles") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none, window, block-sparse]
islands:
  - {name: forward, stores_log_sum_exp: true, writes_masked_rows: true, tensor_path: mma.sync, mma: {m: 16, n: 8, k: 16}, mask_entry_bytes: 1, block_order: [q, heads, batch]}
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
  point.mask = {.kind = Mask::Kind::blocks, .window = 0, .blocks = blocks, .text = "blocks"};
  const Prediction sparse = predicted(plan, point);
  std::int64_t mask = 0, keys = 0, live_tiles = 0;
  for (std::int64_t tile = 0; tile * 64 < 1000; ++tile) {
    const std::int64_t row = tile * 64 / 128, first = row * 15, last = first + 14;
    mask += (last / 32 - first / 32 + 1) * 32;
    for (std::int64_t j = 0; j < 15; ++j)
      if (blocks->live[static_cast<std::size_t>(row)][static_cast<std::size_t>(j)]) keys += std::min<std::int64_t>(64, 900 - 64 * j), ++live_tiles;
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
        for (std::int64_t j = x; j < std::min<std::int64_t>(x + 64, 900); ++j) live = live || (j <= i - 100 && j > i - 100 - 200);
      window_tiles += live;
    }
  CHECK(predicted(plan, point).work.tensor_flop == 6 * window_tiles * 4 * 64 * 64 * 64);
}

TEST_CASE("each warpgroup takes scores of a block's last tile up to the last key that its rows see") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none, causal]
islands:
  - {name: forward, tensor_path: wgmma, mma: {m: 64, n: columns, k: 16}, narrow_scores: {rows: 64, keys: 64},
     work: {xu: {per_score: 1}}, block_order: [q, heads, batch]}
variants:
  - {head_dim: 64, tile_q: 128, tile_kv: 224, warps: 12, consumer_warps: 8, registers_hold: [P]}
)");
  for (const char* mask : {"none", "causal"})
    for (const Workload w : {Workload{1, 2, 2, 1000, 1000, 64, 64}, Workload{1, 2, 2, 300, 1040, 64, 64}, Workload{1, 2, 2, 2048, 2048, 64, 64},
                             Workload{1, 2, 2, 700, 500, 64, 64}}) {
      Point point = point_of(plan, w);
      point.mask = *parse_mask(mask);
      std::int64_t tiles = 0, columns = 0;  // steps of blocks; columns of scores of 64 rows
      for (std::int64_t q = 0; q < w.q_len; q += 128) {
        const auto keys_seen = [&](std::int64_t last_row) {  // by a row, or by the last row there is
          std::int64_t keys = 0;
          for (std::int64_t j = 0; j < w.kv_len; ++j) keys += sees(point.mask, w.q_len, w.kv_len, std::min(last_row, w.q_len - 1), j);
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
      CAPTURE(mask); CAPTURE(w.q_len); CAPTURE(w.kv_len);
      const Prediction prediction = predicted(plan, point);
      CHECK(prediction.work.tensor_flop == 2 * 2 * 64 * (64 * columns + 128 * 224 * tiles));
      CHECK(prediction.islands[0].work.pipes[0] == 2 * 64 * columns);
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::read, Cause::operand) == 2 * columns * 64 * 2);
      CHECK(bytes_of_terms(plan, prediction, "V", Boundary::smem, Direction::read, Cause::operand) == 2 * 2 * tiles * 224 * 64 * 2);
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::write, Cause::fill) == 2 * tiles * 224 * 64 * 2);
    }
}

TEST_CASE("a block that stops at its last key loads no further, and only sums over keys end with it") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none, causal, window]
islands:
  - {name: forward, tensor_path: mma.sync, mma: {m: 16, n: 8, k: 16}, through_smem: [P], stops_at_last_key: 32,
     products: {scores: {grid: {rows: 2}}, values: {grid: {rows: 2}}}, block_order: [q, heads, batch]}
variants:
  - {head_dim: 64, tile_q: 64, tile_kv: 128, warps: 4}
)");
  for (const char* mask : {"none", "causal", "window:150"})
    for (const Workload w : {Workload{1, 2, 2, 1000, 1000, 64, 64}, Workload{1, 2, 2, 300, 1040, 64, 64}, Workload{1, 2, 2, 2048, 2048, 64, 64}}) {
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
          bool more = false;  // keys behind this tile
          for (std::int64_t i = q; i < std::min(q + 64, w.q_len) && x + 128 < w.kv_len; ++i) more = more || sees(point.mask, w.q_len, w.kv_len, i, x + 128);
          const std::int64_t keys = more ? 128 : last - x + 1;
          loaded += keys, summed += (keys + 31) / 32 * 32, ++tiles;
        }
      CAPTURE(mask); CAPTURE(w.kv_len);
      const Prediction prediction = predicted(plan, point);
      for (const char* array : {"K", "V"})
        CHECK(bytes_of_terms(plan, prediction, array, Boundary::l2, Direction::read, Cause::tile) == 2 * loaded * 64 * 2);
      CHECK(prediction.work.tensor_flop == 2 * 2 * 64 * 64 * (tiles * 128 + summed));
      CHECK(bytes_of_terms(plan, prediction, "V", Boundary::smem, Direction::read, Cause::operand) == 2 * 2 * summed * 64 * 2);
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::read, Cause::operand) == 2 * 2 * tiles * 128 * 64 * 2);
    }
}

TEST_CASE("a result that is read, updated and written goes through shared memory both ways, rows that no tile sees once") {
  const Plan plan = plan_of(R"(schedule: flash1
dtypes: [fp16]
head_dims: [64]
masks: [none, causal]
islands:
  - {name: forward, writes_masked_rows: true, tensor_path: mma.sync, mma: {m: 16, n: 8, k: 16}, through_smem: [O], stages_of: {Q: 2}, block_order: [heads, batch]}
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
  Point masked = point_of(plan, {1, 1, 1, 512, 256, 64, 64});  // the first 256 queries see nothing
  masked.mask = *parse_mask("causal");
  const Prediction causal = predicted(plan, masked);
  // 4 tiles of queries unseen, then 4, 3, 2 and 1 a tile of keys; the last two visits are of one tile, which stays.
  CHECK(bytes_of_terms(plan, causal, "O", Boundary::l2, Direction::write, Cause::tile) == (4 + 4 + 3 + 2 + 1 - 1) * 64 * 64 * 2);
  CHECK(bytes_of_terms(plan, causal, "O", Boundary::l2, Direction::read, Cause::tile) == (3 + 2 + 1 - 1) * 64 * 64 * 2);
}

TEST_CASE("zeros of sums that another island adds to are bytes of the island that clears them") {
  Plan plan = load_plan_for_kernel("backward", TILESCOPE_SOURCE_DIR);
  const Point point = point_of(plan, {1, 4, 2, 256, 384, 128, 128});
  const auto written = [&](const Prediction& out, int island, Boundary boundary) {
    std::int64_t bytes = 0;
    for (const Term& term : out.terms) {
      const bool sums = term.array >= 0 && plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name == "dQ_acc";
      if (sums && term.island == island && term.boundary == boundary && term.direction == Direction::write) bytes += term.bytes;
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

}  // namespace tilescope
