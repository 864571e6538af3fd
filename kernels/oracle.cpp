#include "oracle.h"

#include <Eigen/Core>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

namespace tilescope::kernels {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMap = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using DoubleMap = Eigen::Map<Matrix>;

constexpr std::int64_t rows_at_once = 64;

// Turns row `scores` into probabilities in place (0 where `visible` is 0) and returns the log-sum-exp.
double softmax_row(Eigen::Ref<Eigen::RowVectorXd> scores, const Eigen::RowVectorXd& visible) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double max = (visible.array() > 0).select(scores, -infinity).maxCoeff();
  if (max == -infinity) {
    scores.setZero();
    return -infinity;
  }
  scores = (visible.array() > 0).select((scores.array() - max).exp(), 0.0);
  const double sum = scores.sum();
  scores /= sum;
  return max + std::log(sum);
}

// `head` counts over batch x heads_q.
void one_head(const OracleInput& input, std::int64_t head, OracleResult& out) {
  const Shape& s = input.shape;
  const std::int64_t kv_head = head / s.heads_q * s.heads_kv + head % s.heads_q / (s.heads_q / s.heads_kv);
  const Matrix q = FloatMap(input.q + head * s.q_len * s.d_qk, s.q_len, s.d_qk).cast<double>();
  const Matrix k = FloatMap(input.k + kv_head * s.kv_len * s.d_qk, s.kv_len, s.d_qk).cast<double>();
  const Matrix v = FloatMap(input.v + kv_head * s.kv_len * s.d_v, s.kv_len, s.d_v).cast<double>();
  DoubleMap o(out.o.data() + head * s.q_len * s.d_v, s.q_len, s.d_v);
  Eigen::RowVectorXd visible(s.kv_len);
  DoubleMap weight(out.weight.data() + head * s.q_len * s.d_v, s.q_len, s.d_v);
  for (std::int64_t first = 0; first < s.q_len; first += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, s.q_len - first);
    Matrix p = input.scale * (q.middleRows(first, rows) * k.transpose());
    const Matrix dots = input.scale * (q.middleRows(first, rows).cwiseAbs() * k.cwiseAbs().transpose());
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto index = static_cast<std::size_t>(head * s.q_len + first + i);
      for (std::int64_t j = 0; j < s.kv_len; ++j) visible(j) = input.sees(first + i, j) ? 1.0 : 0.0;
      out.score[index] = p.row(i).cwiseAbs().cwiseProduct(visible).maxCoeff();
      out.dot[index] = dots.row(i).cwiseProduct(visible).maxCoeff();
      out.l[index] = softmax_row(p.row(i), visible);
    }
    o.middleRows(first, rows) = p * v;
    weight.middleRows(first, rows) = p * v.cwiseAbs();
  }
}

// All query heads of one KV head, one after the other, so that no two threads add to the same dK or dV. `kv_head`
// counts over batch x heads_kv.
void one_backward(const OracleInput& input, const float* d_o, std::int64_t kv_head, BackwardOracle& out, double& dot) {
  const Shape& s = input.shape;
  const std::int64_t group = s.heads_q / s.heads_kv;
  Eigen::RowVectorXd visible(s.kv_len);
  auto keys = [&](std::vector<double>& all, std::int64_t columns) {
    return DoubleMap(all.data() + kv_head * s.kv_len * columns, s.kv_len, columns);
  };
  auto queries = [&](std::vector<double>& all, std::int64_t first, std::int64_t rows, std::int64_t columns) {
    return DoubleMap(all.data() + first * columns, rows, columns);
  };
  const Matrix k = FloatMap(input.k + kv_head * s.kv_len * s.d_qk, s.kv_len, s.d_qk).cast<double>();
  const Matrix v = FloatMap(input.v + kv_head * s.kv_len * s.d_v, s.kv_len, s.d_v).cast<double>();
  auto d_k = keys(out.d_k, s.d_qk), d_k_size = keys(out.d_k_size, s.d_qk), d_k_slip = keys(out.d_k_slip, s.d_qk);
  auto d_v = keys(out.d_v, s.d_v), d_v_size = keys(out.d_v_size, s.d_v);
  for (std::int64_t r = 0; r < group; ++r)
    for (std::int64_t first = 0; first < s.q_len; first += rows_at_once) {
      const std::int64_t rows = std::min(rows_at_once, s.q_len - first);
      const std::int64_t at = (kv_head * group + r) * s.q_len + first;  // heads of a group are adjacent
      const Matrix q = FloatMap(input.q + at * s.d_qk, rows, s.d_qk).cast<double>();
      const Matrix g = FloatMap(d_o + at * s.d_v, rows, s.d_v).cast<double>();
      Matrix p = input.scale * (q * k.transpose());
      const Matrix dots = input.scale * (q.cwiseAbs() * k.cwiseAbs().transpose());
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < s.kv_len; ++j) visible(j) = input.sees(first + i, j) ? 1.0 : 0.0;
        dot = std::max(dot, dots.row(i).cwiseProduct(visible).maxCoeff());
        out.l[static_cast<std::size_t>(at + i)] = softmax_row(p.row(i), visible);
      }
      const Matrix o = p * v;
      queries(out.o, at, rows, s.d_v) = o;
      const Eigen::VectorXd sums = o.cwiseProduct(g).rowwise().sum();
      const Eigen::VectorXd sums_size = o.cwiseAbs().cwiseProduct(g.cwiseAbs()).rowwise().sum();
      const Matrix away = (g * v.transpose()).colwise() - sums;  // dP - D
      const Matrix d_s = p.cwiseProduct(away), d_s_size = p.cwiseProduct(away.cwiseAbs());
      const Matrix terms = (g.cwiseAbs() * v.cwiseAbs().transpose()).colwise() + sums_size;
      const Matrix slip = p.cwiseProduct(terms);
      queries(out.d_q, at, rows, s.d_qk) = input.scale * (d_s * k);
      queries(out.d_q_size, at, rows, s.d_qk) = input.scale * (d_s_size * k.cwiseAbs());
      queries(out.d_q_slip, at, rows, s.d_qk) = input.scale * (slip * k.cwiseAbs());
      d_k += input.scale * (d_s.transpose() * q);
      d_k_size += input.scale * (d_s_size.transpose() * q.cwiseAbs());
      d_k_slip += input.scale * (slip.transpose() * q.cwiseAbs());
      d_v += p.transpose() * g;
      d_v_size += p.transpose() * g.cwiseAbs();
    }
}

