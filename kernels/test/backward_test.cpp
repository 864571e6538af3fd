// Every backward variant against the gradients in double precision, every element, on fresh random inputs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "error_bound.h"
#include "oracle.h"
#include "test/device_run.h"
#include "test/options.h"

namespace tilescope::kernels {
namespace {

// The error a correct kernel may make in an element of a gradient, from the formats alone (u: half a unit in the last
// place of the dtype). S is accumulated in fp32, |dS| <= delta, and P exp(S - L) with an L rounded to fp32. P and dS
// are rounded to the dtype before they are multiplied, u of what is added up; dP and D are accumulated in fp32, and D
// starts from an O rounded to the dtype, u of the terms behind them (`slip`); the sum itself is accumulated in fp32,
// like a random walk of `terms` steps; the result, that error included, is rounded to the dtype. fp16 has no values
// below 2^-25 (`least`).
struct Gradient {
  const char* name;
  const std::vector<float>& got;
  const std::vector<double>&expected, &size;
  const std::vector<double>* slip;
  std::int64_t terms;
  double factor_max;  // largest magnitude of what P or dS is multiplied by, scale included
};

int wrong_elements(Dtype dtype, double delta, const Gradient& g) {
  const double u = half_unit(dtype);
  const double least = dtype == Dtype::fp16 ? 0x1p-25 : 0.0;
  const double accumulation = std::max(0x1p-20, 4 * 0x1p-24 * std::sqrt(static_cast<double>(g.terms)));
  REQUIRE(g.got.size() == g.expected.size());
  int wrong = 0;
  for (std::size_t i = 0; i < g.got.size(); ++i) {
    const double before_rounding = (std::expm1(2 * delta) + u + accumulation) * g.size[i] +
                                   (g.slip != nullptr ? (u + 0x1p-19) * (*g.slip)[i] : 0.0) +
                                   least * static_cast<double>(g.terms) * g.factor_max;
    const double tolerance = (u + 0x1p-20) * std::abs(g.expected[i]) + (1 + u) * before_rounding + least;
    const double error = std::abs(static_cast<double>(g.got[i]) - g.expected[i]);
    if (!(error <= tolerance) && ++wrong <= 3)
      MESSAGE(fmt::format("{}[{}] is {}, expected {} within {}", g.name, i, g.got[i], g.expected[i], tolerance));
  }
  return wrong;
}

double largest(const Encoded& array) {
  double most = 0;
  for (const float x : array.values) most = std::max(most, static_cast<double>(std::abs(x)));
  return most;
}

void compare_all(Dtype dtype, int head_dim, Shape shape, Mask mask, std::mt19937_64& random) {
  shape.d_qk = shape.d_v = head_dim;
  HostProblem problem = random_problem({dtype, dtype, dtype, dtype}, shape, mask, false, random);
  OracleInput input{shape,
                    mask,
                    static_cast<double>(problem.scale),
                    problem.q.values.data(),
                    problem.k.values.data(),
                    problem.v.values.data()};
  const BackwardOracle oracle = backward_oracle(input, problem.d_o.values.data());
  problem.o = encode(dtype, std::vector<float>(oracle.o.begin(), oracle.o.end()));
  problem.l.assign(oracle.l.begin(), oracle.l.end());
  double delta = 0x1p-20 * (1 + oracle.dot);
  for (const double l : oracle.l)
    if (std::isfinite(l)) delta = std::max(delta, 0x1p-20 * (1 + oracle.dot) + 0x1p-23 * std::abs(l));
  const double scale = input.scale;
  const std::int64_t queries = shape.q_len * (shape.heads_q / shape.heads_kv);
  for (const Variant& variant : tested_variants()) {
    if (pass_of(variant) != Pass::backward || variant.dtype != dtype ||
        (variant.head_dim != 0 && variant.head_dim != head_dim))
      continue;
    INFO(describe(variant) << ", " << describe(shape, mask));
    REQUIRE(unsupported_reason(variant, shape, mask) == "");
    const RunResult result = run(variant, problem);
    CHECK(result.guards_intact);
    const Gradient gradients[] = {
        {"dQ", result.d_q, oracle.d_q, oracle.d_q_size, &oracle.d_q_slip, shape.kv_len, scale * largest(problem.k)},
        {"dK", result.d_k, oracle.d_k, oracle.d_k_size, &oracle.d_k_slip, queries, scale * largest(problem.q)},
        {"dV", result.d_v, oracle.d_v, oracle.d_v_size, nullptr, queries, largest(problem.d_o)}};
    for (const Gradient& gradient : gradients) CHECK(wrong_elements(dtype, delta, gradient) == 0);
  }
}

std::vector<Shape> backward_shapes(std::mt19937_64& random) {
  // batch, heads_q, heads_kv, q_len, kv_len
  if (test_options().quick) return {{1, 2, 1, 100, 150}, {1, 1, 1, 1, 70}, {1, 1, 1, 140, 30}};
  std::vector<Shape> list = {{1, 1, 1, 128, 128},  {2, 4, 2, 200, 333},  {1, 8, 1, 77, 515}, {1, 3, 3, 1, 300},
                             {1, 2, 1, 300, 100},  {1, 2, 2, 65, 1},     {1, 1, 1, 1, 1},    {3, 2, 2, 129, 257},
                             {1, 1, 1, 256, 1024}, {2, 130, 65, 17, 33}, {1, 2, 1, 700, 129}};
  std::uniform_int_distribution<std::int64_t> length(1, 700), heads(1, 3);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t heads_kv = heads(random), group = heads(random), q_len = length(random);
    list.push_back({heads(random), heads_kv * group, heads_kv, q_len, length(random)});
  }
  return list;
}

}  // namespace

TEST_CASE("every backward variant agrees with the oracle on ragged, causal, grouped and tiny shapes") {
  if (skip_without_device()) return;
  std::mt19937_64 random(test_options().seed + 2);
  std::set<std::pair<Dtype, int>> formats;
  for (const Variant& v : tested_variants())
    if (pass_of(v) == Pass::backward && v.head_dim != 0) formats.insert({v.dtype, v.head_dim});
  for (const int head_dim : {1, 40, 128, 200}) formats.insert({Dtype::fp32, head_dim});  // reference_backward takes any
  for (const Shape& shape : backward_shapes(random))
    for (const auto& [dtype, head_dim] : formats)
      for (const Mask mask : {Mask::none, Mask::causal}) compare_all(dtype, head_dim, shape, mask, random);
}

}  // namespace tilescope::kernels
