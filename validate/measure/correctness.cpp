#include "validate/measure/correctness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "kernels/error_bound.h"
#include "kernels/oracle.h"
#include "validate/measure/cuda_check.h"
#include "validate/measure/device_work.h"

namespace tilescope::validate {
namespace {

// Limits of a comparison: the number of rows, and the oracle's multiply-adds (about a second of one core). Reading back
// and decoding a value of K or V for a window counts as several multiply-adds.
constexpr std::int64_t most_rows = 4096, fewest_windows = 4, longest_window = 64;
constexpr double most_work = 2e9, work_per_value = 16;

// Consecutive query rows of one head; head counts over batch and query heads.
struct Window {
  std::int64_t head, first, rows;
  friend auto operator<=>(const Window&, const Window&) = default;
};

std::vector<Window> choose_windows(const kernels::Shape& s) {
  const std::int64_t heads = s.batch * s.heads_q;
  const double values = static_cast<double>(s.kv_len) * static_cast<double>(s.d_qk + s.d_v);
  const auto affordable = [&](std::int64_t rows) {  // number of windows of `rows` rows within the limits
    const double work = values * (2.0 * static_cast<double>(rows) + work_per_value);
    return std::min(most_rows / rows, static_cast<std::int64_t>(most_work / work));
  };
  std::set<Window> windows;
  if (s.q_len <= most_rows && heads <= affordable(s.q_len)) {
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
  const std::int64_t count = std::max(fewest_windows, affordable(rows));
  for (std::int64_t i = 2; i < count; ++i) windows.insert({any(heads), any(s.q_len - rows + 1), rows});
  return {windows.begin(), windows.end()};
}

std::vector<std::int32_t> block_table(const kernels::Problem& problem, std::int64_t batch) {
  const std::int64_t pages = (problem.shape.kv_len + problem.page_size - 1) / problem.page_size;
  std::vector<std::int32_t> table(static_cast<std::size_t>(pages));
  check_cuda(cudaMemcpy(table.data(), problem.block_table + batch * pages, table.size() * sizeof table[0],
                        cudaMemcpyDeviceToHost),
             "reading the block table");
  return table;
}

// Rows [0, rows) of K or V of one KV head, as numbers. `d` values a row.
std::vector<float> read_keys(const kernels::Problem& problem, const void* data, const void* scales, float descale,
                             kernels::Dtype dtype, std::int64_t d, std::int64_t batch, std::int64_t kv_head,
                             std::int64_t rows) {
  const kernels::Shape& s = problem.shape;
  std::vector<float> values;
  const auto read = [&](std::int64_t first_row, std::int64_t count) {
    std::vector<float> some = read_as_float(data, product(first_row, d), product(count, d), dtype);
    if (const auto group = static_cast<std::size_t>(kernels::scale_group(dtype)); group > 0) {
      const std::vector<float> factors =
          read_as_float(scales, product(first_row, d) / group, product(count, d) / group, kernels::Dtype::fp16);
      for (std::size_t i = 0; i < some.size(); ++i) some[i] *= factors[i / group];
    }
    for (float& value : some) value *= descale;
    values.insert(values.end(), some.begin(), some.end());
  };
  if (problem.block_table == nullptr) {
    read((batch * s.heads_kv + kv_head) * s.kv_len, rows);
    return values;
  }
  const std::vector<std::int32_t> table = block_table(problem, batch);
  for (std::int64_t first = 0; first < rows; first += problem.page_size)
    read((table[static_cast<std::size_t>(first / problem.page_size)] * s.heads_kv + kv_head) * problem.page_size,
         std::min(problem.page_size, rows - first));
  return values;
}

// The first d_v of every d_qk columns.
std::vector<float> first_columns(const std::vector<float>& k, std::int64_t d_qk, std::int64_t d_v) {
  std::vector<float> v;
  for (auto row = k.begin(); row != k.end(); row += d_qk) v.insert(v.end(), row, row + d_v);
  return v;
}

// The rows of the block mask for a window of queries, one per query.
std::vector<std::uint8_t> mask_rows(const kernels::Problem& problem, const Window& window) {
  const std::int64_t columns = (problem.shape.kv_len + problem.block_kv - 1) / problem.block_kv;
  std::vector<std::uint8_t> rows(product(window.rows, columns));
  for (std::int64_t i = 0; i < window.rows; ++i)
    check_cuda(
        cudaMemcpy(rows.data() + i * columns, problem.block_mask + (window.first + i) / problem.block_q * columns,
                   static_cast<std::size_t>(columns), cudaMemcpyDeviceToHost),
        "reading the block mask");
  return rows;
}

// The oracle on one window: with the mask aligned to the bottom right, rows [first, first + rows) of a long problem are
// the last rows of the problem that ends with them.
kernels::OracleResult expected_window(const kernels::Problem& problem, const kernels::Variant& variant,
                                      const Window& window) {
  const kernels::Shape& s = problem.shape;
  const std::int64_t batch = window.head / s.heads_q;
  const std::int64_t kv_head = window.head % s.heads_q / (s.heads_q / s.heads_kv);
  const bool aligned = problem.mask == kernels::Mask::causal || problem.mask == kernels::Mask::window;
  const std::int64_t visible =
      aligned ? std::clamp<std::int64_t>(window.first + window.rows + s.kv_len - s.q_len, 0, s.kv_len) : s.kv_len;
  std::vector<float> q = read_as_float(problem.q, product(window.head * s.q_len + window.first, s.d_qk),
                                       product(window.rows, s.d_qk), variant.dtype_q());
  for (float& value : q) value *= problem.q_descale;
  kernels::OracleResult result;
  if (visible == 0) {  // no visible key: the output is zero
    result.o.assign(product(window.rows, s.d_v), 0);
    result.weight = result.o;
    result.score.assign(static_cast<std::size_t>(window.rows), 0);
    result.dot = result.score;
    return result;
  }
  const std::vector<float> k = read_keys(problem, problem.k, problem.k_scales, problem.k_descale, variant.dtype_k(),
                                         s.d_qk, batch, kv_head, visible);
  const std::vector<float> v = kernels::v_in_k(variant)
                                   ? first_columns(k, s.d_qk, s.d_v)
                                   : read_keys(problem, problem.v, problem.v_scales, problem.v_descale,
                                               variant.dtype_v(), s.d_v, batch, kv_head, visible);
  const std::vector<std::uint8_t> blocks =
      problem.mask == kernels::Mask::blocks ? mask_rows(problem, window) : std::vector<std::uint8_t>{};
  kernels::OracleInput input;
  input.shape = {1, 1, 1, window.rows, visible, s.d_qk, s.d_v};
  input.mask = problem.mask;
  input.scale = static_cast<double>(problem.scale);
  input.q = q.data();
  input.k = k.data();
  input.v = v.data();
  input.window = problem.window;
  input.block_mask = blocks.data(), input.block_q = 1, input.block_kv = problem.block_kv;
  return kernels::attention_oracle(input);
}

}  // namespace

Correctness check_output(const kernels::Problem& problem, const kernels::Variant& variant) {
  const kernels::Dtype dtype = variant.dtype;
  const kernels::Shape& s = problem.shape;
  Correctness result;
  double worst = -1;
  for (const Window& window : choose_windows(s)) {
    const kernels::OracleResult expected = expected_window(problem, variant, window);
    const std::vector<float> o = read_as_float(problem.o, product(window.head * s.q_len + window.first, s.d_v),
                                               product(window.rows, s.d_v), dtype);
    for (std::size_t i = 0; i < o.size(); ++i) {
      const std::size_t row = i / static_cast<std::size_t>(s.d_v);
      const double allowed =
          kernels::error_bound(variant, expected, row, s.kv_len).of_output(expected.o[i], expected.weight[i]);
      const double error = std::abs(static_cast<double>(o[i]) - expected.o[i]);
      if (!(error / allowed <= worst)) {  // also true for NaN
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
