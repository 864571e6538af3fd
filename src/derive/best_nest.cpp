#include "derive/best_nest.h"

#include <algorithm>

#include "base/contains.h"
#include "base/parallel.h"
#include "derive/least_traffic.h"

namespace tilescope {
namespace {

// Whether a nest goes before the best so far: it moves less, minor loads not counted, or as much in more blocks. Of
// kernels with minor loads, what differs by less than a rounded tile would change is as much.
bool decides(double traffic, double blocks, double least, double most_blocks, bool with_minor_loads) {
  constexpr double rounding = 1e-4, more = 1.1;
  if (!with_minor_loads) return traffic < least * (1 - tile_gap);
  if (blocks > most_blocks * more) return traffic < least * (1 + rounding);
  return traffic < least * (1 - (blocks * more < most_blocks ? rounding : tile_gap));
}

// The best of a kernel's nests so far. Nests are tried several at once, each against the best of those before its
// batch: the answer does not depend on the number of threads.
class BestNest {
 public:
  BestNest(const Primitives& primitives, const FusedKernel& kernel, const DeriveRequest& request, double wanted)
      : primitives_(primitives),
        kernel_(kernel),
        request_(request),
        options_(symbolic_options(request.diagram, request.workload, request.mask)),
        bound_(primitives, kernel, request),
        wanted_(wanted),
        best_{.kernel = kernel} {
    for (const ArrayId id : kernel.loads)
      if (minor_over(primitives, kernel, id) != 0) minor_.push_back(id);
  }

  // Batches grow: the first nests lower the bound for those that follow.
  RankedKernel of(const std::vector<LegalNest>& nests) {
    constexpr std::size_t most_at_once = 32;
    std::size_t size = 1;
    for (std::size_t first = 0; first < nests.size();) {
      std::vector<Tried> batch;
      for (; first < nests.size() && batch.size() < size; ++first)
        if (nests[first].cost.parts == 0 && bound_.of(nests[first]) < worthless() * (1 + 4 * tile_gap))
          batch.push_back({.nest = &nests[first]});
      try_all(batch);
      size = std::min(2 * size, most_at_once);
    }
    return std::move(best_);
  }

 private:
  struct Tried {
    const LegalNest* nest = nullptr;
    Schedule schedule{};
    ScheduleProblem problem{};
    TilesAndSizes best{};
    bool again = false;  // the same problem as one before
  };

  double worthless() const {
    if (!minor_.empty()) return std::numeric_limits<double>::infinity();
    return best_.best.found ? least_ * (1 - tile_gap) : wanted_;
  }

  void try_all(std::vector<Tried>& batch) {
    const auto each = [&](const ItemStage& make) {
      in_order(batch.size(), request_.threads, make, [](std::size_t, std::size_t) {});
    };
    each([&](std::size_t i, std::size_t) {
      Tried& tried = batch[i];
      tried.schedule = kernel_schedule(primitives_, kernel_, tried.nest->loops, tried.nest->unread);
      tried.problem = problem_of(tried.schedule, options_, -1, request_.widths);
      leave_out_ones(tried.problem, tried.schedule, request_.workload);
    });
    // Nests that differ only in loops over one element are the same problem.
    for (Tried& tried : batch) {
      std::pair same{tried.problem.traffic, tried.problem.columns};
      tried.again = contains(seen_, same);
      if (!tried.again) seen_.push_back(std::move(same));
    }
    each([&](std::size_t i, std::size_t) {
      Tried& tried = batch[i];
      if (!tried.again)
        tried.best =
            best_tiles(tried.problem, tried.schedule, request_.workload, request_.mask, request_.memory, worthless());
    });
    for (Tried& tried : batch)
      if (!tried.again && tried.best.tiles.found) take(tried);
  }

  void take(Tried& tried) {
    auto& [tiles, sizes] = tried.best;
    const double deciding =
        tiles.traffic -
        (minor_.empty() ? 0 : moved_of(tried.problem, tried.schedule, minor_, request_.widths, sizes, tiles));
    const double blocks = blocks_of(tried.problem, tried.schedule, request_.workload, tiles);
    if (best_.best.found && !decides(deciding, blocks, least_, most_blocks_, !minor_.empty())) return;
    least_ = deciding, most_blocks_ = blocks;
    best_.loops = tried.nest->loops, best_.schedule = std::move(tried.schedule);
    best_.problem = std::move(tried.problem), best_.best = std::move(tiles);
  }

  const Primitives& primitives_;
  const FusedKernel& kernel_;
  const DeriveRequest& request_;
  const SymbolicOptions options_;
  const LeastTraffic bound_;
  const double wanted_;
  std::vector<ArrayId> minor_{};
  double least_ = 0, most_blocks_ = 0;
  std::vector<std::pair<Polynomial, std::vector<Polynomial>>> seen_{};
  RankedKernel best_;
};

}  // namespace

RankedKernel best_nest(const Primitives& primitives, const FusedKernel& kernel, const Nests& nests,
                       const DeriveRequest& request, double wanted) {
  return BestNest(primitives, kernel, request, wanted).of(nests.survivors);
}

}  // namespace tilescope
