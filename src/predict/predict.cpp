#include "predict/predict.h"

#include <algorithm>

#include "base/checked.h"
#include "cost/live_tiles.h"
#include "predict/point/bound_island.h"

namespace tilescope {
namespace {

void sum_islands(Prediction& out) {
  for (const IslandPrediction& island : out.islands) {
    out.work.tensor_flop = checked_add(out.work.tensor_flop, island.work.tensor_flop);
    out.work.model_flop = checked_add(out.work.model_flop, island.work.model_flop);
    out.work.clipped_flop = checked_add(out.work.clipped_flop, island.work.clipped_flop);
    out.work.exp = checked_add(out.work.exp, island.work.exp);
    for (std::size_t i = 0; i < pipe_count; ++i)
      out.work.pipes[i] = checked_add(out.work.pipes[i], island.work.pipes[i]);
    for (std::size_t b = 0; b < boundary_count; ++b)
      for (std::size_t d = 0; d < 2; ++d) out.traffic[b][d] = checked_add(out.traffic[b][d], island.traffic[b][d]);
    for (std::size_t f = 0; f < format_count; ++f)
      out.work.tensor_flop_in[f] = checked_add(out.work.tensor_flop_in[f], island.work.tensor_flop_in[f]);
    for (std::size_t d = 0; d < 2; ++d) out.bulk_smem[d] = checked_add(out.bulk_smem[d], island.bulk_smem[d]);
    out.operand_bytes = checked_add(out.operand_bytes, island.operand_bytes);
  }
}

// Rows that see a key and keys that a row sees. Bands need no walk: every row from the first that sees a key sees one,
// and the keys seen reach from the first such row's first key to the end.
struct Visible {
  std::int64_t rows, keys;
};
Visible visible(const Point& point) {
  const std::int64_t q = point.workload.q_len, x = point.workload.kv_len;
  if (point.mask.kind == MaskKind::none) return {q, x};
  if (point.mask.kind == MaskKind::blocks) {
    const LiveSums sums =
        LiveTiles(point.mask, q, x, point.mask.blocks->block_q, point.mask.blocks->block_kv).sums(false);
    return {sums.rows, sums.keys};
  }
  const std::int64_t first_row = std::max<std::int64_t>(0, q - x);
  const std::int64_t first_key =
      point.mask.kind == MaskKind::window ? std::max<std::int64_t>(0, first_row + x - q - point.mask.window + 1) : 0;
  return {q - first_row, x - first_key};
}

// Every input value that the mask leaves visible read once, every stored output written once; what passes between
// islands is not compulsory.
std::int64_t compulsory_bytes(const Plan& plan, const Point& point) {
  const Diagram& diagram = plan.schedule.diagram;
  const Visible seen = visible(point);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (diagram.arrays[i].role == ArrayRole::interior || diagram.arrays[i].alias_of)
      continue;  // a view comes with its source
    const auto stored = [&](const Island& island) { return plan.schedule.writes(island, id); };
    const bool is_output = diagram.arrays[i].role == ArrayRole::output;
    if (is_output && std::none_of(plan.schedule.islands.begin(), plan.schedule.islands.end(), stored)) continue;
    std::int64_t values = 1;
    for (const AxisId axis : diagram.arrays[i].axes) {
      const bool query = diagram.guard && axis == diagram.guard->query,
                 key = diagram.guard && axis == diagram.guard->key;
      const std::int64_t whole = diagram.axes[index(axis)].size_in(point.workload);
      values = checked_mul(values, is_output ? whole : query ? seen.rows : key ? seen.keys : whole);
    }
    total = checked_add(total, bytes_of(point, diagram, id, values));
  }
  std::int64_t mask = 0;
  for (const IslandImplementation& how : plan.kernel.islands) mask = std::max(mask, mask_bytes(how, point));
  return checked_add(total, mask);
}

void reset(Prediction& out, std::size_t islands) {
  out.terms.clear();
  out.footprint.clear();
  out.islands.assign(islands, IslandPrediction{});
  out.work = {};
  out.traffic = {};
  out.operand_bytes = 0;
  out.bulk_smem = {};
  out.time = {};
}

}  // namespace

void predict(const Plan& plan, const HardwareProfile& hardware, const Point& point, Prediction& out) {
  reset(out, plan.schedule.islands.size());
  for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i) {
    const BoundIsland bound = bind_island(plan, hardware, point, i);
    IslandPrediction& island = out.islands[static_cast<std::size_t>(i)];
    add_footprint(bound, out);
    island.blocks_per_unit = resident_blocks_per_unit(bound, out);
    island.blocks = grid_blocks(bound);
    if (bound.how.persistent)
      island.blocks = std::min(island.blocks, checked_mul(island.blocks_per_unit, hardware.units.value));
    add_traffic(bound, out);
    add_work(bound, out);
    add_register_traffic(bound, out);
    add_time(bound, out);
  }
  sum_islands(out);
  out.compulsory_bytes = compulsory_bytes(plan, point);
  out.smem_modelled = std::none_of(plan.kernel.islands.begin(), plan.kernel.islands.end(),
                                   [](const auto& island) { return island.tensor_path == TensorPath::fma; });
  out.runnable = out.work.tensor_flop == 0 || out.time.seconds[static_cast<std::size_t>(Resource::tensor)] >= 0;
  out.feasible = out.runnable && std::all_of(out.footprint.begin(), out.footprint.end(),
                                             [](const FootprintRow& row) { return row.fits(); });
  finish_time(plan, hardware, point, out);
}

Prediction predict(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  Prediction out;
  predict(plan, hardware, point, out);
  return out;
}

}  // namespace tilescope
