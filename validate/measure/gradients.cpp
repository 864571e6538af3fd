#include "validate/measure/gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/error_bound.h"
#include "validate/measure/device_work.h"

namespace tilescope::validate {
namespace {

constexpr double most_gradient_work = 4e8;  // multiply-adds for each of dQ, and dK with dV
constexpr std::int64_t most_gradient_rows = 96;

double dot(const float* a, const float* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double dot_of_sizes(const float* a, const float* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
  return sum;
}

// The arrays of one KV head and one of its query heads, on the host.
struct Head {
  std::vector<float> q, k, v, o, d_o, l;
};

Head read_head(const kernels::Problem& p, kernels::Dtype dtype, std::int64_t head) {
  const kernels::Shape& s = p.shape;
  const std::int64_t kv_head = head / s.heads_q * s.heads_kv + head % s.heads_q / (s.heads_q / s.heads_kv);
  const auto rows = [&](const void* data, std::int64_t which, std::int64_t length, std::int64_t d,
                        kernels::Dtype type) {
    return read_as_float(data, product(which * length, d), product(length, d), type);
  };
  return {rows(p.q, head, s.q_len, s.d_qk, dtype),    rows(p.k, kv_head, s.kv_len, s.d_qk, dtype),
          rows(p.v, kv_head, s.kv_len, s.d_v, dtype), rows(p.o, head, s.q_len, s.d_v, dtype),
          rows(p.d_o, head, s.q_len, s.d_v, dtype),   rows(p.l, head, s.q_len, 1, kernels::Dtype::fp32)};
}

// A gradient row: its value, the sum of the absolute values of its terms, and the same for the terms of dP and D.
struct Row {
  std::vector<double> value, size, slip;
  explicit Row(std::int64_t d) : value(static_cast<std::size_t>(d)), size(value), slip(value) {}
  void add(double weight, double weight_size, double weight_slip, const float* x) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const double at = static_cast<double>(x[i]);
      value[i] += weight * at, size[i] += weight_size * std::abs(at), slip[i] += weight_slip * std::abs(at);
    }
  }
};

// One pair's probability and score gradient; zero where the mask hides it.
struct Pair {
  double p = 0, d_s = 0, d_s_size = 0, d_s_slip = 0, dot = 0;
};

Pair pair(const kernels::Problem& problem, const Head& h, std::int64_t i, std::int64_t j) {
  const kernels::Shape& s = problem.shape;
  if (problem.mask == kernels::Mask::causal && j > i + s.kv_len - s.q_len) return {};
  const float *q = h.q.data() + i * s.d_qk, *k = h.k.data() + j * s.d_qk;
  const float *v = h.v.data() + j * s.d_v, *o = h.o.data() + i * s.d_v, *g = h.d_o.data() + i * s.d_v;
  const double scale = static_cast<double>(problem.scale);
  Pair out;
  out.p = std::exp(scale * dot(q, k, s.d_qk) - static_cast<double>(h.l[static_cast<std::size_t>(i)]));
  const double away = dot(g, v, s.d_v) - dot(g, o, s.d_v);
  out.d_s = scale * out.p * away, out.d_s_size = std::abs(out.d_s);
  out.d_s_slip = scale * out.p * (dot_of_sizes(g, v, s.d_v) + dot_of_sizes(g, o, s.d_v));
  out.dot = scale * dot_of_sizes(q, k, s.d_qk);
  return out;
}

class Worst {
 public:
  Worst(kernels::Dtype dtype, std::int64_t terms)
      : unit_(kernels::half_unit(dtype)),
        least_(dtype == kernels::Dtype::fp16 ? 0x1p-25 : 0),
        accumulation_(std::max(0x1p-20, 4 * 0x1p-24 * std::sqrt(static_cast<double>(terms)))),
        terms_(terms) {}

  // `dot`: the largest sum of |Q| |K| of the row's scores; the rounding error of S is proportional to it.
  void compare(const std::vector<float>& got, const Row& expected, double dot_size) {
    const double delta = 0x1p-20 * (1 + dot_size);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double allowed = (unit_ + 0x1p-20) * std::abs(expected.value[i]) +
                             (std::expm1(2 * delta) + 2 * unit_ + accumulation_) * expected.size[i] +
                             (0x1p-20 + accumulation_) * expected.slip[i] + least_ * static_cast<double>(terms_) +
                             0x1p-25;
      const double error = std::abs(static_cast<double>(got[i]) - expected.value[i]);
      if (!(error / allowed <= worst_)) worst_ = error / allowed, result.max_error = error, result.tolerance = allowed;
    }
    result.checked_elements += static_cast<std::int64_t>(got.size());
  }
  bool within() const { return worst_ <= 1; }
  Correctness result;

