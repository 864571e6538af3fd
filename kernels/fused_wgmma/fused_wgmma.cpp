#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/error.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"
#include "common/tma.h"
#include "fused_wgmma/forward.h"

namespace tilescope::kernels {

const std::vector<fused_wgmma::Instance>& fused_wgmma::instances() {
  static const std::vector<Instance> all =
      joined<Instance>({fp16_d64, fp16_d128, fp16_d256, bf16_d64, bf16_d128, bf16_d256});
  return all;
}

namespace {

using fused_wgmma::ForwardParams;
using fused_wgmma::Instance;
using fused_wgmma::instances;

std::vector<Variant> variants() { return variants_of(instances()); }

std::string unsupported(const Variant& variant, const Shape& s, Mask) {
  if (std::string problem = head_dim_problem(fused_wgmma_family(), variant, s); !problem.empty()) return problem;
  const std::int64_t tiles = s.batch * s.heads_q * ceil_div(s.q_len, variant.tile_q);
  constexpr std::int64_t most = std::numeric_limits<int>::max() -
                                65536;  // claimed indices exceed the number of tiles by up to the number of blocks
  if (tiles > most)
    return fmt::format("the problem has {} query tiles of {} rows; the kernel counts at most {}", tiles, variant.tile_q,
                       most);
  return {};
}

// Heads in a section (see work_at in work.cuh). With a causal mask: as many heads as have their keys and values in half
// of L2, so that the long tiles of many heads run first. Half, because each of the two L2 partitions caches what its
// own SMs read. Without a mask all tiles are equally long, and one head at a time uses L2 best.
std::int64_t heads_of_section(const Shape& s, Mask mask) {
  if (mask != Mask::causal) return 1;
  const std::int64_t kv_bytes = s.kv_len * (s.d_qk + s.d_v) * 2;
  const std::int64_t kv_heads = device_attribute("fused_wgmma", cudaDevAttrL2CacheSize) / 2 / kv_bytes;
  return std::clamp<std::int64_t>(kv_heads, 1, s.batch * s.heads_kv) * (s.heads_q / s.heads_kv);
}

void set_order(ForwardParams& params, const Shape& s, int tile_q, std::int64_t section) {
  const std::int64_t heads = s.batch * s.heads_q, tiles_q = ceil_div(s.q_len, tile_q);
  const std::int64_t last_first = (ceil_div(heads, section) - 1) * section;
  params.tiles = static_cast<int>(heads * tiles_q), params.tiles_q = static_cast<int>(tiles_q);
  params.section_heads = static_cast<int>(section), params.last_section_first = static_cast<int>(last_first);
  params.section_tiles = make_divisor(section * tiles_q);
  params.section = make_divisor(section), params.last_section = make_divisor(heads - last_first);
  params.first_tile = heads % section == 0 ? 0 : static_cast<int>(last_first * tiles_q);
}

std::string problem_of(const Problem& problem) {
  if (problem.mask == Mask::window && problem.window < 1)
    return fmt::format("window is {}; a query must see at least 1 key", problem.window);
  return pointer_problem(problem, 16, Needs::log_sum_exp);
}

std::vector<Launch> prepare_fused(const Variant& variant, const Problem& problem) {
  if (std::string reason = problem_of(problem); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "fused_wgmma", reason});
  const Instance& instance = instance_of(instances(), variant);
  const Shape& s = problem.shape;
  const int d = variant.head_dim;
  const std::int64_t heads = s.batch * s.heads_q, kv_heads = s.batch * s.heads_kv;

  LaunchShape shape;
  shape.threads = static_cast<unsigned>(variant.warps * 32);
  shape.dynamic_smem_bytes = fused_wgmma::smem_bytes(d, variant.tile_q, variant.tile_kv, variant.stages);
  Launch launch = describe_launch("forward", instance.function, shape);

  ForwardParams params{};
  params.q = make_tile_map(problem.q, 2, d, s.q_len, heads, 64);
  params.k = make_tile_map(problem.k, 2, d, s.kv_len, kv_heads, variant.tile_kv);
  params.v = make_tile_map(problem.v, 2, d, s.kv_len, kv_heads, variant.tile_kv);
  params.o = problem.o, params.l = problem.l;
  params.q_len = static_cast<int>(s.q_len), params.kv_len = static_cast<int>(s.kv_len);
  params.causal = problem.mask != Mask::none;
  params.window = problem.mask == Mask::window ? static_cast<int>(std::min(problem.window, s.kv_len)) : 0;
  params.group = make_divisor(s.heads_q / s.heads_kv);
  params.scale_log2 = problem.scale * 1.4426950408889634f;
  set_order(params, s, variant.tile_q, heads_of_section(s, problem.mask));

  const std::int64_t resident = std::int64_t{device_attribute("fused_wgmma", cudaDevAttrMultiProcessorCount)} *
                                std::max(launch.blocks_per_unit, 1);
  shape.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(params.tiles, resident)));
  launch.grid[0] = shape.grid.x;
  launch.enqueue = [function = instance.function, shape, params](void* stream) mutable {
    static std::atomic<unsigned> launches{0};
    params.claim_slot = static_cast<int>(launches++ % fused_wgmma::claim_slots);
    launch_raw("forward", function, shape, &params, stream);
  };
  return {launch};
}

}  // namespace

Family fused_wgmma_family() {
  Family family{"fused_wgmma", variants, unsupported, [](const Variant&, const Problem&) { return std::size_t{0}; },
                prepare_fused};
  family.masks = {Mask::none, Mask::causal, Mask::window};
  return family;
}

}  // namespace tilescope::kernels
