// Compares the model's shared-memory footprint with what shipped kernels request, and tests which of their tiles do not
// fit.
#include <doctest/doctest.h>

#include "predict/described_kernel.h"
#include "predict/predict.h"

namespace tilescope::footprint_test {
namespace {

Point point_of(const Plan& plan, const KernelVariant& variant) {
  Point point = default_point(plan);
  const std::int64_t depth = variant.head_dim > 0 ? variant.head_dim : 64,
                     queries = plan.kernel.largest_q_len > 0 ? 1 : 4096;
  point.workload = {1, 1, 1, queries, 4096, depth, variant.v_head_dim > 0 ? variant.v_head_dim : depth};
  const auto& formats = variant.formats.empty() ? plan.kernel.formats : variant.formats;
  if (!formats.empty()) set_formats(point, plan.schedule.diagram, formats.front());
  take_variant(point, plan.schedule, variant);
  return point;
}

}  // namespace

TEST_CASE(
    "the derived footprint of every built variant is the shared memory that its kernel requests; tiles that "
    "spill run") {
  const std::filesystem::path root = TILESCOPE_SOURCE_DIR;
  const HardwareProfile hardware = find_profile("h200_sxm", root / "hardware");
  int checked = 0, spilling = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "kernels")) {
    if (!entry.path().filename().string().ends_with("kernel.yaml")) continue;
    const Plan plan = load_plan_for_kernel(entry.path().string(), root);
    for (const KernelVariant& variant : plan.kernel.variants) {
      CAPTURE(plan.kernel.name);
      CAPTURE(variant.head_dim);
      CAPTURE(variant.tile_q);
      CAPTURE(variant.tile_kv);
      CAPTURE(variant.warps);
      CAPTURE(variant.stages);
      const Point point = point_of(plan, variant);
      CHECK(selected_variant(plan, point) == &variant);
      Prediction prediction;
      predict(plan, hardware, point, prediction);
      std::int64_t largest = 0;
      for (const FootprintRow& row : prediction.footprint)
        if (row.level == Boundary::smem) largest = std::max(largest, row.bytes);
      if (variant.smem_bytes > 0) CHECK(largest == variant.smem_bytes);
      CHECK(prediction.feasible);  // a built kernel runs; registers that do not fit lie in memory
      for (const FootprintRow& row : prediction.footprint)
        if (!row.within()) {
          CHECK(variant.spills);
          CHECK(row.compiled == std::string("spills"));
          ++spilling;
        }
      checked += variant.smem_bytes > 0;
    }
  }
  CHECK(checked >= 24);
  MESSAGE("variants checked: " << checked << ", of which " << spilling << " spill");
  CHECK(spilling > 0);
}

TEST_CASE(
    "an SM of an H200 holds as many blocks of a built instance as its registers, shared memory and threads allow") {
  const std::filesystem::path root = TILESCOPE_SOURCE_DIR;
  const HardwareProfile hardware = find_profile("h200_sxm", root / "hardware");
  int checked = 0, of_registers = 0;
  for (const char* kernel : {"fused_mma", "case_study", "flash1", "block_sparse"}) {
    CAPTURE(kernel);
    const Plan plan = load_plan_for_kernel(kernel, root);
    for (const KernelVariant& variant : plan.kernel.variants) {
      if (variant.code.registers == 0 || variant.smem_bytes == 0) continue;
      CAPTURE(variant.head_dim);
      CAPTURE(variant.tile_q);
      CAPTURE(variant.tile_kv);
      CAPTURE(variant.warps);
      Prediction prediction;
      predict(plan, hardware, point_of(plan, variant), prediction);
      const std::int64_t threads = 32 * variant.warps,
                         by_registers = 65536 / (threads * ((variant.code.registers + 7) / 8 * 8)),
                         by_memory = 228 * 1024 / (variant.smem_bytes + 1024);
      CHECK(prediction.islands.front().blocks_per_unit == std::min({by_registers, by_memory, 2048 / threads}));
      ++checked, of_registers += by_registers < by_memory;
    }
  }
  CHECK(checked > 30);
  CHECK(of_registers > 10);
}

