#include "kernel/describe/grid/described_order.h"

#include <algorithm>

#include "kernel/describe/described_part.h"
#include "kernel/describe/grid/grid_use.h"

namespace tilescope {
namespace {

// Parts of the keys, which another launch merges, and rows of several heads in one tile.
void describe_parts(const GridUse& use, const Workload& w, Description& out) {
  DescribedPart part{out.kernel};
  if (use.packed)
    part.add("packed_rows", "true", ValueSource::launch,
             fmt::format("the grid has {} heads, not {}: a tile has rows of {} heads", w.heads_kv, w.heads_q,
                         w.heads_q / w.heads_kv));
  if (use.splits == 1 && !out.is_part) return;
  const ValueSource source = use.splits == 1 ? ValueSource::given : ValueSource::launch;
  out.splits = use.splits, out.is_part = true;
  part.add("whole_tile_parts", "true", source,
           fmt::format("{} parts of whole tiles of keys, none of them empty; results are stored in fp32", use.splits));
  part.add("free", "[splits]", source, "the grid states the number of parts");
  out.missing.push_back({"combine",
                         "the launch that merges the parts is another kernel; state its warps, registers and "
                         "work to predict its time",
                         true});
}

// Whether Q, K, V and O fit half of the L2, so that every byte is read from memory once whatever the order.
bool fits_half_l2(const DescribeInput& input) {
  const Workload& w = *input.workload;
  const std::int64_t bytes = std::max<std::int64_t>(1, input.facts.operand_bits / 8);
  const double rows = static_cast<double>(w.batch) * static_cast<double>(w.heads_q) * static_cast<double>(w.q_len),
               keys = static_cast<double>(w.batch) * static_cast<double>(w.heads_kv) * static_cast<double>(w.kv_len);
  return 2 * static_cast<double>(bytes) * (rows + keys) * static_cast<double>(w.d_qk + w.d_v) <
         static_cast<double>(input.l2_bytes);
}

void describe_layout(const DescribeInput& input, Description& out) {
  if (input.workload && !input.sizes.layout.empty() && input.facts.pass == AttentionPass::forward)
    DescribedPart{out.kernel}.add("layout", "[" + input.sizes.layout + "]", ValueSource::launch,
                                  "how far apart blocks read keys, heads and entries");
}

}  // namespace

std::string unknown_of_launch(const DescribeInput& input) {
  if (input.workload) return "the grid of a launch is not known";
  return input.launch.grid[0] == 0 ? "the grid and the sizes of a launch are not known"
                                   : "the sizes of a launch are not known";
}

void describe_order(const DescribeInput& input, const BlockTile& tile, Description& out) {
  describe_layout(input, out);
  const auto& grid = input.launch.grid;
  if (input.facts.pass == AttentionPass::forward_queries) {
    const bool whole = input.workload && grid[0] * grid[1] * grid[2] == input.workload->heads_q * input.workload->batch;
    if (whole)
      DescribedPart{out.island}.add("block_order", "[heads, batch]", ValueSource::launch, "a block for each head");
    else out.missing.push_back({"block_order", "the grid is not a block for each head, or the sizes are not known"});
    return;
  }
  if (input.facts.persistent && input.workload && !input.sizes.order.empty()) {
    DescribedPart{out.island}.add("block_order", "[" + input.sizes.order + "]", ValueSource::launch,
                                  "which bytes the first tiles of the blocks read");
    return;
  }
  if (input.facts.persistent && input.workload && fits_half_l2(input)) {
    DescribedPart{out.island}.add("block_order", "[q, heads, batch]", ValueSource::launch,
                                  "not seen; all arrays fit half of the L2, which any order fills alike");
    return;
  }
  if (!input.workload || grid[0] == 0 || input.facts.persistent) {
    out.missing.push_back({"block_order", input.facts.persistent
                                              ? "blocks loop over tiles, and their addresses are not known"
                                              : unknown_of_launch(input)});
    return;
  }
  const Workload& w = *input.workload;
  std::vector<GridUse> uses = uses_of_grid(grid, w, tile.tile_q, tile.tile_kv);
  // Parts are stored as they were summed, in fp32.
  const bool converted = input.facts.once.contains("conversion");
  if (converted || input.schedule == "flash2") std::erase_if(uses, [](const GridUse& use) { return use.splits > 1; });
  if (uses.empty()) {
    const std::int64_t q_tiles = (w.q_len + tile.tile_q - 1) / tile.tile_q;
    out.missing.push_back(
        {"block_order", fmt::format("{} query tiles, {} heads and {} batch entries are no grid of {} x "
                                    "{} x {}",
                                    q_tiles, w.heads_q, w.batch, grid[0], grid[1], grid[2])});
    return;
  }
  const GridUse& use = uses.front();
  std::string order = use.order, reason = fmt::format("grid of {} x {} x {}", grid[0], grid[1], grid[2]);
  if (!input.sizes.order.empty() && input.sizes.splits == use.splits) {
    order = input.sizes.order, reason = "which bytes the blocks of the " + reason + " read";
    if (const std::size_t at = order.find("splits"); at != std::string::npos) order.replace(at, 6, "kv");
  }
  if (use.splits == 1 && !converted && input.schedule.empty())
    out.missing.push_back({"schedule",
                           "results are stored in fp32 and the grid has one part of the keys, which fits "
                           "flash2 and split-kv: give --schedule"});
  out.is_part = input.schedule == "split-kv";
  if (const std::size_t at = order.find('q'); out.is_part && use.splits == 1 && at != std::string::npos)
    order.insert(at + 1, ", kv");
  DescribedPart{out.island}.add("block_order", "[" + order + "]", ValueSource::launch, std::move(reason));
  describe_parts(use, w, out);
}

}  // namespace tilescope
