// Launches every built variant once a mask, at known sizes that an NVTX range states as JSON: for `tilescope capture`.
// `kernel_launches REPEATS KERNEL...` does so that many times, so that a capture sees all of its groups of counters,
// for these kernels alone where any is named.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "test/device_run.h"

namespace tilescope::kernels {
namespace {

constexpr std::size_t array_bytes = std::size_t{192} << 20;
constexpr std::int64_t window = 200, block_side = 128;

constexpr Shape shapes[] = {{3, 12, 4, 333, 777, 0, 0}, {2, 8, 8, 512, 512, 0, 0},   {5, 16, 2, 1, 3000, 0, 0},
                            {2, 32, 8, 2, 1500, 0, 0},  {1, 8, 2, 1000, 1000, 0, 0}, {3, 128, 1, 1, 2000, 0, 0},
                            {2, 64, 1, 2, 1000, 0, 0}};

// Arrays of zeros; an array of ones for the block mask. Every problem uses the same ones.
struct Arrays {
  DeviceBuffer q{array_bytes}, k{array_bytes}, v{array_bytes}, o{array_bytes}, l{array_bytes}, workspace{array_bytes},
      table{array_bytes}, k_scales{array_bytes}, v_scales{array_bytes}, d_o{array_bytes}, d_q{array_bytes},
      d_k{array_bytes}, d_v{array_bytes}, ones{array_bytes};
  Arrays() {
    for (DeviceBuffer* each : {&q, &k, &v, &o, &l, &workspace, &table, &k_scales, &v_scales, &d_o, &d_q, &d_k, &d_v})
      each->fill(0);
    ones.fill(1);
  }
};

Problem problem_of(const Variant& variant, const Shape& shape, MaskKind mask, const Arrays& arrays) {
  Problem p{.shape = shape, .mask = mask, .scale = 1.0f / std::sqrt(static_cast<float>(shape.d_qk))};
  p.q = arrays.q.get(), p.k = arrays.k.get(), p.v = v_in_k(variant) ? nullptr : arrays.v.get(), p.o = arrays.o.get();
  p.l = static_cast<float*>(arrays.l.get()), p.workspace = arrays.workspace.get();
  p.k_scales = arrays.k_scales.get(), p.v_scales = arrays.v_scales.get();
  p.d_o = arrays.d_o.get(), p.d_q = arrays.d_q.get(), p.d_k = arrays.d_k.get(), p.d_v = arrays.d_v.get();
  if (mask == MaskKind::window) p.window = window;
  if (mask == MaskKind::blocks) {
    p.block_mask = static_cast<const std::uint8_t*>(arrays.ones.get());
    p.block_q = p.block_kv = block_side;
  }
  if (!variant.paged) return p;
  p.block_table = static_cast<const std::int32_t*>(arrays.table.get());
  p.page_size = std::max(64, variant.tile_kv);
  p.pages = shape.batch * ((shape.kv_len + p.page_size - 1) / p.page_size);
  return p;
}

void run(const Variant& v, const Problem& p) {
  const Shape& s = p.shape;
  const std::string name = fmt::format(
      R"({{"batch":{},"heads_q":{},"heads_kv":{},"q_len":{},"kv_len":{},"mask":"{}","kernel":"{}","dtype":"{}",)"
      R"("k":"{}","head_dim":{},"tile_q":{},"tile_kv":{},"warps":{},"stages":{},"paged":{},"splits":{}}})",
      s.batch, s.heads_q, s.heads_kv, s.q_len, s.kv_len, to_string(p.mask), v.kernel, to_string(v.dtype),
      to_string(v.dtype_k()), s.d_qk, v.tile_q, v.tile_kv, v.warps, v.stages, v.paged, splits_of(v, p));
  nvtxRangePushA(name.c_str());
  for (const Launch& launch : prepare(v, p)) {
    nvtxRangePushA(launch.island.c_str());
    launch.enqueue(nullptr);
    nvtxRangePop();
  }
  nvtxRangePop();
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess)
    throw DeviceError(fmt::format("{}: {}", name, cudaGetErrorString(status)));
}

// Two shapes without a mask, one under each mask.
int run_variant(const Variant& variant, const Arrays& arrays) {
  int runs = 0;
  for (const MaskKind mask : {MaskKind::none, MaskKind::causal, MaskKind::window, MaskKind::blocks}) {
    int left = mask == MaskKind::none ? 2 : 1;
    for (Shape shape : shapes) {
      shape.d_qk = variant.head_dim > 0 ? variant.head_dim : 64, shape.d_v = v_in_k(variant) ? 512 : shape.d_qk;
      if (left == 0 || !unsupported_reason(variant, shape, mask).empty()) continue;
      const Problem problem = problem_of(variant, shape, mask, arrays);
      if (workspace_bytes(variant, problem) > array_bytes) continue;
      run(variant, problem);
      --left, ++runs;
    }
  }
  return runs;
}

}  // namespace
}  // namespace tilescope::kernels

int main(int count, char** arguments) {
  try {
    const tilescope::kernels::Arrays arrays;
    const int repeats = count > 1 ? std::max(1, std::atoi(arguments[1])) : 1;
    int runs = 0;
    const auto wanted = [&](const std::string& kernel) {
      return count < 3 ||
             std::any_of(arguments + 2, arguments + count, [&](const char* name) { return kernel == name; });
    };
    for (const auto& variant : tilescope::kernels::built_variants())
      for (int i = 0; i < repeats && wanted(variant.kernel); ++i)
        runs += tilescope::kernels::run_variant(variant, arrays);
    fmt::print("{} problems\n", runs);
    return 0;
  } catch (const tilescope::DeviceError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