 private:
  double unit_, least_, accumulation_;
  std::int64_t terms_;
  double worst_ = -1;
};

// Rows to check: the ends and random ones between.
std::vector<std::int64_t> chosen(std::int64_t length, double work_a_row, std::mt19937_64& random) {
  const auto affordable = static_cast<std::int64_t>(
      std::clamp(most_gradient_work / work_a_row, 3.0, static_cast<double>(most_gradient_rows)));
  std::vector<std::int64_t> rows = {0, length - 1};
  while (static_cast<std::int64_t>(rows.size()) < affordable)
    rows.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length)));
  return rows;
}

void check_queries(const kernels::Problem& p, kernels::Dtype dtype, std::int64_t head, std::mt19937_64& random,
                   Worst& worst) {
  const kernels::Shape& s = p.shape;
  const Head h = read_head(p, dtype, head);
  for (const std::int64_t i : chosen(s.q_len, static_cast<double>(s.kv_len * (3 * s.d_qk + 4 * s.d_v)), random)) {
    Row row(s.d_qk);
    double dots = 0;
    for (std::int64_t j = 0; j < s.kv_len; ++j) {
      const Pair at = pair(p, h, i, j);
      row.add(at.d_s, at.d_s_size, at.d_s_slip, h.k.data() + j * s.d_qk);
      dots = std::max(dots, at.dot);
    }
    worst.compare(read_as_float(p.d_q, product(head * s.q_len + i, s.d_qk), product(1, s.d_qk), dtype), row, dots);
  }
}

void check_keys(const kernels::Problem& p, kernels::Dtype dtype, std::int64_t kv_head, std::mt19937_64& random,
                Worst& worst) {
  const kernels::Shape& s = p.shape;
  const std::int64_t group = s.heads_q / s.heads_kv;
  const double work = static_cast<double>(group * s.q_len * (3 * s.d_qk + 5 * s.d_v));
  const std::vector<std::int64_t> keys = chosen(s.kv_len, work, random);
  std::vector<Row> d_k(keys.size(), Row(s.d_qk)), d_v(keys.size(), Row(s.d_v));
  double dots = 0;
  for (std::int64_t r = 0; r < group; ++r) {
    const Head h = read_head(p, dtype, kv_head * group + r);
    for (std::size_t n = 0; n < keys.size(); ++n)
      for (std::int64_t i = 0; i < s.q_len; ++i) {
        const Pair at = pair(p, h, i, keys[n]);
        d_k[n].add(at.d_s, at.d_s_size, at.d_s_slip, h.q.data() + i * s.d_qk);
        d_v[n].add(at.p, at.p, 0, h.d_o.data() + i * s.d_v);
        dots = std::max(dots, at.dot);
      }
  }
  for (std::size_t n = 0; n < keys.size(); ++n) {
    const std::int64_t at = kv_head * s.kv_len + keys[n];
    worst.compare(read_as_float(p.d_k, product(at, s.d_qk), product(1, s.d_qk), dtype), d_k[n], dots);
    worst.compare(read_as_float(p.d_v, product(at, s.d_v), product(1, s.d_v), dtype), d_v[n], dots);
  }
}

}  // namespace

Correctness check_gradients(const kernels::Problem& problem, const kernels::Variant& variant) {
  const kernels::Shape& s = problem.shape;
  std::mt19937_64 random(static_cast<std::uint64_t>(s.q_len));
  Worst worst(variant.dtype, std::max(s.kv_len, s.q_len * (s.heads_q / s.heads_kv)));
  check_queries(problem, variant.dtype, 0, random, worst);
  check_queries(problem, variant.dtype, s.batch * s.heads_q - 1, random, worst);
  check_keys(problem, variant.dtype, 0, random, worst);
  check_keys(problem, variant.dtype, s.batch * s.heads_kv - 1, random, worst);
  const std::size_t queries = product(s.batch * s.heads_q, s.q_len), keys = product(s.batch * s.heads_kv, s.kv_len);
  const auto columns = static_cast<std::size_t>(s.d_qk), v_columns = static_cast<std::size_t>(s.d_v);
  worst.result.passed = worst.within() && count_not_finite(problem.d_q, queries * columns, variant.dtype) == 0 &&
                        count_not_finite(problem.d_k, keys * columns, variant.dtype) == 0 &&
                        count_not_finite(problem.d_v, keys * v_columns, variant.dtype) == 0;
  if (!std::isfinite(worst.result.max_error))
    worst.result.max_error = std::numeric_limits<double>::max();  // JSON has no NaN
  return worst.result;
}

}  // namespace tilescope::validate
