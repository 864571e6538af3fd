#include "validate/point_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "validate/correctness.h"
#include "validate/counting.h"
#include "validate/cuda_check.h"
#include "validate/timing.h"

namespace tilescope::validate {
namespace {

kernels::Dtype kernel_dtype(Format format) {
  if (format == Format::bf16) return kernels::Dtype::bf16;
  return format == Format::fp16 ? kernels::Dtype::fp16 : kernels::Dtype::fp32;
}

bool fits(const kernels::Variant& variant, const MeasurePoint& point) {
  const bool any_tile = point.tile_q == 0;
  return variant.kernel == point.kernel && variant.dtype == kernel_dtype(point.dtype) &&
         (variant.head_dim == 0 || variant.head_dim == point.workload.d_qk) &&
         (any_tile ||
          (variant.tile_q == point.tile_q && variant.tile_kv == point.tile_kv && variant.warps == point.warps));
}

std::size_t count(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c) *
         static_cast<std::size_t>(d);
}

// The arrays of one point on the device. Inputs are standard normal; outputs are poisoned with NaN.
struct Arrays {
  std::size_t q_count, k_count, v_count, o_count, l_count;
  DeviceBuffer q, k, v, o, l, workspace;
  kernels::Problem problem;

  Arrays(const ChosenVariant& chosen, const kernels::Shape& s)
      : q_count(count(s.batch, s.heads_q, s.q_len, s.d_qk)),
        k_count(count(s.batch, s.heads_kv, s.kv_len, s.d_qk)),
        v_count(count(s.batch, s.heads_kv, s.kv_len, s.d_v)),
        o_count(count(s.batch, s.heads_q, s.q_len, s.d_v)),
        l_count(count(s.batch, s.heads_q, s.q_len, 1)),
        q(q_count * size_of(chosen.variant.dtype)),
        k(k_count * size_of(chosen.variant.dtype)),
        v(v_count * size_of(chosen.variant.dtype)),
        o(o_count * size_of(chosen.variant.dtype)),
        l(l_count * sizeof(float)),
        workspace(kernels::workspace_bytes(chosen.variant, {.shape = s, .mask = chosen.mask})) {
    const kernels::Dtype dtype = chosen.variant.dtype;
    fill_normal(q.get(), q_count, dtype, 1, nullptr);
    fill_normal(k.get(), k_count, dtype, 2, nullptr);
    fill_normal(v.get(), v_count, dtype, 3, nullptr);
    for (const DeviceBuffer* output : {&o, &l, &workspace}) {
      if (output->size() > 0) check_cuda(cudaMemset(output->get(), 0xFF, output->size()), "poisoning an output");
    }
    problem = {.shape = s,
               .mask = chosen.mask,
               .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.d_qk))),
               .q = q.get(),
               .k = k.get(),
               .v = v.get(),
               .o = o.get(),
               .l = static_cast<float*>(l.get()),
               .workspace = workspace.get()};
  }
};

LaunchFacts facts(const kernels::Launch& launch) {
  return {.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
          .block = {launch.block[0], launch.block[1], launch.block[2]},
          .registers_per_thread = launch.registers_per_thread,
          .static_smem = launch.static_smem_bytes,
          .dynamic_smem = launch.dynamic_smem_bytes,
          .local_bytes_per_thread = launch.local_bytes_per_thread,
          .blocks_per_unit = launch.blocks_per_unit};
}

// Each launch in a range of its own, with a cold and clean L2. `flush_inside` also puts a flush at the end of the range,
// so that the lines which the launch left dirty are written back where they are counted.
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
    Island island;
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
  chosen.mask = point.mask == "causal" ? kernels::Mask::causal : kernels::Mask::none;
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
        fmt::format("{} is not built for {} with head_dim {}, tile_q {}, tile_kv {}, {} warps", point.kernel,
                    to_string(point.dtype), w.d_qk, point.tile_q, point.tile_kv, point.warps);
  }
  return chosen;
}

Record run_point(Bench& bench, const MeasurePoint& point, const ChosenVariant& chosen) {
  Record record;
  record.experiment = bench.experiment;
  record.environment = bench.environment;
  record.point = point;
  record.point.tile_q = chosen.variant.tile_q;
  record.point.tile_kv = chosen.variant.tile_kv;
  record.point.warps = chosen.variant.warps;
  const Arrays arrays(chosen, chosen.shape);
  const std::vector<kernels::Launch> launches = kernels::prepare(chosen.variant, arrays.problem);
  for (const kernels::Launch& launch : launches) launch.enqueue(nullptr);
  check_cuda(cudaDeviceSynchronize(), "the kernel's first run");
  record.correctness = check_output(arrays.problem, chosen.variant.dtype);
  const Timing timing = time_launches(launches, bench.flush, bench.cold_repeats, bench.steady_repeats, *bench.nvml);
  record.cold_seconds = timing.cold;
  record.steady_seconds = timing.steady;
  record.clocks = timing.clocks;
  count_launches(bench, launches, record);
  return record;
}

}  // namespace tilescope::validate
