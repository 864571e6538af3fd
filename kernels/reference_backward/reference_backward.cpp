#include <fmt/format.h>

#include "base/error.h"
#include "common/family.h"
#include "common/launch.h"
#include "common/softmax.h"
#include "reference_backward/standard_backward.h"

namespace tilescope::kernels {
namespace {

using namespace reference_backward;

std::vector<Variant> variants() { return {{"reference_backward", Dtype::fp32, 0, tile_q, tile_kv, warps}}; }

std::string unsupported(const Variant&, const Shape& shape, Mask) {
  if (shape.d_v != shape.d_qk)
    return fmt::format("d_v {} differs from d_qk {}; reference_backward is built for equal ones", shape.d_v,
                       shape.d_qk);
  if (shape.d_qk > max_head_dim)
    return fmt::format("head_dim {} is not built; reference_backward takes any up to {}", shape.d_qk, max_head_dim);
  if (std::string problem = grid_x_problem(ceil_div(shape.batch * shape.heads_q * shape.q_len, delta_rows), "delta");
      !problem.empty())
    return problem;
  return grid_x_problem(ceil_div(shape.q_len, tile_q) * ceil_div(shape.kv_len, tile_kv), "probabilities");
}

std::size_t rows_bytes(const Shape& s) {
  return static_cast<std::size_t>(round_up(s.batch * s.heads_q * s.q_len * 4, 256));
}

// P, dS and D.
std::size_t workspace(const Variant&, const Problem& problem) {
  return 2 * score_matrix_bytes(problem.shape, sizeof(float)) + rows_bytes(problem.shape);
}

std::vector<Launch> prepare_backward(const Variant&, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::gradients); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "reference_backward", reason});
  const Shape& s = problem.shape;
  const std::int64_t pitch = score_pitch(s, sizeof(float));
  auto* memory = static_cast<char*>(problem.workspace);
  auto* probabilities = reinterpret_cast<float*>(memory);
  auto* score_gradients = reinterpret_cast<float*>(memory + score_matrix_bytes(s, sizeof(float)));
  auto* d = reinterpret_cast<float*>(memory + 2 * score_matrix_bytes(s, sizeof(float)));
  const auto floats = [](const void* array) { return static_cast<const float*>(array); };
  const std::int64_t rows = s.batch * s.heads_q * s.q_len;
  const auto q_tiles = static_cast<unsigned>(ceil_div(s.q_len, tile_q));
  const auto kv_tiles = static_cast<unsigned>(ceil_div(s.kv_len, tile_kv));
  const auto batch = static_cast<unsigned>(s.batch);

  ScoreParams scores{};
  scores.a = floats(problem.q), scores.b = floats(problem.k), scores.row = problem.l, scores.c = probabilities;
  scores.q_len = static_cast<int>(s.q_len), scores.kv_len = static_cast<int>(s.kv_len);
  scores.pitch = static_cast<int>(pitch), scores.head_dim = static_cast<int>(s.d_qk);
  scores.heads_kv = static_cast<int>(s.heads_kv), scores.causal = problem.mask == Mask::causal;
  scores.group = make_divisor(s.heads_q / s.heads_kv), scores.kv_tiles = make_divisor(kv_tiles);
  scores.scale = problem.scale;
  ScoreParams gradients = scores;
  gradients.a = floats(problem.d_o), gradients.b = floats(problem.v), gradients.p = probabilities;
  gradients.row = d, gradients.c = score_gradients;

  GradientParams of_values{probabilities,   floats(problem.d_o), static_cast<float*>(problem.d_v),
                           scores.q_len,    scores.kv_len,       scores.pitch,
                           scores.head_dim, scores.heads_kv,     static_cast<int>(s.heads_q / s.heads_kv)};
  GradientParams of_keys = of_values, of_queries = of_values;
  of_keys.w = of_queries.w = score_gradients;
  of_keys.b = floats(problem.q), of_keys.c = static_cast<float*>(problem.d_k);
  of_queries.b = floats(problem.k), of_queries.c = static_cast<float*>(problem.d_q);

  const LaunchShape tiles{dim3(q_tiles * kv_tiles, static_cast<unsigned>(s.heads_q), batch), warps * 32, 0};
  const LaunchShape key_rows{dim3(kv_tiles, static_cast<unsigned>(s.heads_kv), batch), warps * 32, 0};
  const LaunchShape query_rows{dim3(q_tiles, static_cast<unsigned>(s.heads_q), batch), warps * 32, 0};
  return {
      make_launch("delta", delta_function(), {dim3(static_cast<unsigned>(ceil_div(rows, delta_rows))), warps * 32, 0},
                  DeltaParams{floats(problem.o), floats(problem.d_o), d, rows, scores.head_dim}),
      make_launch("probabilities", probabilities_function(), tiles, scores),
      make_launch("score_gradient", score_gradient_function(), tiles, gradients),
      make_launch("value_gradient", key_gradient_function(s.d_qk), key_rows, of_values),
      make_launch("key_gradient", key_gradient_function(s.d_qk), key_rows, of_keys),
      make_launch("query_gradient", query_gradient_function(s.d_qk), query_rows, of_queries)};
}

}  // namespace

Family reference_backward_family() {
  return {.name = "reference_backward",
          .variants = variants,
          .unsupported_reason = unsupported,
          .workspace_bytes = workspace,
          .prepare = prepare_backward,
          .pass = Pass::backward};
}

}  // namespace tilescope::kernels
