#include "validate/correctness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "kernels/oracle.h"
#include "validate/device_work.h"

namespace tilescope::validate {
namespace {

// Rows that are compared at most, and the multiply-adds that the oracle may spend on them: around a second of one core.
constexpr std::int64_t most_rows = 4096, fewest_windows = 4, longest_window = 64;
constexpr double most_work = 2e9;

// Consecutive query rows of one head; head counts over batch and query heads.
struct Window {
  std::int64_t head, first, rows;
  friend auto operator<=>(const Window&, const Window&) = default;
};

std::vector<Window> choose_windows(const kernels::Shape& s) {
  const std::int64_t heads = s.batch * s.heads_q;
  const double work_per_row = 2.0 * static_cast<double>(s.kv_len) * static_cast<double>(s.d_qk + s.d_v);
  const auto affordable = std::min(most_rows, static_cast<std::int64_t>(most_work / work_per_row));
  std::set<Window> windows;
  if (heads * s.q_len <= affordable) {
    for (std::int64_t head = 0; head < heads; ++head) windows.insert({head, 0, s.q_len});
    return {windows.begin(), windows.end()};
  }
  const std::int64_t rows = std::min(longest_window, s.q_len);
  std::mt19937_64 random(static_cast<std::uint64_t>(heads * s.q_len));
  const auto any = [&](std::int64_t below) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
  };
  windows.insert({0, 0, rows});
  windows.insert({heads - 1, s.q_len - rows, rows});
  const std::int64_t count = std::max(fewest_windows, affordable / rows);
  for (std::int64_t i = 2; i < count; ++i) windows.insert({any(heads), any(s.q_len - rows + 1), rows});
  return {windows.begin(), windows.end()};
}

std::size_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

double rounding_of(kernels::Dtype dtype) {
  switch (dtype) {
    case kernels::Dtype::fp32:
      return 0x1p-24;
    case kernels::Dtype::fp16:
      return 0x1p-11;
    case kernels::Dtype::bf16:
      return 0x1p-8;
  }
  return 0;
}

// The error a correct kernel may make in one element of O: S is accumulated in fp32 and, where a kernel stores it,
// rounded to the dtype (`score` its size, `dot` that of its terms); P carries twice that and its own rounding, weighted
// by P |V|
// (`weight`), and for fp16, whose smallest normal is 2^-14, an absolute 2^-25 a key; O is rounded to the dtype.
double bound(const kernels::Problem& problem, kernels::Dtype dtype, const kernels::OracleResult& oracle,
             std::size_t row, std::size_t element) {
  const double unit = rounding_of(dtype);
  const double subnormal = dtype == kernels::Dtype::fp16 ? 0x1p-25 : 0;
  const double score_error = 0x1p-20 * (1 + oracle.dot[row]) + unit * oracle.score[row] + subnormal;
  return (unit + 0x1p-20) * std::abs(oracle.o[element]) +
         (std::expm1(2 * score_error) + unit + 0x1p-20) * oracle.weight[element] +
         subnormal * static_cast<double>(problem.shape.kv_len) * oracle.value_max + 0x1p-25;
}

// The oracle on one window: with the mask aligned to the bottom right, rows [first, first + rows) of a long problem are
// the last rows of the problem that ends with them.
kernels::OracleResult expected_window(const kernels::Problem& problem, kernels::Dtype dtype, const Window& window) {
  const kernels::Shape& s = problem.shape;
  const std::int64_t batch = window.head / s.heads_q;
  const std::int64_t kv_head = batch * s.heads_kv + window.head % s.heads_q / (s.heads_q / s.heads_kv);
  const std::int64_t visible =
      problem.mask == kernels::Mask::causal
          ? std::clamp<std::int64_t>(window.first + window.rows + s.kv_len - s.q_len, 0, s.kv_len)
          : s.kv_len;
  const std::vector<float> q = read_as_float(problem.q, product(window.head * s.q_len + window.first, s.d_qk),
                                             product(window.rows, s.d_qk), dtype);
  const std::vector<float> k =
      read_as_float(problem.k, product(kv_head * s.kv_len, s.d_qk), product(visible, s.d_qk), dtype);
  const std::vector<float> v =
      read_as_float(problem.v, product(kv_head * s.kv_len, s.d_v), product(visible, s.d_v), dtype);
  kernels::OracleResult result;
  if (visible == 0) {  // nothing to attend to: zeros
    result.o.assign(product(window.rows, s.d_v), 0);
    result.weight = result.o;
    result.score.assign(static_cast<std::size_t>(window.rows), 0);
    result.dot = result.score;
    return result;
  }
  kernels::OracleInput input;
  input.shape = {1, 1, 1, window.rows, visible, s.d_qk, s.d_v};
  input.mask = problem.mask;
  input.scale = static_cast<double>(problem.scale);
  input.q = q.data();
  input.k = k.data();
  input.v = v.data();
  return kernels::attention_oracle(input);
}

}  // namespace

Correctness check_output(const kernels::Problem& problem, kernels::Dtype dtype) {
  const kernels::Shape& s = problem.shape;
  Correctness result;
  double worst = -1;
  for (const Window& window : choose_windows(s)) {
    const kernels::OracleResult expected = expected_window(problem, dtype, window);
    const std::vector<float> o = read_as_float(problem.o, product(window.head * s.q_len + window.first, s.d_v),
                                               product(window.rows, s.d_v), dtype);
    for (std::size_t i = 0; i < o.size(); ++i) {
      const std::size_t row = i / static_cast<std::size_t>(s.d_v);
      const double allowed = bound(problem, dtype, expected, row, i);
      const double error = std::abs(static_cast<double>(o[i]) - expected.o[i]);
      if (!(error / allowed <= worst)) {  // a NaN wins, too
        worst = error / allowed;
        result.max_error = error;
        result.tolerance = allowed;
      }
    }
    result.checked_elements += static_cast<std::int64_t>(o.size());
  }
  const std::size_t outputs = product(s.batch * s.heads_q, s.q_len) * static_cast<std::size_t>(s.d_v);
  result.passed = count_not_finite(problem.o, outputs, dtype) == 0 && worst <= 1;
  if (!std::isfinite(result.max_error)) result.max_error = std::numeric_limits<double>::max();  // JSON has no NaN
  return result;
}

}  // namespace tilescope::validate
