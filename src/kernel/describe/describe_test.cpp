// Descriptions of kernels whose tiles are known: those of kernel/code/testdata.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/error.h"
#include "kernel/code/testdata/test_kernels.h"
#include "kernel/describe/block_tile.h"
#include "kernel/describe/description.h"

namespace describe_test {

using namespace tilescope;

namespace {

// Read once: carrying out the integer code of a kernel takes a second.
const AttentionFacts& test_facts(const std::string& kernel) {
  static std::map<std::string, AttentionFacts> known;
  if (const auto found = known.find(kernel); found != known.end()) return found->second;
  const Cubin cubin = test_cubin(kernel);
  FoundFacts found = attention_facts(cubin.kernels.at(0), cubin.compute_capability, test_summary(kernel));
  REQUIRE_MESSAGE(found.facts, found.missing);
  return known[kernel] = *found.facts;
}

struct Known {
  const char* kernel;
  KernelLaunch launch;
  std::int64_t head_dim, tile_q, tile_kv, warps, consumer_warps, stages;
};

}  // namespace

TEST_CASE("tiles, warps and stages of kernels follow from their code and launch") {
  const Known known[] = {
      {"fused_wgmma", {{132, 1, 1}, 384, 164096}, 128, 128, 128, 12, 8, 2},
      {"split_kv", {{8, 4, 1}, 128, 4 * 16384}, 64, 16, 64, 4, 4, 4},
      {"triton_forward", {{16, 16, 1}, 128, 24576}, 64, 64, 32, 4, 4, 2},
  };
  for (const Known& each : known) {
    CAPTURE(each.kernel);
    const AttentionFacts facts = test_facts(each.kernel);
    std::vector<MissingValue> missing;
    const BlockTile tile = block_tile(facts, each.launch, missing);
    for (const MissingValue& value : missing) FAIL_CHECK(value.key, ": ", value.reason);
    CHECK(facts.head_dim == each.head_dim);
    CHECK(tile.tile_q == each.tile_q);
    CHECK(tile.tile_kv == each.tile_kv);
    CHECK(tile.warps == each.warps);
    CHECK(tile.consumer_warps == each.consumer_warps);
    CHECK(tile.stages == each.stages);
    // An exponential a score, and one a row: rows of a thread.
    const std::int64_t scores = facts.rows * facts.keys / facts.unit_threads;
    CHECK(facts.step.at("xu") == scores + facts.rows * 4 / facts.unit_threads);
  }
}

TEST_CASE("a description says what is missing, and states it when it is given") {
  DescribeInput input{.name = "triton", .facts = test_facts("triton_forward")};
  const Description bare = describe_kernel(input);
  CHECK(bare.missing.size() == 2);  // stages and block_order
  input.launch = {{16, 16, 1}, 128, 24576};
  input.workload = Workload{2, 8, 4, 1000, 1000, 64, 64};
  const Description whole = describe_kernel(input);
  CHECK(whole.missing.empty());
  const std::string yaml = whole.yaml();
  for (const char* line : {"tile_q: 64  # code", "tile_kv: 32  # code", "warps: 4  # launch", "stages: 2  # launch",
                           "block_order: [q, heads, batch]  # launch", "tensor_path: wgmma  # code", "registers: "})
    CHECK_MESSAGE(yaml.find(line) != std::string::npos, line);
  input.workload->batch = 3;  // no grid of 16 x 16 x 1 blocks
  CHECK(describe_kernel(input).missing.size() == 1);
}

TEST_CASE("facts are the same after writing and reading; damaged ones are refused") {
  std::mt19937 random(11);
  int refused = 0;
  for (const std::string& kernel : test_kernels) {
    const std::string line = facts_json(test_facts(kernel));
    CHECK(facts_json(read_facts(line, "facts")) == line);
    AttentionFacts without_program = test_facts(kernel);  // any text is a program
    without_program.program.clear();
    const std::string facts = facts_json(without_program);
    for (int round = 0; round < 1000; ++round) {
      std::string damaged = facts;
      for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits)
        damaged[random() % damaged.size()] = static_cast<char>(' ' + random() % 95);
      try {
        const DescribeInput input{
            .name = "damaged", .facts = read_facts(damaged, "facts"), .launch = {{8, 8, 1}, 128, 65536}};
        CHECK_FALSE(describe_kernel(input).yaml().empty());
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("what a kernel stores, and how its exponentials stand, follows from its code") {
  const AttentionFacts wgmma = test_facts("fused_wgmma"), split = test_facts("split_kv");
  CHECK(wgmma.rows_stored == 16);
  CHECK(split.rows_stored == 8);
  CHECK(wgmma.stores_without_product);
  CHECK(split.stores_without_product);
  CHECK(!wgmma.copies_out);
  CHECK(!wgmma.rewrites_tiles);
  CHECK(wgmma.value_bits == 16);
  CHECK(wgmma.value_operands == wgmma.operands);
}

TEST_CASE("quantised keys: matrix loads tell their bits; transposed, an instruction's columns are rows of Q") {
  AttentionFacts facts = test_facts("split_kv");
  facts.transposed = true, facts.rows = 8, facts.head_dim = facts.v_head_dim = 128, facts.score_parts = 4;
  for (const std::int64_t bits : {8, 4})
    for (const std::int64_t keys : {32, 64}) {
      facts.keys = keys;
      facts.fetched_bytes = keys * 256 * bits / 8;
      const std::int64_t copied = 4 * keys * (256 * bits / 8 + 8 * 2);  // of four warps, with a scale a group
      facts.copied_bytes = copied / 128;
      DescribeInput input{.name = "k", .facts = facts, .launch = {{3, 2, 128}, 128, 4 * copied}};
      input.workload = Workload{128, 16, 2, 1, 17052, 128, 128};
      const std::string text = describe_kernel(input).yaml();
      CAPTURE(text);
      for (const std::string& line :
           {std::string("row_replication: 32"), "kv: \"int" + std::to_string(bits) + ":g32:b2\"",
            "tile_kv: " + std::to_string(4 * keys), std::string("tile_q: 8"), std::string("stages: 4"),
            std::string("scores: {rows_of: K, grid: {rows: 4, columns: 1}}"),
            std::string("values: {rows_of: V, grid: {rows: 1, columns: 1, depth: 4}}")})
        CHECK_MESSAGE(text.find(line) != std::string::npos, line);
    }
}

TEST_CASE("gradients: tiles and stages follow from shared memory, of whichever side a block owns") {
  std::mt19937_64 random(20261125);
  const auto pick = [&](std::initializer_list<std::int64_t> of) { return *(of.begin() + random() % of.size()); };
  const AttentionFacts forward = test_facts("fused_wgmma");  // warps 4 to 11 of 12 run the loop
  for (int round = 0; round < 300; ++round) {
    AttentionFacts facts = forward;
    facts.pass = std::array{AttentionPass::backward, AttentionPass::backward_keys,
                            AttentionPass::backward_queries}[random() % 3];
    const bool keys = facts.pass != AttentionPass::backward_queries;
    facts.p_in_registers = true, facts.head_dim = facts.v_head_dim = pick({64, 128});
    const std::int64_t streamed = pick({64, 128}), stages = pick({1, 2, 3}), owned = 128;
    facts.passes_of_copy = facts.pass == AttentionPass::backward ? 0 : pick({1, 2});
    const std::int64_t of_pass = streamed / std::max<std::int64_t>(1, facts.passes_of_copy);
    facts.rows = keys ? of_pass : 64, facts.keys = keys ? 64 : of_pass;
    const std::int64_t gradients = facts.pass == AttentionPass::backward ? 2 : 0;
    const std::int64_t smem = 4 * owned * facts.head_dim + stages * streamed * (4 * facts.head_dim + 8) +
                              gradients * 2 * owned * streamed + 128;
    const std::int64_t kv_heads = keys ? pick({4, 16}) : 16;  // a block a KV head takes the queries of its group
    DescribeInput input{.name = "k", .facts = facts, .launch = {{32, kv_heads, 2}, 384, smem}};
    input.workload = Workload{2, 16, kv_heads, 4096, 4096, facts.head_dim, facts.head_dim};
    const Description found = describe_kernel(input);
    const std::string text = found.yaml();
    CAPTURE(text);
    const auto has = [&](const std::string& line) { CHECK_MESSAGE(text.find(line) != std::string::npos, line); };
    has("tile_q: " + std::to_string(keys ? streamed : owned));
    has("tile_kv: " + std::to_string(keys ? owned : streamed));
    has("stages: " + std::to_string(stages));
    has(keys ? "block_order: [kv, heads, batch]" : "block_order: [q, heads, batch]");
    has(facts.pass == AttentionPass::backward        ? "name: main"
        : facts.pass == AttentionPass::backward_keys ? "name: dkv"
                                                     : "name: dq");
    if (gradients > 0) has("stages_of: {dS: 2}");
    if (facts.passes_of_copy > 1) has("parts: 2");
    CHECK(to_string(read_facts(facts_json(facts), "facts").pass) == to_string(facts.pass));
  }
}

TEST_CASE("a grid with parts of the keys and rows of several heads is split-KV, where results stay in fp32") {
  DescribeInput input{.name = "split", .facts = test_facts("split_kv"), .launch = {{24, 2, 5}, 128, 4 * 16384}};
  input.workload = Workload{5, 16, 2, 1, 3000, 64, 64};
  const Description parts = describe_kernel(input);
  CHECK(parts.splits == 24);
  const std::string text = parts.yaml();
  for (const char* line : {"schedule: split-kv", "packed_rows: true", "whole_tile_parts: true", "free: [splits]",
                           "name: partial", "name: combine", "block_order: [q, kv, heads, batch]",
                           "row_replication: 16", "values: {grid: {rows: 1, columns: 1, depth: 4}}"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, line);
  CHECK(parts.missing.size() == 1);  // the launch that merges
  input.launch.grid = {1, 2, 5};     // one part: nothing tells it from a launch without parts
  for (const char* schedule : {"", "flash2", "split-kv"}) {
    input.schedule = schedule;
    const Description one = describe_kernel(input);
    const bool asks = std::any_of(one.missing.begin(), one.missing.end(),
                                  [](const MissingValue& missing) { return missing.key == "schedule"; });
    CHECK(asks == input.schedule.empty());
    CHECK(one.is_part == (input.schedule == "split-kv"));
    const bool split = one.yaml().find("schedule: split-kv") != std::string::npos;
    CHECK(split == one.is_part);
    if (split) CHECK(one.yaml().find("block_order: [q, kv, heads, batch]") != std::string::npos);
  }
  input.schedule = "", input.launch.grid = {24, 2, 5};
  input.facts.once["conversion"] = 8;
  const Description whole = describe_kernel(input);
  CHECK(whole.splits == 1);
  CHECK(std::any_of(whole.missing.begin(), whole.missing.end(),
                    [](const MissingValue& missing) { return missing.key == "block_order"; }));
}

}  // namespace describe_test
