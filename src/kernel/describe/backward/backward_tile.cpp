#include "kernel/describe/backward/backward_tile.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/describe/described_part.h"
#include "kernel/describe/grid/described_order.h"
#include "kernel/describe/grid/grid_use.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_rest = 4096;  // bytes beside whole tiles: barriers, alignment

bool owns_keys(const AttentionFacts& facts) { return facts.pass != AttentionPass::backward_queries; }

// Shared memory holds what the block owns (K and V, or Q and dO), `stages` tiles of what it streams, perhaps with two
// statistics a query, and tiles of dS. P and dS that are no operands in registers have layouts of which several fit.
void share_backward_memory(const AttentionFacts& facts, const KernelLaunch& launch, BlockTile& tile,
                           std::vector<MissingValue>& missing) {
  const std::int64_t all = facts.static_smem + launch.dynamic_smem, bytes = facts.operand_bits / 8;
  if (launch.threads == 0) return missing.push_back({"stages", "the shared memory of the launch is not known"});
  if (!facts.p_in_registers)
    return missing.push_back(
        {"stages", fmt::format("P and dS pass shared memory, whose {} bytes several layouts fit", all)});
  const std::int64_t streamed = owns_keys(facts) ? tile.tile_q : tile.tile_kv;
  const std::int64_t owned = tile.tile_q * tile.tile_kv / streamed;  // rows of the block's own tile
  std::int64_t least = most_rest + 1;
  for (std::int64_t gradients = 0; gradients <= (facts.pass == AttentionPass::backward ? 2 : 0); ++gradients)
    for (const std::int64_t statistics : {8, 0}) {
      const std::int64_t step = streamed * (2 * facts.head_dim * bytes + statistics);
      const std::int64_t rest =
          all - 2 * owned * facts.head_dim * bytes - gradients * tile.tile_q * tile.tile_kv * bytes;
      if (rest < step || rest % step >= least) continue;
      least = rest % step, tile.stages = rest / step, tile.extra_smem = least, tile.gradient_tiles = gradients;
    }
  if (tile.stages == 0)
    missing.push_back({"stages", fmt::format("{} bytes of shared memory are not whole tiles", all)});
}

void describe_backward_order(const DescribeInput& input, const BlockTile& tile, Description& out) {
  const auto& grid = input.launch.grid;
  if (!input.workload || grid[0] == 0) return out.missing.push_back({"block_order", unknown_of_launch(input)});
  const bool keys = owns_keys(input.facts);
  // Blocks that own keys are those of a query head, or of a KV head and take the queries of its group.
  for (const std::int64_t heads :
       {input.workload->heads_q, keys ? input.workload->heads_kv : input.workload->heads_q}) {
    Workload owned = *input.workload;  // tiles of keys take the place of tiles of queries
    if (keys) owned.q_len = owned.kv_len, owned.heads_q = owned.heads_kv = heads;
    for (const GridUse& use : uses_of_grid(grid, owned, keys ? tile.tile_kv : tile.tile_q, tile.tile_kv)) {
      if (use.splits != 1 || use.packed) continue;
      std::string order = use.order;
      if (const std::size_t at = order.find("q"); keys && at != std::string::npos) order.replace(at, 1, "kv");
      return DescribedPart{out.island}.add("block_order", "[" + order + "]", ValueSource::launch,
                                           fmt::format("grid of {} x {} x {}", grid[0], grid[1], grid[2]));
    }
  }
  out.missing.push_back({"block_order", fmt::format("tiles, heads and batch entries are no grid of {} x {} x {}",
                                                    grid[0], grid[1], grid[2])});
}