// Calls work(i) for i in [0, count) on `threads` threads (0: one a hardware thread).
template <class Work>
void for_all(std::int64_t count, unsigned threads, const Work& work) {
  std::atomic<std::int64_t> next{0};
  auto some = [&] {
    for (std::int64_t i = next++; i < count; i = next++) work(i);
  };
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> pool;
  for (unsigned i = 1; i < threads; ++i) pool.emplace_back(some);
  some();
  pool.clear();  // joins: the results are complete before the return
}

}  // namespace

bool OracleInput::sees(std::int64_t query, std::int64_t key) const {
  if (mask == Mask::none) return true;
  if (mask == Mask::blocks) {
    const std::int64_t row = (shape.kv_len + block_kv - 1) / block_kv;
    return block_mask[query / block_q * row + key / block_kv] != 0;
  }
  const std::int64_t last = query + shape.kv_len - shape.q_len;
  return key <= last && (mask == Mask::causal || key > last - window);
}

OracleResult attention_oracle(const OracleInput& input, unsigned threads) {
  const Shape& s = input.shape;
  const auto rows = static_cast<std::size_t>(s.batch * s.heads_q * s.q_len);
  const auto outputs = rows * static_cast<std::size_t>(s.d_v);
  OracleResult out;
  out.o.resize(outputs), out.weight.resize(outputs);
  out.l.resize(rows), out.score.resize(rows), out.dot.resize(rows);
  const std::int64_t values = s.batch * s.heads_kv * s.kv_len * s.d_v;
  for (std::int64_t i = 0; i < values; ++i)
    out.value_max = std::max(out.value_max, std::abs(static_cast<double>(input.v[i])));

  for_all(s.batch * s.heads_q, threads, [&](std::int64_t head) { one_head(input, head, out); });
  return out;
}

BackwardOracle backward_oracle(const OracleInput& input, const float* d_o, unsigned threads) {
  const Shape& s = input.shape;
  const auto rows = static_cast<std::size_t>(s.batch * s.heads_q * s.q_len);
  const auto keys = static_cast<std::size_t>(s.batch * s.heads_kv * s.kv_len);
  const auto d_qk = static_cast<std::size_t>(s.d_qk), d_v = static_cast<std::size_t>(s.d_v);
  BackwardOracle out;
  for (auto* array : {&out.d_q, &out.d_q_size, &out.d_q_slip}) array->resize(rows * d_qk);
  for (auto* array : {&out.d_k, &out.d_k_size, &out.d_k_slip}) array->resize(keys * d_qk);
  for (auto* array : {&out.d_v, &out.d_v_size}) array->resize(keys * d_v);
  out.o.resize(rows * d_v), out.l.resize(rows);
  std::vector<double> dots(static_cast<std::size_t>(s.batch * s.heads_kv));
  for_all(s.batch * s.heads_kv, threads,
          [&](std::int64_t head) { one_backward(input, d_o, head, out, dots[static_cast<std::size_t>(head)]); });
  out.dot = *std::max_element(dots.begin(), dots.end());
  return out;
}

}  // namespace tilescope::kernels
