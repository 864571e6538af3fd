// Every built variant against the double-precision oracle, every element, on fresh random inputs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "oracle.h"
#include "test/device_run.h"
#include "test/options.h"

namespace tilescope::kernels {
namespace {

// The error a correct kernel may make, from the formats alone.
//   u: half a unit in the last place of the dtype. Inputs are exact; S is accumulated in fp32.
//   - S: fp32 accumulation of d products, and for unfused kernels rounding to the dtype: |dS| <= delta.
//   - P: relative error of numerator and denominator, 2 delta, plus rounding to the dtype, u (and for fp16, whose
//     smallest normal is 2^-14, an absolute 2^-25 a key), weighted by sum P |V|.
//   - O: fp32 accumulation of kv_len terms, whose rounding errors add up like a random walk (4 deviations of 2^-24 a
//     step, at least 2^-20), and rounding to the dtype, u |O|.
struct Bounds {
  double o_relative, o_weight, o_absolute, delta;
};

Bounds bounds(const Variant& variant, const OracleResult& oracle, std::size_t row, std::int64_t kv_len) {
  const double u = variant.dtype == Dtype::fp32 ? 0x1p-24 : variant.dtype == Dtype::fp16 ? 0x1p-11 : 0x1p-8;
  const bool unfused = variant.kernel != "fused_mma";
  double delta = 0x1p-20 * (1.0 + oracle.dot[row]);
  if (unfused) delta += u * oracle.score[row] + (variant.dtype == Dtype::fp16 ? 0x1p-25 : 0.0);
  const double subnormal = variant.dtype == Dtype::fp16 ? 0x1p-25 * static_cast<double>(kv_len) : 0.0;
  const double accumulation = std::max(0x1p-20, 4 * 0x1p-24 * std::sqrt(static_cast<double>(kv_len)));
  return {u + 0x1p-20, std::expm1(2 * delta) + u + accumulation, subnormal * oracle.value_max + 0x1p-25, delta};
}

// Number of wrong elements; the first few are reported.
int wrong_elements(const Variant& variant, const HostProblem& problem, const OracleResult& oracle,
                   const RunResult& result) {
  const auto d = static_cast<std::size_t>(problem.shape.d_v);
  int wrong = 0;
  auto report = [&](const char* what, std::size_t index, double got, double expected, double tolerance) {
    if (++wrong <= 3)
      MESSAGE(fmt::format("{}[{}] is {}, expected {} within {}", what, index, got, expected, tolerance));
  };
  for (std::size_t row = 0; row < oracle.l.size(); ++row) {
    const Bounds b = bounds(variant, oracle, row, problem.shape.kv_len);
    const bool stores_l = variant.kernel == "fused_mma";  // the unfused kernels leave L alone
    const double l_tolerance = b.delta + 0x1p-20 * (1.0 + std::abs(oracle.l[row]));
    if (!stores_l) {
      if (!std::isnan(result.l[row])) report("untouched L", row, result.l[row], NAN, 0);
    } else if (std::isinf(oracle.l[row]) ? result.l[row] != oracle.l[row]
                                         : !(std::abs(result.l[row] - oracle.l[row]) <= l_tolerance))
      report("L", row, result.l[row], oracle.l[row], l_tolerance);
    for (std::size_t i = row * d; i < (row + 1) * d; ++i) {
      const double tolerance = std::isinf(oracle.l[row]) ? 0.0
                                                         : b.o_relative * std::abs(oracle.o[i]) +
                                                               b.o_weight * oracle.weight[i] + b.o_absolute;
      if (!(std::abs(result.o[i] - oracle.o[i]) <= tolerance)) report("O", i, result.o[i], oracle.o[i], tolerance);
    }
  }
  return wrong;
}

// Compares all variants of one dtype and head_dim (0: those that take any) on one random problem.
void compare_all(Dtype dtype, int head_dim, Shape shape, Mask mask, std::mt19937_64& random) {
  shape.d_qk = shape.d_v = head_dim;
  const HostProblem problem = random_problem(dtype, shape, mask, random);
  const OracleResult oracle =
      attention_oracle({shape, mask, static_cast<double>(problem.scale), problem.q.values.data(),
                        problem.k.values.data(), problem.v.values.data()});
  for (const Variant& variant : built_variants()) {
    if (variant.dtype != dtype || (variant.head_dim != 0 && variant.head_dim != head_dim)) continue;
    INFO(describe(variant) << ", " << describe(shape, mask));
    REQUIRE(unsupported_reason(variant, shape, mask) == "");
    const RunResult result = run(variant, problem);
    CHECK(result.guards_intact);
    CHECK(wrong_elements(variant, problem, oracle, result) == 0);
  }
}

std::vector<std::pair<Dtype, int>> formats() {
  std::map<std::pair<Dtype, int>, bool> seen;
  for (const Variant& v : built_variants())
    if (v.head_dim != 0) seen[{v.dtype, v.head_dim}] = true;
  for (int d : {1, 40, 64, 96, 128, 200, 256}) seen[{Dtype::fp32, d}] = true;  // reference_fp32 takes any
  std::vector<std::pair<Dtype, int>> list;
  for (const auto& [format, unused] : seen) list.push_back(format);
  return list;
}

std::vector<Shape> shapes(std::mt19937_64& random) {
  // batch, heads_q, heads_kv, q_len, kv_len
  if (test_options().quick) return {{1, 2, 1, 100, 150}, {1, 1, 1, 1, 70}, {1, 1, 1, 140, 30}};
  std::vector<Shape> list = {{1, 2, 2, 128, 128},  {2, 4, 2, 200, 333}, {1, 8, 1, 77, 515}, {1, 3, 3, 1, 300},
                             {1, 2, 1, 300, 100},  {1, 2, 2, 65, 1},    {1, 1, 1, 1, 1},    {3, 2, 2, 129, 257},
                             {1, 1, 1, 256, 1024}, {2, 130, 65, 17, 33}};
  std::uniform_int_distribution<std::int64_t> length(1, 700), heads(1, 3), group(1, 4);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t heads_kv = heads(random), q_len = length(random);
    list.push_back({heads(random), heads_kv * group(random), heads_kv, q_len, length(random)});
  }
  return list;
}

}  // namespace

