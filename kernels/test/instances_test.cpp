// The kernel.yaml beside each kernel against its instances: shared memory and operands held in registers.
// Needs no GPU.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <set>

#include "block_sparse/forward.h"
#include "flash1/forward.h"
#include "fused_mma/forward.h"
#include "reference/standard.h"
#include "reference_fp32/standard_fp32.h"

namespace tilescope::kernels {
namespace {

std::set<std::string> rows_of(const std::string& kernel) {
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/kernels/" + kernel + "/kernel.yaml");
  REQUIRE_MESSAGE(file.is_open(), kernel, "/kernel.yaml cannot be opened");
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("  - {head_dim:")) CHECK_MESSAGE(rows.insert(line.substr(4)).second, "twice: ", line);
  return rows;
}

std::string row(const Variant& v, bool hold_q, int smem_bytes) {
  return fmt::format("{{head_dim: {}, tile_q: {}, tile_kv: {}, warps: {}, registers_hold: {}{}}}", v.head_dim, v.tile_q,
                     v.tile_kv, v.warps, hold_q ? "[Q]" : "[]",
                     smem_bytes > 0 ? fmt::format(", smem_bytes: {}", smem_bytes) : "");
}

}  // namespace

TEST_CASE("fused_mma/kernel.yaml lists what is built, the same for both dtypes") {
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

TEST_CASE("flash1/kernel.yaml and block_sparse/kernel.yaml list what is built, the same for both dtypes") {
  for (Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
    std::set<std::string> built;
    for (const flash1::Instance& instance : flash1::instances()) {
      const Variant& v = instance.variant;
      if (v.dtype == dtype) built.insert(row(v, false, flash1::smem_bytes(v.head_dim, v.tile_q, v.tile_kv)));
    }
    CHECK(built == rows_of("flash1"));
    built.clear();
    for (const block_sparse::Instance& instance : block_sparse::instances()) {
      const Variant& v = instance.variant;
      if (v.dtype == dtype)
        built.insert(row(v, instance.hold_q, block_sparse::smem_bytes(v.head_dim, v.tile_q, v.tile_kv)));
    }
    CHECK(built == rows_of("block_sparse"));
  }
}

TEST_CASE("reference/kernel.yaml lists what is built, the same for both dtypes") {
  const std::set<std::string> listed = rows_of("reference");
  for (const auto& instances : {reference::fp16_instances(), reference::bf16_instances()}) {
    std::set<std::string> built;
    for (const reference::Instance& instance : instances)
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
