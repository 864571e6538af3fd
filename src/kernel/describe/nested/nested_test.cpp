// Kernels of loops inside of a loop over keys, written with registers, labels and sizes of our own.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "base/test_seed.h"
#include "kernel/code/sass/listing.h"
#include "kernel/describe/description.h"
#include "kernel/describe/facts.h"

namespace nested_test {

using namespace tilescope;

namespace {

struct Sizes {
  std::int64_t row_warps = 2, column_warps = 2, a_tiles = 2, b_tiles = 4;
  std::int64_t passes = 3;  // of the loop over the head dimension; 0: a parameter says how many
  bool wide = false;        // warps along the y axis of a block of 32 columns
};

// Writes a kernel: scores in a loop inside, exponentials, values in another. Registers are drawn anew for each kernel.
class Writer {
 public:
  Writer(const Sizes& sizes, std::mt19937_64& random) : s_(sizes), random_(random) {
    for (int i = 0; i < 8; ++i) integers_.push_back(i);
    std::shuffle(integers_.begin(), integers_.end(), random_);
    for (int i = 0; i < 56; ++i) quads_.push_back(16 + 4 * i);
    std::shuffle(quads_.begin(), quads_.end(), random_);
  }

  CodeSection section() {
    const int thread = integer(), warp = integer(), a = integer(), b = integer(), steps = integer(), left = integer();
    const int lane_of_grid = integer(), moved = integer();
    if (s_.wide) {
      line("S2R R{}, SR_TID.Y", warp);
    } else {
      line("S2R R{}, SR_TID.X", thread), line("SHF.R.U32.HI R{}, RZ, 0x5, R{}", warp, thread);
    }
    line("LOP3.LUT R{}, R{}, {:#x}, RZ, 0xc0, !PT", lane_of_grid, warp, s_.column_warps - 1);
    line("SHF.R.U32.HI R{}, RZ, {:#x}, R{}", moved, std::bit_width(static_cast<std::uint64_t>(s_.column_warps)) - 1,
         warp);
    line("IMAD.SHL.U32 R{}, R{}, 0x400, RZ", a, moved), line("IMAD.SHL.U32 R{}, R{}, 0x400, RZ", b, lane_of_grid);
    std::vector<int> scores(chains()), values(chains());
    for (int& quad : scores) quad = this->quad();
    for (int& quad : values) quad = this->quad();
    for (const int quad : values) zero(quad);
    line("LDC R{}, c[0x0][0x210]", steps);
    const int outer = label();
    for (const int quad : scores) zero(quad);
    product(scores, a, b, left, s_.passes);
    for (int i = 0; i < 4; ++i) line("MUFU.EX2 R{0}, R{0}", scores.front() + i);
    line("STS [R{}+0x4000], R{}", a, scores.front()), line("BAR.SYNC.DEFER_BLOCKING 0x0");
    product(values, a, b, left, 0);
    line("IADD3 R{0}, R{0}, -0x1, RZ", steps), line("ISETP.NE.AND P1, PT, R{}, RZ, PT", steps);
    line("@P1 BRA `(.L_x_{})", outer);
    for (const int quad : values) line("STG.E.128 desc[UR4][R{}.64], R{}", 240, quad);
    line("EXIT");
    return read_listing(text_, "test").at(0);
  }

 private:
  std::size_t chains() const { return static_cast<std::size_t>(s_.a_tiles * s_.b_tiles); }
  int integer() {
    integers_.push_back(integers_.front()), integers_.erase(integers_.begin());
    return integers_.back();
  }
  int quad() {
    quads_.push_back(quads_.front()), quads_.erase(quads_.begin());
    return quads_.back();
  }
  int label() {
    text_ += fmt::format(".L_x_{}:\n", ++label_);
    return label_;
  }
  template <class... Values>
  void line(const char* format, Values... values) {
    const std::string instruction = fmt::format(fmt::runtime(format), values...);
    text_ += fmt::format("        /*{:04x}*/                   {} ;\n", address_, instruction);
    address_ += 16;
  }
  void zero(int quad) { line("CS2R R{}, SRZ", quad), line("CS2R R{}, SRZ", quad + 2); }

  // A loop whose passes multiply tiles that matrix loads bring: the first one's stand before it, the next one's in it.
  void product(const std::vector<int>& sums, int a, int b, int left, std::int64_t passes) {
    const int rows = quad(), columns = quad();
    if (passes > 0) line("MOV R{}, {:#x}", left, passes);
    else line("LDC R{}, c[0x0][0x214]", left);
    const auto loads = [&] {
      line("LDSM.16.M88.4 R{}, [R{}]", rows, a), line("LDSM.16.M88.4 R{}, [R{}+0x8000]", columns, b);
    };
    loads();
    const int loop = label();
    std::vector<int> order(chains());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    for (const int chain : order)
      line("HMMA.1688.F32 R{0}, R{1}, R{2}, R{0}", sums[static_cast<std::size_t>(chain)],
           rows + 2 * (chain / static_cast<int>(s_.b_tiles)), columns + chain % static_cast<int>(s_.b_tiles));
    line("LDGDEPBAR"), line("DEPBAR.LE SB0, 0x1");
    loads();
    line("IADD3 R{0}, R{0}, -0x1, RZ", left), line("ISETP.NE.AND P0, PT, R{}, RZ, PT", left);
    line("@P0 BRA `(.L_x_{})", loop);
  }

