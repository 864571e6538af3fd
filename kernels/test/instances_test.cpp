// The descriptor beside each kernel against its instances: shared memory and operands held in registers.
// Needs no GPU.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "block_sparse/forward.h"
#include "flash1/forward.h"
#include "fused_mma/forward.h"
#include "predict/point/plan.h"
#include "reference/standard.h"
#include "reference_fp32/standard_fp32.h"

namespace tilescope::kernels {
namespace {

std::string row(const auto& v, bool hold_q, std::int64_t smem_bytes) {
  return fmt::format("head_dim {}, tile {}x{}, {} warps, holds Q {}, {} B", v.head_dim, v.tile_q, v.tile_kv, v.warps,
                     hold_q, smem_bytes);
}

// Of variants that take this format; fp32: of all.
std::set<std::string> rows_of(const std::string& kernel, Dtype dtype = Dtype::fp32) {
  std::set<std::string> rows;
  const Format format = dtype == Dtype::bf16 ? Format::bf16 : Format::fp16;
  const auto takes = [&](const FormatChoice& choice) {
    return std::any_of(choice.begin(), choice.end(), [&](const auto& array) { return array.second.format == format; });
  };
  for (const KernelVariant& v : load_plan_for_kernel(kernel, TILESCOPE_SOURCE_DIR).kernel.variants) {
    if (dtype != Dtype::fp32 && !v.formats.empty() && std::none_of(v.formats.begin(), v.formats.end(), takes)) continue;
    const std::string line = row(v, v.holds("Q"), v.smem_bytes);
    CHECK_MESSAGE(rows.insert(line).second, "twice: ", line);
  }
  return rows;
}

}  // namespace

TEST_CASE("fused_mma/code.json lists what is built, the same for both dtypes") {
  const std::set<std::string> listed = rows_of("fused_mma");
  for (Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
    std::set<std::string> built;
    for (const fused_mma::Instance& instance : fused_mma::instances()) {
      const Variant& v = instance.variant;
      if (v.dtype == dtype)
        built.insert(row(v, instance.hold_q, fused_mma::smem_bytes(v.head_dim, v.tile_q, v.tile_kv)));
    }
    CHECK(built == listed);
  }
}

TEST_CASE("flash1/code.json and block_sparse/code.json list what is built, the same for both dtypes") {
  for (Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
    std::set<std::string> built;
    for (const flash1::Instance& instance : flash1::instances()) {
      const Variant& v = instance.variant;
      if (v.dtype == dtype) built.insert(row(v, false, flash1::smem_bytes(v.head_dim, v.tile_q, v.tile_kv)));
    }
    CHECK(built == rows_of("flash1", dtype));
    built.clear();
    for (const block_sparse::Instance& instance : block_sparse::instances()) {
      const Variant& v = instance.variant;
      if (v.dtype == dtype)
        built.insert(row(v, instance.hold_q, block_sparse::smem_bytes(v.head_dim, v.tile_q, v.tile_kv)));
    }
    CHECK(built == rows_of("block_sparse", dtype));
  }
}

TEST_CASE("reference/kernel.yaml lists what is built, the same for both dtypes") {
  for (Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
    const std::set<std::string> listed = rows_of("reference", dtype);
    std::set<std::string> built;
    for (const reference::Instance& instance :
         dtype == Dtype::fp16 ? reference::fp16_instances() : reference::bf16_instances())
      built.insert(row(instance.variant, false, std::max(instance.qk_smem_bytes, instance.pv_smem_bytes)));
    CHECK(built == listed);
  }
}

TEST_CASE("reference_fp32/kernel.yaml lists what is built") {
  using namespace reference_fp32;
  const Variant built{"reference_fp32", Dtype::fp32, 0, tile_q, tile_kv, warps};
  CHECK(rows_of("reference_fp32") == std::set<std::string>{row(built, false, 0)});
}

}  // namespace tilescope::kernels
