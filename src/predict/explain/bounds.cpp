#include "predict/explain/bounds.h"

#include <algorithm>
#include <optional>

#include "cost/live_tiles.h"
#include "optimum/lower_bound.h"

namespace tilescope {
namespace {

// Bytes between the boundary and the units that compute: for hbm the L2, shared memory and registers of the whole
// device; for l2 the shared memory that one block may take and the registers (and tensor memory) of a unit. Blocks
// exchange nothing but through L2, so one after the other they are one machine with the memory of one block.
std::optional<double> memory_inside(const HardwareProfile& hardware, Boundary boundary) {
  double bytes = 0;
  for (const MemoryLevel& level : hardware.levels) {
    const bool shared = level.id == LevelId::smem, device = level.id == LevelId::l2;
    if (level.id == LevelId::hbm || (device && boundary == Boundary::l2)) continue;
    const auto& capacity = shared && boundary == Boundary::l2 ? level.capacity_per_block_bytes : level.capacity_bytes;
    if (!capacity) return std::nullopt;
    bytes += capacity->value * (device || boundary == Boundary::l2 ? 1.0 : static_cast<double>(hardware.units.value));
  }
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

// `lengths`: the sizes of the guarded axes.
double live_pairs(const Point& point, const Workload& lengths) {
  const std::int64_t q = lengths.q_len, x = lengths.kv_len;
  if (!point.mask.masks()) return static_cast<double>(q) * static_cast<double>(x);
  return static_cast<double>(visible_pairs(point.mask, q, x).area);
}

double width_of(const Point& point, ArrayId id) { return bits(point.dtypes[index(id)].format) / 8.0; }

// Extents of C = A B: axes of A and C, of B and C, of A and B, and of all three.
struct BoundedProduct {
  double rows = 1, columns = 1, summed = 1, batch = 1, width = 0;
};

std::optional<BoundedProduct> bounded_product(const Diagram& diagram, const Operator& op, const Point& point) {
  if (op.kind != OperatorKind::contraction || op.inputs.size() != 2) return std::nullopt;
  const Array &a = diagram.array(op.inputs[0]), &b = diagram.array(op.inputs[1]), &c = diagram.array(op.outputs[0]);
  BoundedProduct product;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(static_cast<int>(i));
    const double size = static_cast<double>(diagram.axes[i].size_in(point.workload));
    if (a.has(axis) && b.has(axis)) (c.has(axis) ? product.batch : product.summed) *= size;
    else if (a.has(axis) && c.has(axis)) product.rows *= size;
    else if (b.has(axis) && c.has(axis)) product.columns *= size;
  }
  product.width =
      std::min({width_of(point, op.inputs[0]), width_of(point, op.inputs[1]), width_of(point, op.outputs[0])});
  return product;
}

// The scores of all heads count as the rows of one: a part of a schedule that holds I rows and J keys in all, over
// whatever heads, forms no more scores than one head with I and J would.
std::optional<LowerBound> attention_bound(const Diagram& diagram, const Operator& op, const Point& point,
                                          double memory_bytes, double& width) {
  const Array& scores = diagram.array(op.outputs[0]);
  const auto product = bounded_product(diagram, op, point);
  if (!product || !diagram.guard || !scores.has(diagram.guard->query) || !scores.has(diagram.guard->key))
    return std::nullopt;
  width =
      std::min(width_of(point, op.inputs[0]), width_of(point, op.inputs[1]));  // the scores themselves need not move
  const Workload lengths = guarded_lengths(diagram, point.workload);
  const double keys = static_cast<double>(lengths.kv_len), queries = static_cast<double>(lengths.q_len);
  const double heads = product->batch * product->rows * product->columns / (queries * keys);
  return attention_large_memory({heads * live_pairs(point, lengths) / keys, keys, product->summed, product->summed},
                                memory_bytes / width);
}

// A batch is bounded like one matmul with the rows of all: a part of a schedule with so many values of A, B and C does
// no more products over several of them than within one.
LowerBound product_bound(const BoundedProduct& product, double memory_bytes) {
  const MatmulSize size{product.batch * product.rows, product.columns, product.summed};
  const double memory = memory_bytes / product.width;
  return product.batch > 1 ? matmul_smith_van_de_geijn(size, memory) : matmul_bound(size, memory);
}

std::int64_t moved(const LevelBytes& traffic, Boundary boundary) { return traffic[boundary][0] + traffic[boundary][1]; }

void add(std::vector<TrafficBound>& list, const LowerBound& bound, double width, TrafficBound row) {
  if (bound.values <= 0) return;
  row.name = bound.name, row.source = bound.source, row.bytes = bound.values * width;
  list.push_back(std::move(row));
}

}  // namespace

std::vector<TrafficBound> lower_bounds(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                                       const Prediction& prediction) {
  const Diagram& diagram = plan.schedule.diagram;
  std::vector<TrafficBound> list;
  for (const Boundary boundary : {Boundary::hbm, Boundary::l2}) {
    const std::int64_t total = moved(prediction.traffic, boundary);
    list.push_back({.boundary = boundary,
                    .name = "compulsory",
                    .source = "inputs once, outputs once",
                    .bytes = static_cast<double>(prediction.compulsory_bytes),
                    .moved_bytes = total});
    const auto memory = memory_inside(hardware, boundary);
    if (!memory) continue;
    std::optional<LowerBound> scores;
    double scores_width = 0;
    for (const Operator& op : diagram.operators) {
      double width = 0;
      const auto bound = attention_bound(diagram, op, point, *memory, width);
      if (bound && (!scores || bound->values * width > scores->values * scores_width))
        scores = bound, scores_width = width;
    }
    if (scores) add(list, *scores, scores_width, {.boundary = boundary, .memory_bytes = *memory, .moved_bytes = total});
    for (std::size_t i = 0; i < plan.schedule.islands.size(); ++i) {
      const Island& island = plan.schedule.islands[i];
      if (island.operators.size() != 1 || (island.skips_masked_tiles && point.mask.masks())) continue;
      const auto product =
          bounded_product(diagram, diagram.operators[static_cast<std::size_t>(island.operators.front())], point);
      if (!product) continue;
      const bool alone = plan.schedule.islands.size() == 1;
      add(list, product_bound(*product, *memory), product->width,
          {.boundary = boundary,
           .island = alone ? -1 : static_cast<int>(i),
           .memory_bytes = *memory,
           .moved_bytes = alone ? total : moved(prediction.islands[i].traffic, boundary)});
    }
  }
  return list;
}

std::int64_t lower_bound_bytes(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                               const Prediction& prediction) {
  std::int64_t best = prediction.compulsory_bytes;
  for (const TrafficBound& bound : lower_bounds(plan, hardware, point, prediction))
    if (bound.boundary == Boundary::hbm && bound.island < 0 && bound.bytes > static_cast<double>(best) &&
        bound.bytes < 9e18)
      best = static_cast<std::int64_t>(bound.bytes);
  return best;
}

}  // namespace tilescope
