// The problems that kernels reject, and the messages. Needs no GPU.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/error.h"
#include "kernel_api.h"
#include "test/device_run.h"

namespace tilescope::kernels {
namespace {

Variant first_of(const std::string& kernel) {
  for (const Variant& variant : built_variants())
    if (variant.kernel == kernel) return variant;
  return {};
}

std::string refusal(const std::string& kernel, const Shape& shape) {
  return unsupported_reason(first_of(kernel), shape, Mask::none);
}

std::string prepare_error(const Variant& variant, const Problem& problem) {
  try {
    prepare(variant, problem);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the fused kernel is built in at least twelve combinations for each dtype and none is listed twice") {
  std::set<std::string> seen;
  int fused[format_count] = {};
  for (const Variant& variant : built_variants()) {
    CHECK(seen.insert(describe(variant)).second);
    if (variant.kernel == "fused_mma") ++fused[static_cast<int>(variant.dtype)];
  }
  CHECK(fused[static_cast<int>(Dtype::fp16)] >= 12);
  CHECK(fused[static_cast<int>(Dtype::bf16)] >= 12);
}

TEST_CASE("a shape that a kernel cannot run is refused with the reason") {
  CHECK(refusal("fused_mma", {1, 1, 1, 8, 8, 64, 64}) == "");
  CHECK(refusal("fused_mma", {1, 1, 1, 8, 8, 96, 96}) == "head_dim 96 is not built; built: 64, 128, 256");
  CHECK(refusal("fused_mma", {1, 1, 1, 8, 8, 128, 128}) ==
        "this variant is built for head_dim 64, the problem has 128; pick a variant of head_dim 128");
  CHECK(refusal("fused_mma", {1, 1, 1, 8, 8, 64, 128}) ==
        "d_v 128 differs from d_qk 64; fused_mma is built for equal ones");
  CHECK(refusal("reference", {1, 6, 4, 8, 8, 64, 64}) ==
        "heads_q 6 is not a multiple of heads_kv 4; query heads share KV heads evenly");
  CHECK(refusal("reference", {1, 1, 1, 0, 8, 64, 64}) == "q_len is 0; every size must be at least 1");
  CHECK(refusal("reference", {1, 1, 1, 8, -3, 64, 64}) == "kv_len is -3; every size must be at least 1");
  CHECK(refusal("fused_mma", {1, 65536, 1, 8, 8, 64, 64}) ==
        "heads_q is 65536; a launch holds at most 65535 (grid y and z)");
  CHECK(refusal("fused_mma", {65536, 1, 1, 8, 8, 64, 64}) ==
        "batch is 65536; a launch holds at most 65535 (grid y and z)");
  CHECK(refusal("fused_mma", {1, 1, 1, 1LL << 31, 8, 64, 64}) ==
        "q_len is 2147483648; the kernels index at most 536870912 rows");
  CHECK(refusal("reference", {1, 1, 1, 8, 40000, 64, 64}) ==
        "kv_len 40000 is too long: the row softmax holds a row in registers, at most 32768 keys; use fused_mma");
  CHECK(refusal("reference_fp32", {1, 1, 1, 8, 8, 257, 257}) ==
        "head_dim 257 is not built; reference_fp32 takes any up to 256");
}

TEST_CASE("a variant that was not built is refused by name") {
  Variant variant = first_of("fused_mma");
  variant.tile_q = 96;
  CHECK(unsupported_reason(variant, {}, Mask::none) ==
        "fused_mma has no variant with head_dim 64, tile_q 96, tile_kv 32, 4 warps for these formats; its kernel.yaml "
        "lists the built ones");
  variant.kernel = "fused";
  CHECK(unsupported_reason(variant, {}, Mask::none) ==
        fmt::format("kernel fused is not built; built: {}", fmt::join(built_kernels(), ", ")));
  CHECK_THROWS_AS(workspace_bytes(variant, {}), InputError);
}

TEST_CASE("the unfused workspace holds S and P with rows rounded up to 32 bytes") {
  const Shape shape{2, 3, 1, 10, 17, 64, 64};
  const std::size_t rows = 2 * 3 * 10;
  CHECK(workspace_bytes(first_of("reference"), {.shape = shape}) == 2 * ((rows * 32 * 2 + 255) / 256 * 256));
  CHECK(workspace_bytes(first_of("reference_fp32"), {.shape = shape}) == 2 * ((rows * 24 * 4 + 255) / 256 * 256));
  CHECK(workspace_bytes(first_of("fused_mma"), {.shape = shape}) == 0);
}

TEST_CASE("masks that a kernel cannot run are refused with the reason") {
  const Variant variant = first_of("block_sparse");  // 64 x 64
  alignas(16) static char memory[64];
  Problem problem;
  problem.shape = {1, 1, 1, 8, 8, 64, 64};
  problem.q = problem.k = problem.v = memory, problem.o = memory, problem.l = reinterpret_cast<float*>(memory);
  problem.mask = Mask::window;
  CHECK(prepare_error(variant, problem) == "error: block_sparse: window is 0; a query must see at least 1 key");
  problem.mask = Mask::blocks, problem.block_q = 96, problem.block_kv = 64;
  CHECK(prepare_error(variant, problem) ==
        "error: block_sparse: block_mask is a null pointer; give a device array of 0 and 1");
  problem.block_mask = reinterpret_cast<const std::uint8_t*>(memory);
  CHECK(prepare_error(variant, problem) ==
        "error: block_sparse: block_q is 96; it must be a multiple of the variant's tile_q 64");
  CHECK(refusal("block_sparse", {1, 1, 1, 8, 522241, 64, 64}) ==
        "kv_len 522241 is too long: the list of live tiles in shared memory has room for 522240 keys in tiles of 64");
  CHECK(unsupported_reason(first_of("flash1"), problem.shape, Mask::blocks) ==
        "flash1 does not take the mask block-sparse; its kernel.yaml lists those it takes");
}

TEST_CASE("bad pointers and scales are refused before anything is launched") {
  const Variant variant = first_of("fused_mma");
  alignas(16) static char memory[64];
  Problem good;
  good.shape = {1, 1, 1, 8, 8, 64, 64};
  good.q = good.k = good.v = memory, good.o = memory, good.l = reinterpret_cast<float*>(memory);
  Problem bad = good;
  bad.k = nullptr;
  CHECK(prepare_error(variant, bad) == "error: fused_mma: k is a null pointer; give a device array");
  bad = good, bad.o = memory + 8;
  CHECK(prepare_error(variant, bad) ==
        "error: fused_mma: o is not aligned to 16 bytes, which the kernel's accesses need");
  bad = good, bad.scale = -1.0f;
  CHECK(prepare_error(variant, bad) == "error: fused_mma: scale is -1; it must be positive and finite");
  CHECK(prepare_error(first_of("reference"), good) ==
        "error: reference: workspace is a null pointer; give a device array");
}

namespace {

// A problem that the variant accepts, on the host. A changed copy must be rejected before anything is launched.
Problem small_problem(const Variant& variant, char* memory) {
  const std::int64_t d = variant.head_dim == 0 ? 64 : variant.head_dim;
  Problem p;
  p.shape = {1, 1, 1, 8, 64, d, v_in_k(variant) ? d - 64 : d};
  p.q = p.k = p.v = p.d_o = memory, p.o = p.d_q = p.d_k = p.d_v = p.workspace = memory;
  p.l = reinterpret_cast<float*>(memory);
  p.k_scales = p.v_scales = memory;
  if (variant.paged)
    p.block_table = reinterpret_cast<const std::int32_t*>(memory), p.page_size = variant.tile_kv, p.pages = 1;
  p.splits = 1;  // the kernel's own choice depends on the GPU
  return p;
}

}  // namespace

TEST_CASE("every kernel refuses null and misaligned arrays and names them") {
  alignas(1024) static char memory[1024];
  for (const Variant& variant : built_variants()) {
    CAPTURE(describe(variant));
    const Problem good = small_problem(variant, memory);
    REQUIRE(unsupported_reason(variant, good.shape, good.mask) == "");
    const bool backward = pass_of(variant) == Pass::backward;
    const auto refused = [&](const char* name, auto member) {
      Problem bad = good;
      bad.*member = nullptr;
      CHECK(prepare_error(variant, bad).find(std::string(name) + " is a null pointer") != std::string::npos);
      bad.*member = memory + 8;
      CHECK(prepare_error(variant, bad).find(std::string(name) + " is not aligned to 16 bytes") != std::string::npos);
    };
    refused("q", &Problem::q), refused("k", &Problem::k), refused("o", &Problem::o);
    if (!v_in_k(variant)) refused("v", &Problem::v);
    if (backward) {
      refused("d_o", &Problem::d_o), refused("d_q", &Problem::d_q);
      refused("d_k", &Problem::d_k), refused("d_v", &Problem::d_v);
    }
    if (workspace_bytes(variant, good) > 0) refused("workspace", &Problem::workspace);
    if (variant.paged) {
      Problem bad = good;
      bad.block_table = nullptr;
      CHECK(prepare_error(variant, bad).find("block_table is a null pointer") != std::string::npos);
    }
  }
}

TEST_CASE("every kernel refuses sizes of zero, uneven heads, foreign head dimensions and masks it does not take") {
  alignas(1024) static char memory[1024];
  for (const Variant& variant : built_variants()) {
    CAPTURE(describe(variant));
    const Shape good = small_problem(variant, memory).shape;
    const std::pair<const char*, std::int64_t Shape::*> sizes[] = {
        {"batch", &Shape::batch}, {"heads_q", &Shape::heads_q}, {"heads_kv", &Shape::heads_kv},
        {"q_len", &Shape::q_len}, {"kv_len", &Shape::kv_len},   {"d_qk", &Shape::d_qk},
        {"d_v", &Shape::d_v}};
    for (const auto& [name, member] : sizes)
      for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-5}}) {
        Shape bad = good;
        bad.*member = size;
        CHECK(unsupported_reason(variant, bad, Mask::none) ==
              fmt::format("{} is {}; every size must be at least 1", name, size));
      }
    Shape bad = good;
    bad.heads_q = 3, bad.heads_kv = 2;
    CHECK(unsupported_reason(variant, bad, Mask::none).find("is not a multiple of") != std::string::npos);
    bad = good;
    bad.d_qk = 1000, bad.d_v = 1000;
    CHECK(unsupported_reason(variant, bad, Mask::none) != "");
    bad = good;
    bad.q_len = bad.kv_len = std::int64_t{1} << 40;
    CHECK(unsupported_reason(variant, bad, Mask::none) != "");
    int taken = 0;
    for (const Mask mask : {Mask::none, Mask::causal, Mask::window, Mask::blocks}) {
      const std::string reason = unsupported_reason(variant, good, mask);
      taken += reason.empty();
      if (!reason.empty()) CHECK(reason.find("does not take the mask " + to_string(mask)) != std::string::npos);
    }
    CHECK(taken >= 1);
  }
}

}  // namespace tilescope::kernels