void describe_main(const DescribeInput& input, const BlockTile& tile, Description& out) {
  const AttentionFacts& facts = input.facts;
  DescribedPart part{out.island};
  const bool wide = facts.unit_threads > 32, keys = owns_keys(facts);
  part.add("tensor_path", wide ? "wgmma" : "mma.sync", ValueSource::code, facts.opcode);
  part.add("mma",
           fmt::format("{{m: {}, n: {}, k: {}}}", facts.m, wide ? "columns" : fmt::format("{}", facts.n), facts.k),
           ValueSource::code, "shape of " + facts.opcode);
  const auto product = [&](const char* rows_of) {
    const std::string shape =
        fmt::format("mma: {{m: {}, n: {}, k: {}}}, parts: {}", facts.m, facts.n, facts.k, facts.passes_of_copy);
    const std::string rows = keys ? fmt::format("rows_of: {}", rows_of) : "";
    return facts.passes_of_copy <= 1 ? rows : rows + (rows.empty() ? "" : ", ") + shape;
  };
  if (facts.p_in_registers && (keys || facts.passes_of_copy > 1))
    part.add(
        "products",
        fmt::format("{{scores: {{{}}}, probability_gradient: {{{}}}{}}}", product("K"), product("V"),
                    facts.pass == AttentionPass::backward ? ", key_gradient: {fetches: {dS: 0}}" : ""),
        ValueSource::code,
        fmt::format("{}{}", keys ? "dV and dK take P and dS from registers, so the instructions' rows are keys" : "",
                    facts.passes_of_copy > 1 ? fmt::format("{}{} passes of the loop for each wait for a copy",
                                                           keys ? "; " : "", facts.passes_of_copy)
                                             : ""));
  if (!keys) {
    part.add("row_replication", std::int64_t{4}, ValueSource::code, "lanes that have parts of a row of an accumulator");
    part.yes("writes_masked_rows", facts.stores_without_product, "a way to the stores without a matrix product");
  }
  if (facts.pass == AttentionPass::backward)
    part.add("through_smem", facts.p_in_registers ? "[dS]" : "[P, dS]", ValueSource::code,
             "dQ sums over the keys of all units");
  if (tile.gradient_tiles > 0)
    part.add("stages_of", fmt::format("{{dS: {}}}", tile.gradient_tiles), ValueSource::launch,
             "tiles of dS in shared memory");
  part.add("loads_by",
           facts.copy_engine        ? "tma"
           : facts.copied_bytes > 0 ? "cp.async"
                                    : "ld",
           ValueSource::code, "how tiles reach shared memory");
  if (facts.output_through_smem)
    part.add("output_through_smem", "true", ValueSource::code, "stores to shared memory and loads outside the loop");
  part.add("overlap", facts.barriers > 1 ? "lockstep" : "free", ValueSource::code,
           fmt::format("{} barriers in a step", facts.barriers));
  if (tile.extra_smem > 0)
    part.add("smem_extra_bytes", tile.extra_smem, ValueSource::launch, "shared memory beside whole tiles");
  if (facts.reduces) part.add("reductions", "[dQ]", ValueSource::code, "the loop adds to memory");
  if (facts.copies_out) part.add("stores_by", "tma", ValueSource::code, "UTMASTG");
  describe_backward_order(input, tile, out);
}

void describe_backward_variant(const DescribeInput& input, const BlockTile& tile, Description& out) {
  const AttentionFacts& facts = input.facts;
  DescribedPart part{out.variant};
  const bool keys = owns_keys(facts);
  const std::string streamed = fmt::format("depth of the sums that passes add to, {} of them for each copy",
                                           std::max<std::int64_t>(1, facts.passes_of_copy));
  const std::string owned = fmt::format("rows of those sums in each of {} warps", tile.consumer_warps);
  part.add("head_dim", facts.head_dim, ValueSource::code, "depth of the scores' sums");
  part.add("tile_q", tile.tile_q, ValueSource::code, keys ? streamed : owned);
  part.add("tile_kv", tile.tile_kv, ValueSource::code, keys ? owned : streamed);
  part.add_warps(input, tile, "streamed tiles", "the loop");
}

}  // namespace

void backward_tile(const AttentionFacts& facts, const KernelLaunch& launch, std::int64_t units, BlockTile& tile,
                   std::vector<MissingValue>& missing) {
  const std::int64_t passes = std::max<std::int64_t>(1, facts.passes_of_copy);  // a copy brings the tiles of so many
  tile.tile_q = facts.rows * (owns_keys(facts) ? passes : units);
  tile.tile_kv = facts.keys * (owns_keys(facts) ? units : passes);
  share_backward_memory(facts, launch, tile, missing);
}

Description describe_backward(const DescribeInput& input, const BlockTile& tile) {
  Description out;
  out.name = input.name, out.pass = input.facts.pass;
  DescribedPart part{out.kernel};
  const std::string dtype = operand_format(input.facts.operands);
  part.add("dtypes", "[" + dtype + "]", ValueSource::code, "operands of " + input.facts.opcode);
  part.add("head_dims", fmt::format("[{}]", input.facts.head_dim), ValueSource::code, "depth of the scores' sums");
  part.add("masks", "[" + input.mask + "]", input.sizes_from, "the mask of the launch");
  part.add("limits", "{compute_capability: " + input.facts.compute_capability + "}", ValueSource::elf,
           "target of the code");
  describe_main(input, tile, out);
  describe_backward_variant(input, tile, out);
  if (input.facts.pass == AttentionPass::backward)
    out.missing.push_back({"preprocess, convert",
                           "launches of other kernels, with row sums of dO O and dQ in its format: "
                           "state their warps and registers to predict their time",
                           true});
  else
    out.missing.push_back({owns_keys(input.facts) ? "preprocess, dq" : "preprocess, dkv",
                           "launches of other kernels; describe them by themselves", true});
  if (input.facts.copy_engine && input.facts.pass != AttentionPass::backward && input.facts.passes_of_copy == 0)
    out.missing.push_back(
        {owns_keys(input.facts) ? "tile_q" : "tile_kv",
         "of one pass; how many passes a copy serves is not known, and whether these are fewer stages"});
  return out;
}

}  // namespace tilescope
