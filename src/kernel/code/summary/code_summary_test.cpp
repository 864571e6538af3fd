#include "kernel/code/summary/code_summary.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "kernel/code/testdata/test_kernels.h"

namespace code_summary_test {

using namespace tilescope;

namespace {

CodeCounts pass_of(const CodeLoop& loop) {
  CodeCounts counts = loop.always;
  return counts += loop.sometimes;
}

// The innermost loop with matrix instructions that has most of them.
const CodeLoop& main_loop(const CodeSummary& code) {
  const CodeLoop* best = nullptr;
  for (const CodeLoop& loop : code.loops)
    if (pass_of(loop).tensor_flop() > 0 && (best == nullptr || loop.depth > best->depth)) best = &loop;
  REQUIRE(best != nullptr);
  return *best;
}

CodeSummary summary_of(const std::string& body, std::int64_t threads) {
  return summarise(read_listing("\t.section\t.text.k,\"ax\",@progbits\n" + body, "listing").at(0), threads);
}

}  // namespace

TEST_CASE("blocks partition the instructions and end where control flow says") {
  for (const std::string& kernel : test_kernels) {
    const CodeSummary code = test_summary(kernel);
    std::size_t next = 0;
    for (const CodeBlock& block : code.blocks) {
      CHECK(block.begin == next);
      CHECK(block.end > block.begin);
      next = block.end;
      for (std::size_t i = block.begin; i + 1 < block.end; ++i)
        CHECK_FALSE(transfer_of(code.section.instructions[i]).ends_block);
      const Instruction& last = code.section.instructions[block.end - 1];
      for (const std::size_t successor : block.successors) {
        const CodeBlock& to = code.blocks[successor];
        const bool jumped = std::count(last.targets.begin(), last.targets.end(), to.first) > 0;
        CHECK((jumped || to.begin == block.end));
      }
    }
    CHECK(next == code.section.instructions.size());
    std::int64_t all = 0;
    for (const CodeBlock& block : code.blocks) all += block.reached ? block.counts.instructions : 0;
    CHECK(all == code.counts.instructions);
    for (const CodeLoop& loop : code.loops) {
      CodeCounts sum;
      for (const std::size_t block : loop.blocks) sum += code.blocks[block].counts;
      CHECK(sum.instructions == loop.always.instructions + loop.sometimes.instructions);
    }
    CHECK(code.counts.of(InstructionKind::unknown) == 0);
  }
}

TEST_CASE("the loop of a warpgroup kernel has the products and exponentials of its tile") {
  constexpr std::int64_t rows = 64, keys = 128, head_dim = 128, threads = 128;  // of a warpgroup
  const CodeCounts pass = pass_of(main_loop(test_summary("fused_wgmma")));
  CHECK(pass.tensor_flop() == 4 * rows * keys * head_dim);
  CHECK(pass.special.at("EX2") == rows * keys / threads + 2);  // a score each, and two rows are scaled
  REQUIRE(pass.matrix.size() == 2);
  std::int64_t shared = 0, from_registers = 0;
  for (const auto& [form, count] : pass.matrix) {
    CHECK(count == 8);
    shared += count * form.shared_bytes(), from_registers += !form.a_from_shared;
  }
  CHECK(from_registers == 1);
  CHECK(pass.waits.count({"WARPGROUP", 0}) == 1);
  CHECK(shared == 2 * (rows * head_dim + keys * head_dim + keys * head_dim));
}

TEST_CASE("the loop of a kernel of single warps has a warp's share of the products") {
  constexpr std::int64_t rows = 16, keys = 64, head_dim = 64, warps = 4;
  const CodeCounts pass = pass_of(main_loop(test_summary("split_kv")));
  CHECK(pass.tensor_flop() == 4 * rows * keys * head_dim / warps);
  CHECK(pass.special.at("EX2") == rows * keys / (32 * warps) + 2);
  // K and V of a step, 2 bytes a value: copies, of which one of two forms is executed, and matrix loads of four warps.
  std::int64_t copied = 0, loaded = 0;
  for (const auto& [form, count] : pass.memory) {
    if (form.kind == InstructionKind::async_copy) copied += form.thread_bytes * count.of_thread() * 32 * warps;
    if (form.opcode == "LDSM") loaded += form.thread_bytes * count.of_thread() * 32 * warps;
  }
  CHECK(loaded == 2 * 2 * keys * head_dim);
  CHECK(pass.waits.at({"DEPBAR", 2}) == 1);  // two groups of copies stay in flight
  CHECK(copied == 2 * 2 * keys * head_dim);
}

TEST_CASE("the loop of a Triton kernel has the products and exponentials of its tile") {
  constexpr std::int64_t rows = 64, keys = 32, head_dim = 64, threads = 128;
  const CodeCounts pass = pass_of(main_loop(test_summary("triton_forward")));
  CHECK(pass.tensor_flop() == 4 * rows * keys * head_dim);
  CHECK(pass.special.at("EX2") == rows * keys / threads + 2);
}

TEST_CASE("roles of warps follow from branches on the thread's index") {
  const CodeSummary code = test_summary("fused_wgmma");
  REQUIRE(code.roles.size() == 3);
  CHECK(code.roles[0].warps == std::vector<std::pair<int, int>>{{0, 0}});
  CHECK(code.roles[0].registers == 24);
  CHECK(code.roles[0].own.of(InstructionKind::async_copy) > 0);
  CHECK(code.roles[0].own.tensor_flop() == 0);
  CHECK(code.roles[1].warps == std::vector<std::pair<int, int>>{{1, 3}});
  CHECK(code.roles[1].loops.empty());
  CHECK(code.roles[2].warps == std::vector<std::pair<int, int>>{{4, 11}});
  CHECK(code.roles[2].registers == 240);
  CHECK(code.roles[2].own.tensor_flop() == code.counts.tensor_flop());
  CHECK(test_summary("split_kv").roles.size() == 1);
}

TEST_CASE("a role needs a loop of its own; a broadcast warp index and a choice by arithmetic are understood") {
  const std::string loop = "/*0050*/ @P1 BRA `(.L_a) ;\n/*0060*/ EXIT ;\n.L_b:\n/*0070*/ EXIT ;\n";
  const auto ranges = [&](const std::string& first) {
    const CodeSummary code = summary_of("/*0000*/ S2R R0, SR_TID.X ;\n" + first +
                                            "/*0030*/ @P0 BRA `(.L_b) ;\n.L_a:\n"
                                            "/*0040*/ ISETP.NE.AND P1, PT, R7, RZ, PT ;\n" +
                                            loop,
                                        256);
    std::vector<std::pair<int, int>> found;
    for (const CodeRole& role : code.roles) found.insert(found.end(), role.warps.begin(), role.warps.end());
    return found;
  };
  using Ranges = std::vector<std::pair<int, int>>;
  CHECK(ranges("/*0010*/ NOP ;\n/*0020*/ ISETP.GE.U32.AND P0, PT, R0, 0x80, PT ;\n") == Ranges{{0, 3}, {4, 7}});
  CHECK(ranges("/*0010*/ SHF.R.U32.HI R1, RZ, 0x5, R0 ;\n/*0020*/ ISETP.NE.AND P0, PT, R1, 0x2, PT ;\n") ==
        Ranges{{0, 1}, {3, 7}, {2, 2}});
  CHECK(ranges("/*0010*/ LOP3.LUT R1, R0, 0x1f, RZ, 0xc0, !PT ;\n/*0020*/ ISETP.NE.AND P0, PT, R1, RZ, PT ;\n") ==
        Ranges{{0, 7}});  // lanes of a warp differ, warps do not
  CHECK(ranges("/*0010*/ LDC R1, c[0x0][0x210] ;\n/*0020*/ ISETP.NE.AND P0, PT, R1, R0, PT ;\n") == Ranges{{0, 7}});
}

TEST_CASE("a cycle with two entries is reported and is no loop") {
  const CodeSummary code = summary_of(
      "/*0000*/ @P0 BRA `(.L_2) ;\n.L_1:\n/*0010*/ IADD3 R1, R1, 0x1, RZ ;\n.L_2:\n"
      "/*0020*/ ISETP.NE.AND P1, PT, R1, R2, PT ;\n/*0030*/ @P1 BRA `(.L_1) ;\n/*0040*/ EXIT ;\n",
      32);
  CHECK(code.loops.empty());
  CHECK(code.irreducible.size() == 1);
}

}  // namespace code_summary_test
