#include "predict/point/support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "predict/predict.h"

namespace support_test {

using namespace tilescope;
using nlohmann::json;

namespace {

HardwareProfile gpu(const std::string& id) { return find_profile(id, std::string(TILESCOPE_SOURCE_DIR) + "/hardware"); }

KernelDescriptor kernel(const std::string& name) { return load_plan_for_kernel(name, TILESCOPE_SOURCE_DIR).kernel; }

Workload call(std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv, std::int64_t q_len,
              std::int64_t kv_len) {
  return {batch, heads_q, heads_kv, q_len, kv_len, 128, 128};
}

bool launched(const std::string& name, const Workload& workload) {
  return outside_shapes(kernel(name), gpu("h200_sxm"), workload).empty();
}

}  // namespace

TEST_CASE("a descriptor's shapes say for which sizes its software launches it, and which kernel runs instead") {
  CHECK(launched("cudnn_forward", call(1, 16, 16, 2, 4096)));
  CHECK_FALSE(launched("cudnn_forward", call(1, 16, 16, 1, 4096)));
  CHECK_FALSE(launched("pytorch_flash2_split", call(1, 16, 16, 2, 4096)));
  CHECK(launched("pytorch_flash2_split_rows", call(1, 16, 16, 2, 4096)));
  CHECK(launched("pytorch_flash2_grouped", call(64, 32, 8, 1, 4096)));
  const auto found = outside_shapes(kernel("pytorch_flash2"), gpu("h200_sxm"), call(64, 32, 8, 1, 4096));
  REQUIRE(found.size() == 1);
  CHECK(found.front() ==
        "kernel 'pytorch_flash2' is launched where q_len > 1 or heads_q == heads_kv, found q_len 1, heads_q 32, "
        "heads_kv 8: the query heads of a KV head become the queries of one head; use --kernel "
        "pytorch_flash2_grouped");
}

TEST_CASE("the largest sizes of a kernel are shapes too") {
  CHECK(launched("split_kv", call(1, 8, 8, 16, 4096)));
  CHECK(outside_shapes(kernel("split_kv"), gpu("h200_sxm"), call(1, 8, 8, 17, 4096)) ==
        std::vector<std::string>{"kernel 'split_kv' takes a q_len of at most 16, found 17"});
}

TEST_CASE("an instruction says which GPUs run a kernel, whether or not its descriptor states limits") {
  const auto without_limits = [](const char* name) {
    Plan plan = load_plan_for_kernel(name, TILESCOPE_SOURCE_DIR);
    plan.kernel.least_compute_capability = 0;
    return plan;
  };
  const Plan wide = without_limits("fused_wgmma"), sync = without_limits("fused_mma");
  for (const char* id : {"a100_sxm_80", "l40s", "b200_sxm"}) {
    CHECK(unsupported_on(wide, gpu(id)).find("uses wgmma, which only compute capability 9.0 has") != std::string::npos);
    CHECK(unsupported_on(sync, gpu(id)) == "");
  }
  CHECK(unsupported_on(wide, gpu("h100_sxm")) == "");
  for (const Plan* plan : {&wide, &sync})
    CHECK(unsupported_on(*plan, gpu("mi300x")).find("which only GPUs of NVIDIA have; mi300x is a GPU of AMD") !=
          std::string::npos);
  CHECK(unsupported_on(sync, gpu("v100_sxm2")) ==
        "kernel 'fused_mma' uses mma.sync m16n8k16, which needs compute capability 8.0 or later; v100_sxm2 has 7.0");
}

TEST_CASE("a format says which GPUs have a product's instruction") {
  // First compute capabilities by the PTX ISA; 0: the instruction does not exist.
  const auto least = [](TensorPath path, const MmaShape& mma, Format format) -> double {
    const bool fp8 = format == Format::fp8_e4m3 || format == Format::fp8_e5m2;
    if (path == TensorPath::wgmma) return bits(format) >= 8 ? 9.0 : 0;
    if (mma.m == 8 && mma.k == 4) return format == Format::fp16 ? 7.0 : 0;
    return fp8 ? 8.9 : format == Format::fp16 && mma.k == 8 ? 7.5 : bits(format) == 4 ? mma.k == 16 ? 12.0 : 0 : 8.0;
  };
  Plan plan = load_plan_for_kernel("fused_mma", TILESCOPE_SOURCE_DIR);
  plan.kernel.least_compute_capability = 0;
  plan.kernel.formats.clear();
  for (IslandImplementation& how : plan.kernel.islands) how.loads_by = CopyPath::ld;
  Point point = default_point(plan);
  take_variant(point, plan.schedule, plan.kernel.variants.front());
  point.workload.d_qk = point.workload.d_v = plan.kernel.variants.front().head_dim;
  using Instruction = std::pair<TensorPath, MmaShape>;
  for (const auto& [path, mma] :
       {Instruction{TensorPath::mma_sync, {8, 8, 4}}, Instruction{TensorPath::mma_sync, {16, 8, 8}},
        Instruction{TensorPath::mma_sync, {16, 8, 16}}, Instruction{TensorPath::wgmma, {64, 0, 16}}})
    for (const Format format :
         {Format::fp16, Format::bf16, Format::tf32, Format::fp8_e4m3, Format::fp8_e5m2, Format::fp4_e2m1})
      for (const char* id : {"v100_sxm2", "a100_sxm_80", "l40s", "h200_sxm", "b200_sxm", "rtx5090"}) {
        INFO(properties(path).name, " ", mma.k, " ", to_string(format), " ", id);
        for (IslandImplementation& how : plan.kernel.islands)
          how.tensor_path = path, how.mma = mma, how.computes_in = format;
        const HardwareProfile hardware = gpu(id);
        const double has = std::stod(hardware.compute_capability), needs = least(path, mma, format);
        const std::string of_shape = unsupported_on(plan, hardware);
        const std::vector<std::string> of_format = unsupported(plan, hardware, point);
        const bool runs = needs > 0 && (path == TensorPath::wgmma ? has == needs : has >= needs);
        CHECK(runs == (of_shape.empty() && of_format.empty()));
        CHECK((of_shape.empty() || of_format.empty()));  // one message
      }
  for (IslandImplementation& how : plan.kernel.islands)
    how.tensor_path = TensorPath::mma_sync, how.mma = {16, 8, 16}, how.computes_in = Format::fp8_e4m3;
  CHECK(unsupported(plan, gpu("a100_sxm_80"), point) ==
        std::vector<std::string>{
            "kernel 'fused_mma' computes scores by mma.sync m16n8k32 of fp8_e4m3, which needs compute capability 8.9 "
            "or later, a100_sxm_80 has 8.0; choose another --dtype or GPU"});
}

TEST_CASE("kernels of this project refuse batches and heads that a grid cannot hold") {
  for (const auto& [name, file] : shipped_kernels(std::string(TILESCOPE_SOURCE_DIR) + "/kernels")) {
    if (file.parent_path().filename() == "third_party") continue;
    CAPTURE(name);
    const auto refused = [&, wanted = name](std::int64_t batch, std::int64_t heads) {
      return !launched(wanted, call(batch, heads, 1, 1, 64));
    };
    CHECK_FALSE(refused(65535, 65535));
    CHECK(refused(65536, 1));
    CHECK(refused(1, 65536));
  }
}

TEST_CASE("a block with more warps than a multiprocessor holds does not run, whatever its threads") {
  const Plan plan = load_plan_for_schedule("flash2", TILESCOPE_SOURCE_DIR);
  HardwareProfile small = gpu("l40s");
  Point point = default_point(plan);
  for (const std::int64_t warps : {1, 4, 8}) {
    point.warps = warps;
    for (const std::int64_t held : {1, 4, 7, 48}) {
      small.max_warps_per_unit->value = held;
      const auto found = unsupported(plan, small, point);
      const bool says = std::any_of(found.begin(), found.end(), [](const std::string& reason) {
        return reason.find("holds at most") != std::string::npos;
      });
      CHECK(says == (warps > held));
    }
  }
}

TEST_CASE("kernels that shapes name instead of another exist") {
  for (const auto& [name, file] : shipped_kernels(std::string(TILESCOPE_SOURCE_DIR) + "/kernels"))
    for (const ShapeRule& rule : kernel(name).shapes)
      if (!rule.instead.empty()) CHECK_NOTHROW(kernel(rule.instead));
}

TEST_CASE("of PyTorch's FlashAttention-2 kernels, shapes accept the one that was launched, in as many parts") {
  int calls = 0;
  for (const char* name : {"h100", "h200"}) {
    std::ifstream lines(std::string(TILESCOPE_SOURCE_DIR) + "/validate/launches/" + name + ".jsonl");
    std::string line;
    REQUIRE(std::getline(lines, line));
    const HardwareProfile hardware = gpu(json::parse(line)["hardware"]);
    const KernelDescriptor one = kernel("pytorch_flash2"), packed = kernel("pytorch_flash2_grouped"),
                           split = kernel("pytorch_flash2_split"), rows = kernel("pytorch_flash2_split_rows");
    while (std::getline(lines, line)) {
      const json row = json::parse(line);
      if (row["backend"] != "flash" || row["pass"] != "forward") continue;
      CAPTURE(line);
      const Workload w{row["batch"],  row["heads_q"],  row["heads_kv"], row["q_len"],
                       row["kv_len"], row["head_dim"], row["head_dim"]};
      const json& launch = row["launches"][0];
      const bool parts = launch["name"] == "pytorch_flash::flash_fwd_splitkv_kernel", single = w.q_len == 1;
      for (const KernelDescriptor* each : {&one, &packed, &split, &rows}) {
        const bool right =
            parts ? each == (single ? &split : &rows) : each == (single && w.heads_q > w.heads_kv ? &packed : &one);
        CHECK_MESSAGE(outside_shapes(*each, hardware, w).empty() == right, each->name);
      }
      CHECK(chosen_splits(*split.host_splits, hardware.units.value, named_sizes(hardware, w)) ==
            (parts ? launch["grid"][1].get<std::int64_t>() : 1));
      ++calls;
    }
  }
  CHECK(calls == 390);
}

}  // namespace support_test
