// Compares rows, formats, parts and merges of decode kernels with loops that walk every tile.
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>

#include "predict/described_kernel.h"
#include "predict/point/support.h"
#include "predict/predict.h"

namespace tilescope::products_decode_test {
namespace {

const char* const decode = R"(schedule: split-kv
diagram: attention_paged
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
  - {name: combine, tensor_path: none, block_order: [q, heads, batch]}
code:
  sizes: {pages: {of: kv_len, per: 64}}
  facts: [{launch: combine, work: {xu: {per_row_step: 1}, ffma: {per_output_step: 1}}}]
  variants:
    - {head_dim: 128, tile_q: 16, tile_kv: 64, warps: 4, registers_hold: [Q]}
)";

}  // namespace

TEST_CASE("packed rows, parts of whole tiles and quantised pages of a decode kernel equal counts tile by tile") {
  const Plan plan = plan_of(decode);
  for (const std::int64_t splits : {1, 3, 7, 16})
    for (const Workload w : {Workload{2, 8, 2, 1, 1000, 128, 128}, Workload{1, 12, 2, 3, 4097, 128, 128},
                             Workload{1, 12, 2, 3, 63, 128, 128}, Workload{2, 8, 2, 1, 1, 128, 128}}) {
      Point point = point_of(plan, w);
      point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = splits;
      point.mask = *parse_mask("causal");
      CAPTURE(splits);
      CAPTURE(w.kv_len);
      REQUIRE(unsupported(plan, h200(), point).empty());
      const std::int64_t rows = w.heads_q / w.heads_kv * w.q_len, row_tiles = (rows + 15) / 16;
      const std::int64_t tiles = (w.kv_len + 63) / 64, each = (tiles + splits - 1) / splits;
      std::int64_t steps = 0, parts = 0, kv_values = 0;
      for (std::int64_t first = 0; first < tiles; first += each, ++parts)
        for (std::int64_t tile = first; tile < std::min(first + each, tiles); ++tile)
          ++steps, kv_values += std::min<std::int64_t>(64, w.kv_len - tile * 64) * 128;
      const std::int64_t heads = w.batch * w.heads_kv, scales = 128 / 32 * 2;
      const Prediction prediction = predicted(plan, point);
      CHECK(prediction.islands[0].blocks == heads * row_tiles * parts);
      CHECK(prediction.work.tensor_flop == heads * row_tiles * steps * 2 * 16 * 64 * (128 + 128));
      for (const char* array : {"K", "V"})
        CHECK(bytes_of_terms(plan, prediction, array, Boundary::l2, Direction::read, Cause::tile) ==
              heads * row_tiles * kv_values / 128 * (128 / 2 + scales));
      CHECK(bytes_of_terms(plan, prediction, "O_part", Boundary::l2, Direction::write, Cause::tile) ==
            heads * rows * parts * 128 * 4);
      CHECK(bytes_of_terms(plan, prediction, "L_part", Boundary::l2, Direction::read, Cause::tile) ==
            heads * rows * parts * 4);
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::read, Cause::operand) ==
            heads * row_tiles * steps * 64 * (128 / 2));
      CHECK(bytes_of_terms(plan, prediction, "K", Boundary::smem, Direction::read, Cause::scales) ==
            heads * row_tiles * steps * 64 * scales);
      CHECK(bytes_of_terms(plan, prediction, "Q", Boundary::smem, Direction::read, Cause::operand) == 0);
      CHECK(bytes_of_terms(plan, prediction, "O", Boundary::l2, Direction::write, Cause::tile) ==
            w.batch * w.heads_q * w.q_len * 128 * 2);
    }
  CHECK(plan.schedule.diagram.axes[index(*plan.schedule.diagram.find_axis("p"))].size_in(
            {1, 1, 1, 1, 1000, 128, 128}) == 16);
}

TEST_CASE("a tile loaded through L1 is fetched once an SM when blocks are dealt to SMs one by one") {
  const auto with = [](std::string text, const std::string& old, const std::string& now) {
    return text.replace(text.find(old), old.size(), now);
  };
  const std::string through_l1 = with(decode, "registers_hold: [Q]", "registers_hold: [Q], l1_reads: [Q]");
  for (const std::string order :
       {"[kv, q, heads, batch]", "[q, kv, heads, batch]", "[heads, kv, q, batch]", "[batch, heads, q, kv]"}) {
    const Plan plan = plan_of(with(through_l1, "[kv, q, heads, batch]", order));
    for (const std::int64_t parts : {1, 5, 132, 200, 300}) {
      const Workload w{3, 80, 4, 1, parts * 64, 128, 128};  // rows: 20 a KV head, two tiles of 16
      Point point = point_of(plan, w);
      point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = parts;
      const std::int64_t units = h200().units.value;
      std::map<std::string, std::int64_t> sizes{{"q", 2}, {"kv", parts}, {"heads", w.heads_kv}, {"batch", w.batch}};
      std::set<std::array<std::int64_t, 4>> fetched;  // row tile, head, batch entry, SM
      std::int64_t expected = 0;
      const std::vector<GridDimension>& fastest_first = plan.kernel.islands.front().block_order;
      for (std::int64_t block = 0; block < 2 * parts * w.heads_kv * w.batch; ++block) {
        std::map<std::string, std::int64_t> at;
        std::int64_t rest = block;
        for (const std::string& dimension : to_strings(fastest_first))
          at[dimension] = rest % sizes[dimension], rest /= sizes[dimension];
        if (fetched.insert({at["q"], at["heads"], at["batch"], block % units}).second)
          expected += (at["q"] == 0 ? 16 : 4) * 128 * 2;
      }
      CAPTURE(order);
      CAPTURE(parts);
      CHECK(bytes_of_terms(plan, predicted(plan, point), "Q", Boundary::l2, Direction::read, Cause::tile) == expected);
    }
  }
}

