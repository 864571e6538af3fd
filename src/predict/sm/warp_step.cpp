#include "predict/sm/warp_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "predict/point/code_of.h"
#include "predict/point/products.h"
#include "predict/sm/demand.h"

namespace tilescope {
namespace {

constexpr double threads_of_warp = 32, word = 4 * threads_of_warp, wide = 16 * threads_of_warp;  // bytes of a warp

int rounded(double value) { return static_cast<int>(std::lround(std::max(0.0, value))); }

void add_vector_ops(const LaunchAtSm& launch, double warp_steps, double warps_of_grid, WarpStep& step) {
  constexpr std::pair<Pipe, int VectorOps::*> pipes[] = {
      {Pipe::ffma, &VectorOps::ffma},      {Pipe::fadd, &VectorOps::fadd}, {Pipe::fmul, &VectorOps::fmul},
      {Pipe::alu, &VectorOps::alu},        {Pipe::xu, &VectorOps::xu},     {Pipe::conversion, &VectorOps::conversion},
      {Pipe::shuffle, &VectorOps::shuffle}};
  const Work& work = launch.counts.work;
  for (const auto& [pipe, count] : pipes) {
    const auto of = [i = static_cast<std::size_t>(pipe)](const auto& counts) {
      return static_cast<double>(counts[i]) / threads_of_warp;
    };
    const double outside = of(work.outside), outputs = of(work.of_outputs), threads = of(work.of_threads),
                 outside_outputs = std::min(outside, outputs);
    step.scores.*count = rounded((of(work.pipes) - outputs - threads - (outside - outside_outputs)) / warp_steps);
    step.outputs.*count = rounded((outputs - outside_outputs) / warp_steps);
    step.threads.*count = rounded(threads / warp_steps);
    step.once.*count = rounded(outside / warps_of_grid);
  }
}

// Of all kinds in a step of a warp, where the descriptor's work states those on no pipe; else 0.
int stated_instructions(const Work& work, double warp_steps) {
  if (work.pipes[static_cast<std::size_t>(Pipe::others)] == 0) return 0;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < pipe_count; ++i)
    if (static_cast<Pipe>(i) != Pipe::shared) all += work.pipes[i] - work.outside[i];
  return rounded(static_cast<double>(all) / threads_of_warp / warp_steps);
}

bool in_every_step(const BoundIsland& bound, ArrayId id) { return bound.streams(id) || fetched_every_step(bound, id); }

// Tiles that warps copy, give each other and bring to memory.
void add_tiles(const LaunchAtSm& launch, double warps, WarpStep& step) {
  const BoundIsland& bound = launch.bound;
  const IslandImplementation& how = bound.how;
  const Diagram& diagram = bound.plan.schedule.diagram;
  double given = 0, copied = 0, copied_first = 0, staged = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const auto bytes = static_cast<double>(tile_bytes(bound, id));
    const bool comes = loads(bound, id), fed = feeds_product(bound, id);
    if (!step.bulk && comes && in_shared_memory(bound, id)) (in_every_step(bound, id) ? copied : copied_first) += bytes;
    if (how.output_through_smem && stores(bound, id) && !bound.streams(id)) staged += bytes;
    if (!passes_through_smem(bound, id)) continue;
    if (fed && !comes) given += bytes;
    // A thread of a fragment takes two neighbouring values of eight.
    constexpr double neighbours = 8;
    if (!fed && comes && bound.streams(id))
      step.shared_loads += rounded(std::ceil(static_cast<double>(tile_values(bound, id)) / neighbours));
  }
  step.shared_stores = rounded(given / wide / warps);
  const bool ahead = !step.loads_in_product;  // the first step's are copied before it
  step.first_copies = rounded(((ahead ? copied : 0) + copied_first) / wide / warps);
  step.copies = ahead && steps_of(bound.nest) == 1 ? 0 : rounded(copied / wide / warps);
  step.outputs_staged = rounded(staged / wide / warps);
  step.outputs_fetched = how.store().bulk ? 0 : step.outputs_staged;
}

