#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "block_sparse/forward.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"

namespace tilescope::kernels {

const std::vector<block_sparse::Instance>& block_sparse::instances() {
  static const std::vector<Instance> all = joined<Instance>({fp16, bf16});
  return all;
}

namespace {

using block_sparse::ForwardParams;
using block_sparse::Instance;
using block_sparse::instances;

std::vector<Variant> variants() { return variants_of(instances()); }

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  if (std::string problem = head_dim_problem(block_sparse_family(), variant, shape); !problem.empty()) return problem;
  const std::int64_t largest = block_sparse::largest_kv_len(variant.tile_kv);
  if (shape.kv_len <= largest) return {};
  return fmt::format(
      "kv_len {} is too long: the list of live tiles in shared memory has room for {} keys in tiles of {}",
      shape.kv_len, largest, variant.tile_kv);
}

// What is wrong with the mask's own data, or empty.
std::string mask_problem(const Variant& variant, const Problem& p) {
  if (p.mask == Mask::window && p.window < 1)
    return fmt::format("window is {}; a query must see at least 1 key", p.window);
  if (p.mask != Mask::blocks) return {};
  if (p.block_mask == nullptr) return "block_mask is a null pointer; give a device array of 0 and 1";
  const std::tuple<const char*, std::int64_t, const char*, int> sides[] = {
      {"block_q", p.block_q, "tile_q", variant.tile_q}, {"block_kv", p.block_kv, "tile_kv", variant.tile_kv}};
  for (const auto& [name, block, tile_name, tile] : sides)
    if (block < 1 || block % tile != 0)
      return fmt::format("{} is {}; it must be a multiple of the variant's {} {}", name, block, tile_name, tile);
  return {};
}

std::vector<Launch> prepare_block_sparse(const Variant& variant, const Problem& problem) {
  std::string reason = pointer_problem(problem, 16, Needs::log_sum_exp);
  if (reason.empty()) reason = mask_problem(variant, problem);
  if (!reason.empty()) throw InputError(Diagnostic{"", 0, 0, "block_sparse", reason});
  const Instance& instance = instance_of(instances(), variant);
  const Shape& s = problem.shape;
  ForwardParams params{};
  params.q = problem.q, params.k = problem.k, params.v = problem.v, params.o = problem.o, params.l = problem.l;
  if (problem.mask == Mask::blocks) {
    params.block_mask = problem.block_mask;
    params.mask_columns = static_cast<int>(ceil_div(s.kv_len, problem.block_kv));
    // A mask block larger than the array is equivalent to one of the array's size, whose tiles can be counted in 32
    // bits.
    params.q_tiles =
        make_divisor(ceil_div(std::min(problem.block_q, round_up(s.q_len, variant.tile_q)), variant.tile_q));
    params.kv_tiles =
        make_divisor(ceil_div(std::min(problem.block_kv, round_up(s.kv_len, variant.tile_kv)), variant.tile_kv));
  }
  params.q_len = static_cast<int>(s.q_len), params.kv_len = static_cast<int>(s.kv_len);
  params.heads_kv = static_cast<int>(s.heads_kv);
  params.causal = problem.mask == Mask::causal || problem.mask == Mask::window;
  params.window = problem.mask == Mask::window
                      ? static_cast<int>(std::min<std::int64_t>(problem.window, block_sparse::no_window))
                      : block_sparse::no_window;
  params.group = make_divisor(s.heads_q / s.heads_kv);
  params.scale_log2 = problem.scale * 1.4426950408889634f;
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>(ceil_div(s.q_len, variant.tile_q)), static_cast<unsigned>(s.heads_q),
                    static_cast<unsigned>(s.batch));
  shape.threads = static_cast<unsigned>(variant.warps * 32);
  shape.dynamic_smem_bytes = block_sparse::smem_bytes(variant.head_dim, variant.tile_q, variant.tile_kv);
  return {make_launch("forward", instance.function, shape, params)};
}

}  // namespace

Family block_sparse_family() {
  return {.name = "block_sparse",
          .variants = variants,
          .unsupported_reason = unsupported,
          .workspace_bytes = [](const Variant&, const Problem&) { return std::size_t{0}; },
          .prepare = prepare_block_sparse,
          .masks = {Mask::none, Mask::causal, Mask::window, Mask::blocks}};
}

}  // namespace tilescope::kernels
