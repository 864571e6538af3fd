// Every built variant against the double-precision oracle, every element, on fresh random inputs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "error_bound.h"
#include "oracle.h"
#include "predict/point/point.h"
#include "test/device_run.h"
#include "test/options.h"

namespace tilescope::kernels {
namespace {

// Returns the number of wrong elements and reports the first few.
int wrong_elements(const Variant& variant, const HostProblem& problem, const OracleResult& oracle,
                   const RunResult& result) {
  const auto d = static_cast<std::size_t>(problem.shape.d_v);
  int wrong = 0;
  auto report = [&](const char* what, std::size_t index, double got, double expected, double tolerance) {
    if (++wrong <= 3)
      MESSAGE(fmt::format("{}[{}] is {}, expected {} within {}", what, index, got, expected, tolerance));
  };
  for (std::size_t row = 0; row < oracle.l.size(); ++row) {
    const ErrorBound b = error_bound(variant, oracle, row, problem.shape.kv_len);
    const bool stores_l = results_of(variant).writes_l;  // the other variants do not write L
    const double l_tolerance = b.delta + 0x1p-20 * (1.0 + std::abs(oracle.l[row]));
    if (!stores_l) {
      if (!std::isnan(result.l[row])) report("untouched L", row, result.l[row], NAN, 0);
    } else if (std::isinf(oracle.l[row]) ? result.l[row] != oracle.l[row]
                                         : !(std::abs(result.l[row] - oracle.l[row]) <= l_tolerance))
      report("L", row, result.l[row], oracle.l[row], l_tolerance);
    for (std::size_t i = row * d; i < (row + 1) * d; ++i) {
      const double tolerance = std::isinf(oracle.l[row]) ? 0.0 : b.of_output(oracle.o[i], oracle.weight[i]);
      if (!(std::abs(result.o[i] - oracle.o[i]) <= tolerance)) report("O", i, result.o[i], oracle.o[i], tolerance);
    }
  }
  return wrong;
}

OracleInput oracle_input(const HostProblem& problem) {
  OracleInput input{
      problem.shape,           problem.mask,           static_cast<double>(problem.scale), problem.q.values.data(),
      problem.k.values.data(), problem.v.values.data()};
  input.window = problem.window;
  input.block_mask = problem.block_mask.data(), input.block_q = problem.block_q, input.block_kv = problem.block_kv;
  return input;
}

// The properties shared by the variants of a group, which are compared on one problem.
struct Group {
  Formats formats;
  int head_dim;
  bool v_in_k;
  friend auto operator<=>(const Group&, const Group&) = default;
};
std::int64_t d_v_of(const Group& group) { return group.v_in_k ? group.head_dim - 64 : group.head_dim; }  // 64: rotary

using Runs = std::map<std::string, int>;  // number of problems on which each variant was compared

// Compares all forward variants of a group (and those of any head_dim) on one random problem.
void compare_all(const Group& group, Shape shape, Mask mask, std::mt19937_64& random, Runs& runs) {
  shape.d_qk = group.head_dim, shape.d_v = d_v_of(group);
  std::vector<Variant> able;
  for (const Variant& variant : tested_variants())
    if (pass_of(variant) == Pass::forward && formats_of(variant) == group.formats && v_in_k(variant) == group.v_in_k &&
        (variant.head_dim == 0 || variant.head_dim == group.head_dim) &&
        unsupported_reason(variant, shape, mask).empty())
      able.push_back(variant);
  if (able.empty()) return;
  HostProblem problem = random_problem(group.formats, shape, mask, group.v_in_k, random);
  problem.splits = static_cast<std::int64_t>(random() % 6);
  const OracleResult oracle = attention_oracle(oracle_input(problem));
  for (const Variant& variant : able) {
    INFO(describe(variant) << ", " << describe(shape, mask));
    const RunResult result = run(variant, problem);
    CHECK(result.guards_intact);
    CHECK(wrong_elements(variant, problem, oracle, result) == 0);
    ++runs[describe(variant)];
  }
}

std::vector<Group> groups() {
  std::set<Group> seen;
  for (const Variant& v : tested_variants())
    if (v.head_dim != 0 && pass_of(v) == Pass::forward) seen.insert({formats_of(v), v.head_dim, v_in_k(v)});
  const Formats fp32{Dtype::fp32, Dtype::fp32, Dtype::fp32, Dtype::fp32};
  for (int d : {1, 40, 64, 96, 128, 200, 256}) seen.insert({fp32, d, false});  // reference_fp32 takes any
  return {seen.begin(), seen.end()};
}

std::vector<Shape> shapes(std::mt19937_64& random) {
  // batch, heads_q, heads_kv, q_len, kv_len
  if (test_options().quick) return {{1, 2, 1, 100, 150}, {1, 1, 1, 1, 70}, {1, 1, 1, 140, 30}, {1, 8, 1, 3, 200}};
  std::vector<Shape> list = {{1, 2, 2, 128, 128},
                             {2, 4, 2, 200, 333},
                             {1, 8, 1, 77, 515},
                             {1, 3, 3, 1, 300},
                             {1, 2, 1, 300, 100},
                             {1, 2, 2, 65, 1},
                             {1, 1, 1, 1, 1},
                             {3, 2, 2, 129, 257},
                             {1, 1, 1, 256, 1024},
                             {2, 130, 65, 17, 33},
                             // decoding: few queries, one KV head (all that MLA has) and several
                             {2, 16, 1, 1, 700},
                             {1, 128, 1, 2, 321},
                             {3, 8, 2, 5, 1000},
                             {1, 32, 8, 16, 777}};
  std::uniform_int_distribution<std::int64_t> length(1, 700), heads(1, 3), group(1, 4);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t heads_kv = heads(random), q_len = length(random);
    list.push_back({heads(random), heads_kv * group(random), heads_kv, q_len, length(random)});
  }
  return list;
}

}  // namespace