TEST_CASE("every variant agrees with the oracle on ragged, causal, grouped and tiny shapes") {
  if (skip_without_device()) return;
  std::mt19937_64 random(test_options().seed);
  for (const Shape& shape : shapes(random))
    for (const auto& [dtype, head_dim] : formats())
      for (Mask mask : {Mask::none, Mask::causal}) compare_all(dtype, head_dim, shape, mask, random);
}

TEST_CASE("rows of every length that the unfused softmax takes agree with the oracle") {
  if (skip_without_device()) return;
  std::mt19937_64 random(test_options().seed + 1);
  const std::vector<std::int64_t> lengths = test_options().quick
                                                ? std::vector<std::int64_t>{2049}
                                                : std::vector<std::int64_t>{2047, 4096, 8191, 16384, 16385, 32768};
  for (std::int64_t kv_len : lengths)
    for (Dtype dtype : {Dtype::fp16, Dtype::bf16, Dtype::fp32})
      compare_all(dtype, 64, Shape{1, 2, 1, 5, kv_len}, Mask::causal, random);
}

TEST_CASE("no variant spills registers unless its descriptor declares it") {
  if (skip_without_device()) return;
  for (const Variant& variant : built_variants()) {
    const int d = variant.head_dim == 0 ? 64 : variant.head_dim;
    std::mt19937_64 random(test_options().seed);
    const RunResult result = run(variant, random_problem(variant.dtype, {1, 1, 1, 8, 8, d, d}, Mask::none, random));
    for (const Launch& launch : result.launches) {
      INFO(describe(variant) << ", " << launch.island << ": " << launch.registers_per_thread << " registers");
      CHECK(launch.local_bytes_per_thread == 0);
      CHECK(launch.blocks_per_unit >= 1);
    }
  }
}

}  // namespace tilescope::kernels
