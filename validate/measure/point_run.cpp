#include "validate/measure/point_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "diagram/block_mask.h"
#include "validate/measure/correctness.h"
#include "validate/measure/counters/counting.h"
#include "validate/measure/cuda_check.h"
#include "validate/measure/gradients.h"
#include "validate/measure/point_arrays.h"
#include "validate/measure/timing.h"

namespace tilescope::validate {
namespace {

// Compares formats, scales included. The kernels support one group size per format, with fp16 scales.
bool same(kernels::Dtype built, const Dtype& asked) {
  return built == asked.format && asked.scale_group == kernels::scale_group(built) &&
         asked.scale_bytes == (asked.scale_group > 0 ? 2 : 0);
}

bool fits(const kernels::Variant& variant, const MeasurePoint& point) {
  const bool any_tile = point.tile_q == 0;
  return variant.kernel == point.kernel && same(variant.dtype, dtype_of(point, "o")) &&
         same(variant.dtype_q(), dtype_of(point, "q")) && same(variant.dtype_k(), dtype_of(point, "k")) &&
         (kernels::v_in_k(variant) || same(variant.dtype_v(), dtype_of(point, "v"))) &&
         (variant.head_dim == 0 || variant.head_dim == point.workload.d_qk) &&
         (point.stages == 0 || variant.stages == point.stages) &&
         (any_tile ||
          (variant.tile_q == point.tile_q && variant.tile_kv == point.tile_kv && variant.warps == point.warps));
}

MaskData mask_data(const MeasurePoint& point, const std::filesystem::path& data_directory) {
  const PointWorkload& w = point.workload;
  const Mask mask =
      load_mask(point.mask, data_directory, {w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v}).value();
  MaskData data;
  data.window = mask.count;
  if (!mask.blocks) return data;
  data.block_q = mask.blocks->block_q, data.block_kv = mask.blocks->block_kv;
  for (const std::vector<bool>& row : mask.blocks->live) data.blocks.insert(data.blocks.end(), row.begin(), row.end());
  return data;
}

LaunchFacts facts(const kernels::Launch& launch) {
  return {.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
          .block = {launch.block[0], launch.block[1], launch.block[2]},
          .registers_per_thread = launch.registers_per_thread,
          .static_smem = launch.static_smem_bytes,
          .dynamic_smem = launch.dynamic_smem_bytes,
          .local_bytes_per_thread = launch.local_bytes_per_thread,
          .blocks_per_unit = launch.blocks_per_unit};
}

// Each launch in a range of its own, with a cold and clean L2. `flush_inside` also puts a flush at the end of the
// range, so that the lines which the launch left dirty are written back where they are counted.
void run_counted(const std::vector<kernels::Launch>& launches, const L2Flush& flush, RangeMarker& marker,
                 const std::string& prefix, bool flush_inside) {
  for (std::size_t i = 0; i < launches.size(); ++i) {
    flush.enqueue(nullptr);
    marker.push(range_name(prefix, i));
    launches[i].enqueue(nullptr);
    if (flush_inside) flush.enqueue(nullptr);
    marker.pop();
  }
}

void count_launches(Bench& bench, const std::vector<kernels::Launch>& launches, Record& record) {
  for (const kernels::Launch& launch : launches) {
    MeasuredLaunch island;
    island.name = launch.island;
    island.launch = facts(launch);
    record.islands.push_back(std::move(island));
  }
  const auto run = [&](RangeMarker& marker, const std::string& prefix, bool flush_inside) {
    run_counted(launches, bench.flush, marker, prefix, flush_inside);
  };
  count_islands(bench, run, record);
}

}  // namespace

ChosenVariant choose_variant(const MeasurePoint& point) {
  const PointWorkload& w = point.workload;
  ChosenVariant chosen;
  chosen.shape = {w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v};
  chosen.mask = mask_kind(point.mask).value();
  std::vector<std::string> names;
  for (const kernels::Variant& variant : kernels::built_variants()) {
    names.push_back(variant.kernel);
    if (!fits(variant, point)) continue;
    chosen.variant = variant;
    chosen.problem = kernels::unsupported_reason(variant, chosen.shape, chosen.mask);
    return chosen;
  }
  if (std::find(names.begin(), names.end(), point.kernel) == names.end()) {
    chosen.problem = fmt::format("no kernel '{}' is built{}", point.kernel, did_you_mean(point.kernel, names));
  } else {
    chosen.problem =
        fmt::format("{} is not built for these formats ({}) with head_dim {}, tile_q {}, tile_kv {}, {} warps{}",
                    point.kernel, to_string(point.dtype), w.d_qk, point.tile_q, point.tile_kv, point.warps,
                    point.stages > 0 ? fmt::format(", {} stages", point.stages) : "");
  }
  return chosen;
}

MeasurePoint completed(const MeasurePoint& point, const ChosenVariant& chosen) {
  MeasurePoint complete = point;
  complete.tile_q = chosen.variant.tile_q;
  complete.tile_kv = chosen.variant.tile_kv;
  complete.warps = chosen.variant.warps;
  complete.stages = chosen.variant.stages;
  const std::int64_t splits =
      kernels::splits_of(chosen.variant, {.shape = chosen.shape, .mask = chosen.mask, .splits = point.splits});
  if (splits > 1) complete.splits = splits;
  return complete;
}

Record run_point(Bench& bench, const MeasurePoint& point, const ChosenVariant& chosen) {
  Record record;
  record.experiment = bench.experiment;
  record.environment = bench.environment;
  record.point = completed(point, chosen);
  const PointArrays arrays(chosen.variant, chosen.shape, chosen.mask, mask_data(point, bench.data_directory),
                           point.splits);
  const kernels::Problem& problem = arrays.problem();
  const std::vector<kernels::Launch> launches = kernels::prepare(chosen.variant, problem);
  for (const kernels::Launch& launch : launches) launch.enqueue(nullptr);
  check_cuda(cudaDeviceSynchronize(), "the kernel's first run");
  record.correctness = kernels::pass_of(chosen.variant) == kernels::Pass::backward
                           ? check_gradients(problem, chosen.variant)
                           : check_output(problem, chosen.variant);
  const Timing timing = time_launches(launches, bench.flush, bench.cold_repeats, bench.steady_repeats, *bench.nvml);
  record.cold_seconds = timing.cold;
  record.steady_seconds = timing.steady;
  record.clocks = timing.clocks;
  count_launches(bench, launches, record);
  return record;
}

}  // namespace tilescope::validate
