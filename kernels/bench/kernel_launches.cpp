// Launches every built variant once a mask, at known sizes that an NVTX range states in the words that `tilescope run`
// reads: for `tilescope capture --cold`. `kernel_launches REPEATS KERNEL...` does so that many times: 36 show all nine
// groups of counters of an H100, four launches a group. For these kernels alone where any is named.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/data_directory.h"
#include "base/error.h"
#include "diagram/block_mask.h"
#include "test/device_run.h"

namespace tilescope::kernels {
namespace {

constexpr std::size_t array_bytes = std::size_t{192} << 20;
constexpr std::int64_t window = 200;
constexpr const char* block_mask_file = "models/masks/band_4096.yaml";
constexpr Shape block_mask_shape{1, 8, 2, 4096, 4096, 0, 0};

// Of the first ones, each has another number of query tiles in all: a capture counts launches of one kernel and grid as
// one kind.
constexpr Shape shapes[] = {{2, 6, 2, 333, 777, 0, 0}, {2, 16, 4, 2048, 2048, 0, 0}, {1, 8, 2, 1000, 1000, 0, 0},
                            {2, 6, 6, 512, 512, 0, 0}, {1, 4, 4, 2048, 2048, 0, 0},  {5, 16, 2, 1, 3000, 0, 0},
                            {2, 32, 8, 2, 1500, 0, 0}, {8, 16, 4, 3, 5000, 0, 0},    {3, 128, 1, 1, 2000, 0, 0},
                            {2, 64, 1, 2, 1000, 0, 0}, {1, 128, 1, 1, 9000, 0, 0}};

// The pattern of `block_mask_file` on the device.
struct BlockMask {
  std::int64_t block_q = 0, block_kv = 0;
  DeviceBuffer bytes{array_bytes};
  BlockMask() {
    const Workload sizes{.q_len = block_mask_shape.q_len, .kv_len = block_mask_shape.kv_len};
    const tilescope::Mask mask = load_block_mask(data_directory() / block_mask_file, sizes);
    block_q = mask.blocks->block_q, block_kv = mask.blocks->block_kv;
    std::vector<std::uint8_t> live;
    for (const std::vector<bool>& row : mask.blocks->live) live.insert(live.end(), row.begin(), row.end());
    bytes.upload(live.data(), live.size());
  }
};

// Arrays of zeros, and pages in their order. Every problem uses the same ones.
struct Arrays {
  DeviceBuffer q{array_bytes}, k{array_bytes}, v{array_bytes}, o{array_bytes}, l{array_bytes}, workspace{array_bytes},
      table{array_bytes}, k_scales{array_bytes}, v_scales{array_bytes}, d_o{array_bytes}, d_q{array_bytes},
      d_k{array_bytes}, d_v{array_bytes};
  BlockMask block_mask;
  Arrays() {
    for (DeviceBuffer* each : {&q, &k, &v, &o, &l, &workspace, &table, &k_scales, &v_scales, &d_o, &d_q, &d_k, &d_v})
      each->fill(0);
    std::vector<std::int32_t> pages(std::size_t{1} << 20);
    std::iota(pages.begin(), pages.end(), 0);
    table.upload(pages.data(), pages.size() * sizeof(pages[0]));
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
    p.block_mask = static_cast<const std::uint8_t*>(arrays.block_mask.bytes.get());
    p.block_q = arrays.block_mask.block_q, p.block_kv = arrays.block_mask.block_kv;
  }
  if (!variant.paged) return p;
  p.block_table = static_cast<const std::int32_t*>(arrays.table.get());
  p.page_size = std::max(64, variant.tile_kv);
  p.pages = shape.batch * ((shape.kv_len + p.page_size - 1) / p.page_size);
  return p;
}

std::string mask_words(const Problem& p) {
  if (p.mask == MaskKind::window) return fmt::format("window:{}", p.window);
  return p.mask == MaskKind::blocks ? fmt::format("{}:{}", to_string(p.mask), block_mask_file) : to_string(p.mask);
}

std::string dtype_words(const Variant& v) {
  std::string words = to_string(v.dtype);
  for (const auto& [array, own] : {std::pair{"q", v.q}, {"k", v.k}, {"v", v.v}})
    if (own && *own != v.dtype) words += fmt::format(",{}={}", array, to_string(*own));
  return words;
}

// Sizes first: CUPTI cuts long names.
std::string range_words(const Variant& v, const Problem& p) {
  const Shape& s = p.shape;
  return fmt::format(
      "batch={} heads_q={} heads_kv={} q_len={} kv_len={} head_dim={} v_head_dim={} mask={} kernel={} dtype={} "
      "tile=q={},kv={},warps={},stages={} splits={}{}",
      s.batch, s.heads_q, s.heads_kv, s.q_len, s.kv_len, s.d_qk, s.d_v, mask_words(p), v.kernel, dtype_words(v),
      v.tile_q, v.tile_kv, v.warps, v.stages, splits_of(v, p), pass_of(v) == Pass::backward ? " pass=backward" : "");
}

void launch(const Variant& v, const Problem& p) {
  const std::string name = range_words(v, p);
  nvtxRangePushA(name.c_str());
  for (const Launch& each : prepare(v, p)) {
    nvtxRangePushA(each.island.c_str());
    each.enqueue(nullptr);
    nvtxRangePop();
  }
  nvtxRangePop();
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess)
    throw DeviceError(fmt::format("{}: {}", name, cudaGetErrorString(status)));
}

bool takes(const Variant& variant, const Shape& shape, MaskKind mask, const Arrays& arrays) {
  if (mask == MaskKind::blocks &&
      (arrays.block_mask.block_q % variant.tile_q != 0 || arrays.block_mask.block_kv % variant.tile_kv != 0))
    return false;
  return unsupported_reason(variant, shape, mask).empty();
}

// Two shapes without a mask and one under each mask, each of them once.
std::vector<Problem> problems_of(const Variant& variant, const Arrays& arrays) {
  std::vector<Problem> problems;
  std::vector<Shape> shapes_left(std::begin(shapes), std::end(shapes));
  const auto add = [&](Shape shape, MaskKind mask) {
    shape.d_qk = variant.head_dim > 0 ? variant.head_dim : 64, shape.d_v = v_in_k(variant) ? 512 : shape.d_qk;
    if (!takes(variant, shape, mask, arrays)) return false;
    const Problem problem = problem_of(variant, shape, mask, arrays);
    if (workspace_bytes(variant, problem) > array_bytes) return false;
    problems.push_back(problem);
    return true;
  };
  for (const MaskKind mask : {MaskKind::none, MaskKind::none, MaskKind::causal, MaskKind::window}) {
    const auto found =
        std::find_if(shapes_left.begin(), shapes_left.end(), [&](const Shape& shape) { return add(shape, mask); });
    if (found != shapes_left.end()) shapes_left.erase(found);
  }
  add(block_mask_shape, MaskKind::blocks);
  return problems;
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
    for (const auto& variant : tilescope::kernels::built_variants()) {
      if (!wanted(variant.kernel)) continue;
      for (const auto& problem : tilescope::kernels::problems_of(variant, arrays))
        for (int i = 0; i < repeats; ++i, ++runs) tilescope::kernels::launch(variant, problem);
    }
    fmt::print("{} problems\n", runs);
    return 0;
  } catch (const tilescope::DeviceError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
