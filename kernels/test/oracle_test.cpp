// The oracle against attention computed by hand. Needs no GPU.
#include "oracle.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "test/options.h"

namespace tilescope::kernels {
namespace {

template <class T>
double at(const std::vector<T>& array, int index) {
  return static_cast<double>(array.at(static_cast<std::size_t>(index)));
}

}  // namespace

TEST_CASE("the oracle equals attention written out as four loops") {
  std::mt19937_64 random(test_options().seed);
  const Shape s{2, 4, 2, 5, 7, 3, 2};
  std::normal_distribution<float> normal(0.3f, 1.0f);
  std::vector<float> q(2 * 4 * 5 * 3), k(2 * 2 * 7 * 3), v(2 * 2 * 7 * 2);
  for (auto* array : {&q, &k, &v})
    for (float& x : *array) x = normal(random);
  const std::uint8_t blocks[2 * 4] = {1, 0, 1, 0, 0, 1, 1, 1};  // of 3 x 2
  for (Mask mask : {Mask::none, Mask::causal, Mask::window, Mask::blocks}) {
    OracleInput input{s, mask, 0.7, q.data(), k.data(), v.data()};
    input.window = 2, input.block_mask = blocks, input.block_q = 3, input.block_kv = 2;
    const OracleResult result = attention_oracle(input, 3);
    for (int b = 0; b < 2; ++b)
      for (int h = 0; h < 4; ++h)
        for (int i = 0; i < 5; ++i) {
          const int row = (b * 4 + h) * 5 + i, kv_head = b * 2 + h / 2;
          double sum = 0, o[2] = {};
          for (int j = 0; j < 7; ++j) {
            if (mask == Mask::causal && j >= i + 3) continue;
            if (mask == Mask::window && (j >= i + 3 || j < i + 1)) continue;
            if (mask == Mask::blocks && blocks[i / 3 * 4 + j / 2] == 0) continue;
            double score = 0;
            for (int d = 0; d < 3; ++d) score += 0.7 * at(q, row * 3 + d) * at(k, (kv_head * 7 + j) * 3 + d);
            sum += std::exp(score);
            for (int d = 0; d < 2; ++d) o[d] += std::exp(score) * at(v, (kv_head * 7 + j) * 2 + d);
          }
          CHECK(at(result.l, row) == doctest::Approx(std::log(sum)).epsilon(1e-12));
          for (int d = 0; d < 2; ++d) CHECK(at(result.o, row * 2 + d) == doctest::Approx(o[d] / sum).epsilon(1e-12));
        }
  }
}

TEST_CASE("a row that sees no key has a zero output and a log-sum-exp of minus infinity") {
  const Shape s{1, 1, 1, 3, 1, 1, 1};
  const float q[3] = {1, 2, 3}, k[1] = {1}, v[1] = {5};
  const OracleResult result = attention_oracle({s, Mask::causal, 1.0, q, k, v});
  CHECK(result.o == std::vector<double>{0, 0, 5});
  CHECK(std::isinf(result.l[0]));
  CHECK(result.l[0] < 0);
  CHECK(result.l[2] == doctest::Approx(3.0));
}

}  // namespace tilescope::kernels