  Sizes s_;
  std::mt19937_64& random_;
  std::vector<int> integers_, quads_;
  std::string text_ = "\t.section\t.text.k,\"ax\",@progbits\n.text.k:\n";
  int address_ = 0, label_ = 0;
};

FoundFacts facts_of(const Sizes& sizes, std::mt19937_64& random) {
  const std::int64_t threads = 32 * sizes.row_warps * sizes.column_warps;
  CubinKernel kernel;
  kernel.name = "k", kernel.registers = 255, kernel.most_threads = threads;
  return attention_facts(kernel, "8.0", summarise(Writer(sizes, random).section(), threads));
}

}  // namespace

TEST_CASE("products in loops inside of a loop over keys: the tile follows from fragments and from where warps read") {
  std::mt19937_64 random(test_seed());
  const auto pick = [&](std::initializer_list<std::int64_t> of) { return *(of.begin() + random() % of.size()); };
  for (int round = 0; round < 20; ++round) {
    const Sizes s{.row_warps = pick({1, 2, 4}),
                  .column_warps = pick({1, 2, 4}),
                  .a_tiles = pick({1, 2}),
                  .b_tiles = pick({1, 2, 4}),
                  .passes = pick({0, 2, 3, 5}),
                  .wide = random() % 2 == 0};
    CAPTURE(s.row_warps);
    CAPTURE(s.column_warps);
    CAPTURE(s.a_tiles);
    CAPTURE(s.b_tiles);
    CAPTURE(s.passes);
    const FoundFacts found = facts_of(s, random);
    REQUIRE_MESSAGE(found.facts, found.missing);
    const AttentionFacts& facts = *found.facts;
    CHECK(facts.rows == 16 * s.a_tiles);
    CHECK(facts.keys == 8 * s.b_tiles);
    CHECK(facts.score_grid.rows == s.row_warps);
    CHECK(facts.score_grid.columns == s.column_warps);
    CHECK(facts.v_head_dim == 8 * s.b_tiles * s.column_warps);
    CHECK(facts.head_dim == 8 * std::max<std::int64_t>(1, s.passes));
    CHECK(facts.depth_of_pass == (s.passes == 0 ? 8 : 0));
    CHECK(facts.p_in_smem);
    CHECK(facts.sliced);
    CHECK(facts_json(read_facts(facts_json(facts), "facts")) == facts_json(facts));

    DescribeInput input{.name = "k", .facts = facts, .launch = {{4, 2, 1}, 32 * s.row_warps * s.column_warps, 1024}};
    input.workload = Workload{1, 2, 2, 4 * 16 * s.a_tiles * s.row_warps, 4096, 8, 8};
    input.head_dims_stated = false;
    const Description bare = describe_kernel(input);
    const bool asks = std::any_of(bare.missing.begin(), bare.missing.end(),
                                  [](const MissingValue& value) { return value.key == "head_dim"; });
    CHECK(asks == (s.passes == 0));  // never guessed
    const std::string text = bare.yaml();
    for (const std::string& line : {fmt::format("tile_q: {}", 16 * s.a_tiles * s.row_warps),
                                    fmt::format("tile_kv: {}", 8 * s.b_tiles * s.column_warps),
                                    std::string("through_smem: [P]"), std::string("stages: 1  # code")})
      CHECK_MESSAGE(text.find(line) != std::string::npos, line);
  }
}

TEST_CASE("units that have other columns of the values each compute all scores") {
  std::mt19937_64 random(test_seed() + 1);
  for (int round = 0; round < 100; ++round) {
    AttentionFacts facts;
    facts.opcode = "HGMMA", facts.operands = "BF16", facts.compute_capability = "9.0";
    facts.m = 64, facts.k = 16, facts.operand_bits = facts.loaded_bits = 16, facts.unit_threads = 128;
    facts.rows = 64, facts.keys = std::int64_t{64} << random() % 2, facts.n = random() % 2 ? 64 : facts.keys;
    const std::int64_t sharing = random() % 2 ? 2 : 1, rows = 1 + static_cast<std::int64_t>(random() % 2);
    const std::int64_t units = sharing * rows;
    facts.head_dim = 128, facts.v_head_dim = 128 / sharing, facts.most_threads = 128 * units;
    for (std::int64_t warp = 0; warp < 4 * units; ++warp) facts.loop_warps.push_back(warp);
    facts.copied_bytes = facts.keys * 256 * 2 / facts.most_threads, facts.step["xu"] = facts.keys / 2 + 2;
    share_columns(facts);
    CHECK(facts.v_head_dim == 128);
    CHECK(facts.column_units == sharing);
    const std::int64_t smem = 2 * facts.keys * 512;
    const Description found =
        describe_kernel({.name = "k", .facts = facts, .launch = {{4, 1, 1}, facts.most_threads, smem}});
    const std::string text = found.yaml();
    CAPTURE(text);
    const auto has = [&](const std::string& line) { return text.find(line) != std::string::npos; };
    CHECK(has(fmt::format("tile_q: {}", 64 * rows)));
    CHECK(has(fmt::format("tile_kv: {}", facts.keys)));
    CHECK(has("stages: 2"));
    CHECK(has(fmt::format("xu: {{per_score: {}", sharing)));
    CHECK(has(fmt::format("repeats: {}", sharing)) == (sharing > 1));
    CHECK(has(fmt::format("mma: {{m: 64, n: {}, k: 16}}", facts.n)) == (facts.n != facts.keys));
  }
}

}  // namespace nested_test
