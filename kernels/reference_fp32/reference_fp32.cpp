#include <fmt/format.h>

#include "base/error.h"
#include "common/family.h"
#include "common/launch.h"
#include "common/softmax.h"
#include "reference_fp32/standard_fp32.h"

namespace tilescope::kernels {
namespace {

using namespace reference_fp32;

std::vector<Variant> variants() { return {{"reference_fp32", Dtype::fp32, 0, tile_q, tile_kv, warps}}; }

std::string unsupported(const Variant&, const Shape& shape, Mask) {
  if (shape.d_v != shape.d_qk)
    return fmt::format("d_v {} differs from d_qk {}; reference_fp32 is built for equal ones", shape.d_v, shape.d_qk);
  if (shape.d_qk > max_head_dim)
    return fmt::format("head_dim {} is not built; reference_fp32 takes any up to {}", shape.d_qk, max_head_dim);
  if (std::string problem = score_row_problem(shape); !problem.empty()) return problem;
  return grid_x_problem(ceil_div(shape.q_len, tile_q) * ceil_div(shape.kv_len, tile_kv), "qk");
}

std::size_t workspace(const Variant&, const Problem& problem) {
  return 2 * score_matrix_bytes(problem.shape, sizeof(float));
}

std::vector<Launch> prepare_fp32(const Variant&, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::workspace); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "reference_fp32", reason});
  const Shape& s = problem.shape;
  const std::int64_t pitch = score_pitch(s, sizeof(float));
  auto* scores = static_cast<float*>(problem.workspace);
  auto* weights =
      reinterpret_cast<float*>(static_cast<char*>(problem.workspace) + score_matrix_bytes(s, sizeof(float)));
  const auto heads = static_cast<unsigned>(s.heads_q), batch = static_cast<unsigned>(s.batch);
  const auto q_tiles = static_cast<unsigned>(ceil_div(s.q_len, tile_q));
  const auto kv_tiles = static_cast<unsigned>(ceil_div(s.kv_len, tile_kv));

  ProductParams qk{};
  qk.a = static_cast<const float*>(problem.q), qk.b = static_cast<const float*>(problem.k), qk.c = scores;
  qk.q_len = static_cast<int>(s.q_len), qk.kv_len = static_cast<int>(s.kv_len);
  qk.pitch = static_cast<int>(pitch), qk.head_dim = static_cast<int>(s.d_qk);
  qk.heads_kv = static_cast<int>(s.heads_kv);
  qk.group = make_divisor(s.heads_q / s.heads_kv), qk.kv_tiles = make_divisor(kv_tiles);
  qk.causal = problem.mask == Mask::causal, qk.scale = problem.scale;
  ProductParams pv = qk;
  pv.a = weights, pv.b = static_cast<const float*>(problem.v), pv.c = static_cast<float*>(problem.o);
  return {make_launch("qk", qk_function(), {dim3(q_tiles * kv_tiles, heads, batch), warps * 32, 0}, qk),
          softmax_launch(softmax_function(pitch), s, scores, weights, pitch),
          make_launch("pv", pv_function(s.d_qk), {dim3(q_tiles, heads, batch), warps * 32, 0}, pv)};
}

}  // namespace

Family reference_fp32_family() {
  Family family{"reference_fp32", variants, unsupported, workspace, prepare_fp32};
  family.results = {.writes_l = false, .rounds_scores = true};
  return family;
}

}  // namespace tilescope::kernels
