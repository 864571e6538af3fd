#include "predict/l2/cache/associativity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace tilescope {
namespace {

constexpr std::int64_t piece = 64 << 10, pool = std::int64_t{2} << 30;
constexpr int sweeps = 6, draws = 4;
constexpr std::int64_t most_ways = 64;

double difference(const CacheShape& shape, const SweepCurve& curve, bool store) {
  double sum = 0;
  for (const auto& [bytes, part] : curve) sum += std::pow(swept_again(shape, bytes, store) - part, 2);
  return std::sqrt(sum / static_cast<double>(curve.size()));
}

}  // namespace

double swept_again(const CacheShape& shape, double bytes, bool store) {
  const auto count = static_cast<std::int64_t>(bytes / piece);
  if (count == 0) return 0;
  const std::int64_t part = pool / piece / count;  // each piece lies somewhere in its own part of the pool
  std::int64_t moved = 0;
  for (unsigned draw = 1; draw <= draws; ++draw) {
    std::mt19937 random(draw);
    std::vector<CachePiece> pieces;
    for (std::int64_t i = 0; i < count; ++i)
      pieces.push_back({(i * part + static_cast<std::int64_t>(random() % static_cast<unsigned>(part))) * piece, piece});
    std::vector<int> first(pieces.size() + 1);
    std::iota(first.begin(), first.end(), 0);
    L2Cache cache;
    cache.reset(shape, pieces, first);
    for (int sweep = 0; sweep < sweeps; ++sweep)
      for (int i = 0; i < static_cast<int>(count); ++i) {
        std::int64_t now = 0;
        if (store) {
          now = cache.store(i).written;
        } else {
          for (int side = 0; side < shape.partitions; ++side) now += cache.read(i, side);
        }
        if (sweep > 0) moved += now;
      }
  }
  return static_cast<double>(moved) / static_cast<double>(count * piece * (sweeps - 1) * draws);
}

Associativity fit_associativity(std::int64_t capacity, int partitions, const SweepCurve& reads,
                                const SweepCurve& stores) {
  Associativity best;
  if (capacity <= 0 || reads.empty() || stores.empty()) return best;
  CacheShape shape{.capacity = capacity, .partitions = std::clamp(partitions, 1, L2Cache::most_partitions)};
  for (std::int64_t ways = 2; ways <= most_ways; ways *= 2) {
    shape.ways = ways;
    const double found = difference(shape, reads, false);
    if (best.ways == 0 || found < best.read_difference) best.ways = ways, best.read_difference = found;
  }
  shape.ways = best.ways;
  for (std::int64_t dirty = 1; dirty <= best.ways; dirty *= 2) {
    shape.dirty = static_cast<double>(dirty) / static_cast<double>(best.ways);
    const double found = difference(shape, stores, true);
    if (best.dirty_ways == 0 || found < best.store_difference) best.dirty_ways = dirty, best.store_difference = found;
  }
  return best;
}

}  // namespace tilescope
