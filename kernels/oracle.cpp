#include "oracle.h"

#include <Eigen/Dense>
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

// Last key that query row i sees; negative: none.
std::int64_t last_visible(const OracleInput& input, std::int64_t i) {
  const Shape& s = input.shape;
  return input.mask == Mask::causal ? std::min(s.kv_len - 1, i + s.kv_len - s.q_len) : s.kv_len - 1;
}

// Turns row `scores` into probabilities in place (0 past `last`) and returns the log-sum-exp.
double softmax_row(Eigen::Ref<Eigen::RowVectorXd> scores, std::int64_t last) {
  if (last < 0) {
    scores.setZero();
    return -std::numeric_limits<double>::infinity();
  }
  auto visible = scores.head(last + 1);
  const double max = visible.maxCoeff();
  visible = (visible.array() - max).exp();
  const double sum = visible.sum();
  visible /= sum;
  scores.tail(scores.size() - last - 1).setZero();
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
  DoubleMap weight(out.weight.data() + head * s.q_len * s.d_v, s.q_len, s.d_v);
  for (std::int64_t first = 0; first < s.q_len; first += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, s.q_len - first);
    Matrix p = input.scale * (q.middleRows(first, rows) * k.transpose());
    const Matrix dots = input.scale * (q.middleRows(first, rows).cwiseAbs() * k.cwiseAbs().transpose());
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t last = last_visible(input, first + i), at = head * s.q_len + first + i;
      const auto index = static_cast<std::size_t>(at);
      if (last >= 0) {
        out.score[index] = p.row(i).head(last + 1).cwiseAbs().maxCoeff();
        out.dot[index] = dots.row(i).head(last + 1).maxCoeff();
      }
      out.l[index] = softmax_row(p.row(i), last);
    }
    o.middleRows(first, rows) = p * v;
    weight.middleRows(first, rows) = p * v.cwiseAbs();
  }
}

}  // namespace

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

  std::atomic<std::int64_t> next{0};
  auto work = [&] {
    for (std::int64_t head = next++; head < s.batch * s.heads_q; head = next++) one_head(input, head, out);
  };
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> pool;
  for (unsigned i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  pool.clear();  // joins: the result is complete before it is returned
  return out;
}

}  // namespace tilescope::kernels