void add_products(const LaunchAtSm& launch, double warps, double warp_steps, WarpStep& step) {
  const BoundIsland& bound = launch.bound;
  const IslandImplementation& how = bound.how;
  const Diagram& diagram = bound.plan.schedule.diagram;
  const double loaded = static_cast<double>(launch.counts.traffic.operand_bytes) / wide / warp_steps,
               groups = step.wgmma ? std::max(1.0, warps / 4) : warps;
  double all = 0;
  for_each_product(bound, [&](const Product& product) { all += product.multiply_adds; });
  for_each_product(bound, [&](const Product& product) {
    const Operator& op = diagram.operators[static_cast<std::size_t>(product.op)];
    const Array& result = diagram.array(op.outputs.front());
    const MmaShape& mma = product.mma;
    double summed = 1;
    for (const AxisId axis : diagram.array(op.inputs.front()).axes)
      if (!result.has(axis)) summed *= extent_of_step(bound, axis);
    ProductStep& own = step.products.emplace_back();
    own.mma = mma, own.format = product.computes_in, own.a_in_shared = product.operands[0].in_smem;
    own.of_scores = makes_scores(bound, product);
    own.instructions =
        std::max(1, rounded(product.multiply_adds / static_cast<double>(mma.m * mma.n * mma.k) / groups));
    own.depth = std::clamp(rounded(summed / static_cast<double>(mma.k)), 1, own.instructions);
    own.loads = rounded(loaded * product.multiply_adds / all);
    double copied = 0;
    for (const ArrayId input : op.inputs) {
      const ArrayId id = source_of(diagram, input);
      if (!loads(bound, id) || !in_shared_memory(bound, id) || !in_every_step(bound, id)) continue;
      copied += static_cast<double>(tile_bytes(bound, id));
      own.early = own.early || contains(how.loads_early, diagram.array(id).name);
    }
    if (how.loads_in_product) own.copies = rounded(copied / wide / warps);
  });
}

}  // namespace

WarpStep warp_step(const LaunchAtSm& launch, double steps) {
  const BoundIsland& bound = launch.bound;
  const IslandImplementation& how = bound.how;
  const KernelVariant* variant = bound.variant;
  const OverlapRow& overlap = properties(how.overlap);
  const auto warps = static_cast<double>(consumer_warps(bound));
  const double warp_steps = steps * warps,
               warps_of_grid = warps * static_cast<double>(std::max<std::int64_t>(1, grid_blocks(bound)));
  WarpStep step{.wgmma = how.path().warpgroup,
                .lockstep = how.overlap == Overlap::lockstep,
                .bulk = how.load().bulk,
                .pipelined = variant && variant->pipelined,
                .waits_each = variant && variant->waits_each,
                .loads_in_product = how.loads_in_product,
                .products_in_turn = overlap.products_in_turn,
                .scores_in_turn = overlap.scores_in_turn};
  for (const ProductImplementation& product : how.products)
    step.parts = std::max(step.parts, static_cast<int>(product.parts));
  add_vector_ops(launch, warp_steps, warps_of_grid, step);
  add_tiles(launch, warps, step);
  add_products(launch, warps, warp_steps, step);

  const double added = stored_bytes(bound, StoredBytes::added_in_steps),
               stored = stored_bytes(bound, StoredBytes::in_steps) - added;
  step.sums = rounded(added / (step.wgmma ? wide : word) / warp_steps),
  step.global_stores = rounded(stored / wide / warp_steps);
  step.row_copy = how.row_load > 0 && stored > 0;
  const LocalTraffic& local = launch.counts.local;
  step.spills_loaded = rounded(static_cast<double>(local.loaded) / word / warp_steps);
  step.spills_stored = rounded(static_cast<double>(local.stored) / word / warp_steps);
  if (step.spills_loaded > 0) step.spill_waits = std::max(1, variant ? rounded(variant->local.waits) : 1);
  step.shared_words = rounded(operations(launch.counts.work.pipes, {Pipe::shared}) / warp_steps);

  const InstanceCode* code = code_of(bound);
  const auto of_code = [&](CodeCount count) {
    const CodePass pass = steps_of(bound.nest) == 1 ? CodePass::once : CodePass::step;
    return code ? static_cast<double>(code->of(pass, count)) : 0.0;
  };
  step.barriers = !step.lockstep ? step.shared_stores > 0  // before other warps' products take what warps give
                                 : std::max(rounded(of_code(CodeCount::barriers)), 1) - 1;
  step.shared_waits = rounded(of_code(CodeCount::shared_waits));
  if (code) step.instructions = rounded(of_code(CodeCount::instructions) * static_cast<double>(code->warps) / warps);
  else step.instructions = stated_instructions(launch.counts.work, warp_steps);
  return step;
}

}  // namespace tilescope