TEST_CASE(
    "an SM holds as many blocks of launches without products as PyTorch's records counted: their code's registers") {
  const std::filesystem::path root = TILESCOPE_SOURCE_DIR;
  const HardwareProfile hardware = find_profile("h100_sxm", root / "hardware");
  const struct {
    const char *kernel, *launch;
    std::int64_t head_dim, blocks;  // counted
  } rows[] = {{"pytorch_flash2_backward_d64", "preprocess", 64, 6},
              {"pytorch_flash2_backward_d64", "convert", 64, 5},
              {"pytorch_flash2_backward_d128", "preprocess", 128, 4},
              {"pytorch_flash2_backward_d128", "convert", 128, 5},
              {"pytorch_flash2_backward_d256", "preprocess", 256, 2},
              {"pytorch_flash2_backward_d256", "convert", 256, 3},
              {"pytorch_flash2_split", "combine", 64, 9},
              {"pytorch_flash2_split", "combine", 128, 9}};
  for (const auto& row : rows) {
    CAPTURE(row.kernel);
    CAPTURE(row.launch);
    const Plan plan = load_plan_for_kernel(row.kernel, root);
    bool found = false;
    for (const KernelVariant& variant : plan.kernel.variants) {
      if (variant.head_dim != row.head_dim) continue;
      Prediction prediction;
      predict(plan, hardware, point_of(plan, variant), prediction);
      for (std::size_t i = 0; i < prediction.islands.size(); ++i)
        if (plan.schedule.islands[i].name == row.launch) {
          CHECK(prediction.islands[i].blocks_per_unit == row.blocks);
          found = true;
        }
    }
    CHECK(found);
  }
}

TEST_CASE("stated registers of a thread decide how many blocks an SM holds, as those of the machine code do") {
  const std::filesystem::path root = TILESCOPE_SOURCE_DIR;
  const HardwareProfile hardware = find_profile("h200_sxm", root / "hardware");
  Plan plan = load_plan_for_kernel("case_study", root);
  KernelVariant& variant = plan.kernel.variants.front();
  const auto blocks = [&] {
    Prediction prediction;
    predict(plan, hardware, point_of(plan, variant), prediction);
    return prediction.islands.front().blocks_per_unit;
  };
  const std::int64_t of_code = variant.code.registers, built = blocks(), warps = variant.warps;
  variant.code = {};
  plan.kernel.islands.front().registers = of_code;
  CHECK(blocks() == built);
  for (const std::int64_t registers : {64, 128, 255}) {
    plan.kernel.islands.front().registers = registers;
    CHECK(blocks() <= 65536 / (32 * warps * registers));
  }
  plan.kernel.islands.front().registers = 255;
  CHECK(blocks() == 65536 / (32 * warps * 256));
}

TEST_CASE("shared memory beside the tiles may vary with the stages: a variant states its own") {
  const Plan plan = plan_of(R"(schedule: flash2
dtypes: [fp16]
head_dims: [64]
masks: [none]
islands:
  - {name: forward, tensor_path: wgmma, mma: {m: 64, n: columns, k: 16}, block_order: [q, heads, batch]}
code:
  facts: [{launch: forward, smem_extra_bytes: 1024}]
  variants:
    - {head_dim: 64, tile_q: 128, tile_kv: 64, warps: 8, stages: 2, smem_extra_bytes: 256}
    - {head_dim: 64, tile_q: 128, tile_kv: 64, warps: 8, stages: 3, smem_extra_bytes: 384}
    - {head_dim: 64, tile_q: 128, tile_kv: 64, warps: 8, stages: 4}
)");
  const HardwareProfile hardware = find_profile("h200_sxm", std::filesystem::path(TILESCOPE_SOURCE_DIR) / "hardware");
  constexpr std::int64_t q = 128 * 64 * 2, stage = 2 * 64 * 64 * 2, extra[] = {256, 384, 1024};
  REQUIRE(plan.kernel.variants.size() == std::size(extra));
  for (std::size_t i = 0; i < std::size(extra); ++i) {
    Prediction prediction;
    predict(plan, hardware, point_of(plan, plan.kernel.variants[i]), prediction);
    for (const FootprintRow& row : prediction.footprint)
      if (row.level == Boundary::smem) CHECK(row.bytes == q + plan.kernel.variants[i].stages * stage + extra[i]);
  }
}

}  // namespace tilescope::footprint_test