TEST_CASE("formats are built in combinations, and each product runs in its own format") {
  const Plan plan = plan_of(decode);
  Point point = point_of(plan, {1, 8, 2, 1, 4096, 128, 128});
  CHECK(unsupported(plan, h200(), point).empty());
  set_dtype(point, plan.schedule.diagram, "v", Dtype{Format::fp16});
  CHECK(unsupported(plan, h200(), point) ==
        std::vector<std::string>{"kernel 'described' is not built for these formats; built: --dtype "
                                 "fp16,kv=int4:g32:b2 or fp16 or fp16,q=fp8_e4m3,k=fp8_e4m3"});
  set_formats(point, plan.schedule.diagram, plan.kernel.formats[2]);
  CHECK(unsupported(plan, h200(), point).empty());
  const Prediction prediction = predicted(plan, point);
  const auto in = [&](Format format) { return prediction.work.tensor_flop_in[static_cast<std::size_t>(format)]; };
  CHECK(in(Format::fp8_e4m3) == in(Format::fp16));
  CHECK(in(Format::fp8_e4m3) + in(Format::fp16) == prediction.work.tensor_flop);
  const HardwareProfile hardware = h200();
  const double clock = hardware.tensor_hz->value * 132, flop = static_cast<double>(in(Format::fp16));
  CHECK(prediction.time.seconds[static_cast<std::size_t>(Resource::tensor)] ==
        doctest::Approx(flop / (8192 * clock) + flop / (2730.67 * clock)));
}

TEST_CASE("a latent that keys and values share is loaded once and is fetched for both products") {
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
  REQUIRE(unsupported(plan, h200(), point).empty());
  const Prediction prediction = predicted(plan, point);
  const std::int64_t blocks_of_rows = 2 * 2, steps = blocks_of_rows * 64;
  CHECK(bytes_of_terms(plan, prediction, "C", Boundary::l2, Direction::read, Cause::tile) ==
        blocks_of_rows * 4096 * 576 * 2);
  CHECK(bytes_of_terms(plan, prediction, "V", Boundary::l2, Direction::read, Cause::tile) == 0);
  CHECK(prediction.compulsory_bytes == 2 * 2 * (128 * 576 + 4096 * 576 + 128 * 512));  // Q, the latent, O
  const std::int64_t scores = 64 * 576 * 2 + 64 * 576 * 2;     // Q and the latent, one instruction column
  const std::int64_t values = 2 * 64 * 64 * 2 + 64 * 512 * 2;  // P by both warpgroups, the latent's first 512 columns
  CHECK(prediction.operand_bytes == steps * (scores + values));
  CHECK(prediction.work.tensor_flop == steps * 2 * 64 * 64 * (576 + 512));
  Plan one_reads = plan;  // the other warpgroup holds P in registers
  one_reads.kernel.islands[0].products.back().fetches["P"] = 1;
  CHECK(predicted(one_reads, point).operand_bytes == steps * (scores + values - 64 * 64 * 2));
  Point wrong = point;
  wrong.workload.d_v = 576;
  CHECK(unsupported(plan, h200(), wrong).size() == 1);
}

TEST_CASE("merges of few and of many parts have the operations and sectors of combine.cuh, for the rows that exist") {
  const Plan plan = load_plan_for_kernel("split_kv", TILESCOPE_SOURCE_DIR);
  const HardwareProfile hardware = h200();
  for (const std::int64_t parts : {1, 4, 5, 33}) {
    Point point = default_point(plan);
    point.workload = {2, 6, 2, 1, 33 * 64, 128, 128};
    take_variant(point, plan.schedule, plan.kernel.variants[1]);
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = parts;
    Prediction prediction;
    predict(plan, hardware, point, prediction);
    const std::int64_t rows = 2 * 6, cut = (33 + parts - 1) / parts,
                       all = (33 + cut - 1) / cut;  // parts that are not empty
    const bool few = all <= 4;
    const auto& pipes = prediction.islands[1].work.pipes;
    const auto pipe = [&](Pipe which) { return pipes[static_cast<std::size_t>(which)]; };
    CAPTURE(parts);
    CHECK(pipe(Pipe::ffma) == rows * all * (128 + (few ? 16 : 4)));
    CHECK(pipe(Pipe::fadd) == rows * (few ? all * 16 + 1 : all * 4 + 128 * 9 + 1));
    CHECK(pipe(Pipe::fmul) == rows * (128 + (few ? 16 : 128) + 1));
    CHECK(pipe(Pipe::xu) == rows * (few ? all * 16 + 32 : 4 * ((all + 31) / 32 * 32) + 128 + 32));
    std::int64_t read = 0;
    for (const Term& term : prediction.terms)
      if (term.island == 1 && term.boundary == Boundary::l2 && term.direction == Direction::read) read += term.bytes;
    const std::int64_t sectors = few ? (all * rows + 1) / 2 : 8 * all * rows;
    CHECK(read == rows * all * 128 * 4 + sectors * 32);
  }
}

}  // namespace tilescope::products_decode_test