TEST_CASE("every variant agrees with the oracle on ragged, masked, grouped and tiny shapes") {
  if (skip_without_device()) return;
  std::mt19937_64 random(test_options().seed);
  Runs runs;
  for (const Shape& shape : shapes(random))
    for (const Group& group : groups())
      for (Mask mask : {Mask::none, Mask::causal, Mask::window, Mask::blocks})
        compare_all(group, shape, mask, random, runs);
  for (const Variant& variant : tested_variants()) {
    INFO(describe(variant));
    if (pass_of(variant) == Pass::forward) CHECK(runs[describe(variant)] >= 2);
  }
}

TEST_CASE("rows of every length that the unfused softmax takes agree with the oracle") {
  if (skip_without_device()) return;
  std::mt19937_64 random(test_options().seed + 1);
  const std::vector<std::int64_t> lengths = test_options().quick
                                                ? std::vector<std::int64_t>{2049}
                                                : std::vector<std::int64_t>{2047, 4096, 8191, 16384, 16385, 32768};
  Runs runs;
  for (std::int64_t kv_len : lengths)
    for (Dtype dtype : {Dtype::fp16, Dtype::bf16, Dtype::fp32})
      compare_all({{dtype, dtype, dtype, dtype}, 64, false}, Shape{1, 2, 1, 5, kv_len}, Mask::causal, random, runs);
}

TEST_CASE("a variant spills registers where its descriptor declares it, and nowhere else") {
  if (skip_without_device()) return;
  const auto declared = [](const Variant& variant) {
    const Plan plan = load_plan_for_kernel(variant.kernel, TILESCOPE_SOURCE_DIR);
    return std::any_of(plan.kernel.variants.begin(), plan.kernel.variants.end(), [&](const KernelVariant& v) {
      return v.spills && v.head_dim == variant.head_dim && v.tile_q == variant.tile_q && v.tile_kv == variant.tile_kv &&
             v.warps == variant.warps;
    });
  };
  for (const Variant& variant : tested_variants()) {
    const int d = variant.head_dim == 0 ? 64 : variant.head_dim;
    const Group group{formats_of(variant), d, v_in_k(variant)};
    std::mt19937_64 random(test_options().seed);
    const Shape shape{1, 1, 1, 8, 8, d, d_v_of(group)};
    HostProblem problem = random_problem(group.formats, shape, Mask::none, group.v_in_k, random);
    problem.o = problem.d_o, problem.l.assign(8, 0.0f);  // inputs of a backward pass; values do not matter here
    const RunResult result = run(variant, problem);
    for (const Launch& launch : result.launches) {
      INFO(describe(variant) << ", " << launch.island << ": " << launch.registers_per_thread << " registers");
      CHECK((launch.local_bytes_per_thread > 0) == declared(variant));
      CHECK(launch.blocks_per_unit >= 1);
    }
  }
}

}  // namespace tilescope::kernels
