#include "kernel/describe/block_tile.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/describe/backward/backward_tile.h"

namespace tilescope {
namespace {

constexpr std::int64_t bits_of_byte = 8;
constexpr std::int64_t most_extra_smem = 4096;  // barriers, statistics of rows, alignment

// V may have another format than K where products read both from shared memory.
std::int64_t bits_of_values(const AttentionFacts& facts) {
  const bool unpacked = facts.loaded_bits != facts.operand_bits;
  return unpacked || facts.value_bits == 0 ? facts.loaded_bits : facts.value_bits;
}

std::int64_t bytes_of_keys(const AttentionFacts& facts, std::int64_t keys) {
  return keys * (facts.head_dim * facts.loaded_bits + facts.v_head_dim * bits_of_values(facts)) / bits_of_byte;
}

// Shared memory of a step. Where warps transpose V, its tile stands there a second time: a row of keys for each column,
// of a multiple of the 128 bytes over which warpgroup instructions swizzle.
std::int64_t bytes_of_step(const AttentionFacts& facts, std::int64_t keys) {
  const std::int64_t bytes = bytes_of_keys(facts, keys);
  if (!facts.rewrites_tiles) return bytes;
  constexpr std::int64_t swizzled = 128;
  const std::int64_t row = keys * bits_of_values(facts) / bits_of_byte;
  return bytes + facts.v_head_dim * ((row + swizzled - 1) / swizzled * swizzled);
}

// Groups of values of a key and of a value, each with a scale.
std::int64_t scales_of_key(const AttentionFacts& facts) {
  const std::int64_t group = facts.head_dim / facts.score_parts;
  return facts.score_parts + (facts.v_head_dim + group - 1) / group;
}

// Quantised keys: of the formats whose tiles are divided evenly among units, with a rest that scales may fill, the one
// whose bytes the units' matrix loads fetch.
void share_quantised_keys(AttentionFacts& facts, std::int64_t units, BlockTile& tile,
                          std::vector<MissingValue>& missing) {
  const std::int64_t copied = tile.warps * warp_lanes * facts.copied_bytes;
  int found = 0;
  for (const std::int64_t bits : {8, 4}) {
    facts.loaded_bits = bits;
    const std::int64_t own = bytes_of_keys(facts, facts.keys), along = copied / own;
    if (along < 1 || along > units || units % along != 0 || copied % own > own / 2) continue;
    if (facts.fetched_bytes > 0 && facts.fetched_bytes != own) continue;
    ++found, tile.along_keys = along, tile.key_bits = bits;
  }
  if (found != 1)
    missing.push_back({"tile_kv", fmt::format("a step copies {} bytes of quantised keys, which {} formats fit", copied,
                                              found == 0 ? "no" : "several")});
  facts.loaded_bits = tile.key_bits != 0 ? tile.key_bits : facts.operand_bits;
}

// Where threads copy the keys and values of a step, the bytes say how many units share its keys. Elsewhere every unit
// has all keys.
void share_keys(const AttentionFacts& facts, std::int64_t units, BlockTile& tile, std::vector<MissingValue>& missing) {
  if (facts.copied_bytes == 0) return;
  const std::int64_t copied = tile.warps * warp_lanes * facts.copied_bytes, own = bytes_of_keys(facts, facts.keys);
  if (copied < own && own % copied == 0) return;  // one way through the step copies K, another V
  const std::int64_t along_keys = copied / own;
  if (copied % own == 0 && along_keys > 0 && units % along_keys == 0) tile.along_keys = along_keys;
  else
    missing.push_back({"tile_kv", fmt::format("a step copies {} bytes, no multiple of the {} bytes of {} keys", copied,
                                              own, facts.keys)});
}

// Units share the tiles of the products as the code says. Where the copies of a step are counted, they say whether Q is
// among them; where barriers wait for whole tiles of keys and nothing else, the values are columns of them.
void share_nested(const AttentionFacts& facts, BlockTile& tile, std::vector<MissingValue>& missing) {
  tile.tile_q = facts.rows * facts.score_grid.rows, tile.tile_kv = facts.keys * facts.score_grid.columns;
  const std::int64_t key_row = facts.head_dim * facts.loaded_bits / bits_of_byte;
  tile.values_in_keys = facts.v_head_dim < facts.head_dim && facts.arriving == std::vector{tile.tile_kv * key_row};
  if (facts.copied_bytes == 0 || facts.depth_of_pass > 0) return;
  const std::int64_t copied = tile.warps * warp_lanes * facts.copied_bytes, q = tile.tile_q * key_row;
  const std::int64_t own = bytes_of_keys(facts, tile.tile_kv);
  tile.q_every_step = copied == own + q;
  if (copied != own && copied != own + q)
    missing.push_back({"loads_every_step",
                       fmt::format("a step copies {} bytes, neither the {} bytes of its keys and values nor these and "
                                   "the {} bytes of Q",
                                   copied, own, q)});
}

// Shared memory holds `stages` tiles of keys and values, and Q where the products read it there.
void share_memory(const AttentionFacts& facts, const KernelLaunch& launch, BlockTile& tile,
                  std::vector<MissingValue>& missing) {
  const std::int64_t all = facts.static_smem + launch.dynamic_smem;
  if (launch.threads == 0) {
    missing.push_back({"stages", "the shared memory of the launch is not known"});
    return;
  }
  if (facts.sliced) {
    tile.stages = 1;
    return;
  }
  const std::int64_t v_room = tile.values_in_keys ? tile.tile_kv * facts.v_head_dim * bits_of_values(facts) / 8 : 0;
  const std::int64_t step = bytes_of_step(facts, tile.tile_kv) - v_room;
  const std::int64_t p = facts.p_in_smem ? tile.tile_q * tile.tile_kv * facts.operand_bits / bits_of_byte : 0;
  const std::int64_t q = tile.tile_q * facts.head_dim * facts.operand_bits / bits_of_byte;
  const bool has_q = facts.q_in_smem || facts.q_once_in_smem;
  for (const bool with_q : {has_q, !has_q}) {
    const std::int64_t rest = all - p - (with_q ? q : 0) - launch.stages * step;
    if (launch.stages == 0 || tile.key_bits != 0 || rest < 0) continue;
    if (tile.stages == 0 || rest < tile.extra_smem) tile.stages = launch.stages, tile.extra_smem = rest;
  }
  if (tile.stages > 0) return;
  std::int64_t least = most_extra_smem + 1;
  for (const std::int64_t scale :
       tile.key_bits == 0 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{2, 4, 1})
    for (const bool with_q : {has_q, !has_q}) {
      const std::int64_t whole = step + tile.tile_kv * scales_of_key(facts) * scale;
      const std::int64_t rest = all - p - (with_q ? q : 0);
      if (rest < whole || rest % whole >= least) continue;
      if (tile.stages > 0 && tile.key_bits == 0) continue;
      tile.stages = rest / whole, tile.extra_smem = rest % whole, tile.scale_bytes = scale;
      least = tile.extra_smem;
    }
  if (tile.stages > 0) return;
  missing.push_back({"stages", fmt::format("{} bytes of shared memory are not whole tiles of {} bytes of keys and "
                                           "values, with or without the {} bytes of Q",
                                           all, step, q)});
}

}  // namespace

BlockTile block_tile(AttentionFacts facts, const KernelLaunch& launch, std::vector<MissingValue>& missing) {
  BlockTile tile;
  const std::int64_t threads = launch.threads > 0 ? launch.threads : facts.most_threads;
  tile.warps = threads / warp_lanes;
  tile.consumer_warps = std::count_if(facts.loop_warps.begin(), facts.loop_warps.end(),
                                      [&](std::int64_t warp) { return warp < tile.warps; });
  const std::int64_t units = tile.consumer_warps * warp_lanes / facts.unit_threads;
  if (units == 0) {
    missing.push_back({"warps", threads == 0 ? "the code does not state the threads of a block: give --block"
                                             : "no warp of the block runs the loop over keys"});
    return tile;
  }
  if (facts.pass == AttentionPass::forward_queries) {
    tile.tile_q = facts.rows * units, tile.tile_kv = facts.keys, tile.stages = 1;
    const std::int64_t rest = facts.static_smem + launch.dynamic_smem - bytes_of_keys(facts, facts.keys);
    const std::int64_t q = tile.tile_q * facts.head_dim * facts.operand_bits / bits_of_byte;
    if (rest >= 2 * q && rest % q <= most_extra_smem) tile.q_stages = rest / q - 1;
    else missing.push_back({"stages_of", "shared memory is not whole tiles of K and V, of Q, and one of O"});
    return tile;
  }
  if (facts.pass != AttentionPass::forward) {
    backward_tile(facts, launch, units, tile, missing);
    return tile;
  }
  if (facts.score_grid.rows > 0) {
    share_nested(facts, tile, missing);
    share_memory(facts, launch, tile, missing);
    return tile;
  }
  if (facts.score_parts > 1 && facts.copied_bytes > 0) share_quantised_keys(facts, units, tile, missing);
  else share_keys(facts, units, tile, missing);
  tile.tile_kv = facts.keys * tile.along_keys;
  if (units % (tile.along_keys * facts.column_units) == 0) tile.along_columns = facts.column_units;
  tile.tile_q = facts.rows * (units / tile.along_keys / tile.along_columns);
  share_memory(facts, launch, tile, missing);
  return tile;
}

}  // namespace tilescope
