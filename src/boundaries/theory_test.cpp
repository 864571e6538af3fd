// The theory at the command line: published ratios reproduced from the profiles, counts compared with the walk.
#include "boundaries/theory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "base/test_seed.h"
#include "derive/symbolic/counted.h"
#include "derive/test_models.h"

namespace tilescope::theory_test {
namespace {

HardwareProfile gpu(const std::string& id) { return find_profile(id, std::string(TILESCOPE_SOURCE_DIR) + "/hardware"); }

DeriveRequest asked(const std::string& diagram, std::int64_t n, std::int64_t d) {
  DeriveRequest request{.diagram = find_diagram(diagram, models()), .source = diagram};
  request.workload = {.batch = 1, .heads_q = 1, .heads_kv = 1, .q_len = n, .kv_len = n, .d_qk = d, .d_v = d};
  return request;
}

std::map<std::string, Rational> widths(Rational all) {
  std::map<std::string, Rational> named{{"l", 4}, {"acc", 4}};
  for (const char* key : {"q", "k", "v", "o", "s", "p", "a", "b", "c"}) named[key] = all;
  return named;
}

const GpuMerit* row(const std::vector<GpuMerit>& rows, const std::string& boundary, bool measured, double beta,
                    const std::string& hardware) {
  for (const GpuMerit& merit : rows)
    if (merit.boundary == boundary && merit.rate.measured == measured && merit.beta == beta &&
        merit.hardware == hardware)
      return &merit;
  return nullptr;
}

// What a kernel moves at whole tiles by walking its loops, in values.
std::int64_t walked_values(const BoundKernel& kernel, const DeriveRequest& request,
                           const std::vector<std::int64_t>& tiles) {
  std::vector<std::int64_t> parameters;
  for (const auto& parameter : kernel.schedule.parameters) parameters.push_back(parameter.default_value);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto& symbols = kernel.problem.symbolic.symbols;
    for (std::size_t s = 0; s < symbols.inputs().size(); ++s)
      if (symbols.inputs()[s] == kernel.problem.tiles[i])
        parameters[static_cast<std::size_t>(kernel.problem.symbolic.inputs[s].tile.parameter)] = tiles[i];
  }
  return walked_traffic(kernel.schedule, kernel.schedule.islands[static_cast<std::size_t>(kernel.island)],
                        request.workload, request.mask, parameters);
}

}  // namespace

// Napkin, section 5.1: bandwidth times the memory of all SMs to the power of beta, from the shipped profiles.
TEST_CASE("the H100 is 2.80 times an A100 for attention's term and 2.14 times for a matmul's, by H*M^beta") {
  const std::vector<HardwareProfile> gpus{gpu("a100_sxm_80"), gpu("h100_sxm")};
  for (const auto& [diagram, beta, ratio] : {std::tuple("attention", 1.0, 2.80), std::tuple("matmul", 0.5, 2.14)}) {
    const Derivation derivation = derive(asked(diagram, 8192, 128), models());
    const auto rows = gpu_merits(bound_schedule(derivation, nullptr).law(), gpus, 2);
    CAPTURE(diagram);
    const GpuMerit* merit = row(rows, "hbm -> l2", false, beta, "h100_sxm");
    REQUIRE(merit);
    CHECK(merit->to_first == doctest::Approx(ratio).epsilon(0.002));
    CHECK(row(rows, "hbm -> l2", false, 0, "h100_sxm")->to_first == doctest::Approx(3350.0 / 2039));
    CHECK(row(rows, "hbm -> l2", false, beta, "a100_sxm_80")->to_first == 1);
    CHECK(merit->merit / row(rows, "hbm -> l2", false, beta, "a100_sxm_80")->merit == doctest::Approx(merit->to_first));
  }
}

TEST_CASE("GPUs are compared only where two state the same kind of rate") {
  const std::vector<HardwareProfile> gpus{gpu("h100_sxm"), gpu("b200_sxm")};
  for (const GpuMerit& merit : gpu_merits({{1, 1}}, gpus, 2)) {
    CAPTURE(merit.boundary);
    CHECK(merit.boundary != "l2 -> smem");  // no L2 rate of the B200 is known
    CHECK(std::isfinite(merit.to_first));
  }
}

TEST_CASE("halving the width of every array divides the term of exponent beta by 2^(1+beta), and the count agrees") {
  for (const auto& [diagram, beta] : {std::pair("attention", 1.0), std::pair("matmul", 0.5)}) {
    DeriveRequest request = asked(diagram, 1 << 20, 64);
    for (Axis& axis : request.diagram.axes)
      if (!axis.extent) axis.length = 1 << 20;
    request.memory = 1 << 20, request.widths = widths(2);
    DeriveRequest half = request;
    half.widths = widths(1);
    const BoundSchedule schedule = bound_schedule(derive(request, models()), nullptr);
    const FormatChange change = format_change(schedule, {"fp16", "fp8_e4m3"}, {request, half});
    CAPTURE(diagram);
    REQUIRE(change.open_because.empty());
    int terms = 0;
    for (const FormatTerm& term : change.terms) {
      CAPTURE(term.array);
      REQUIRE(term.factor);
      CHECK(*term.factor == doctest::Approx(std::pow(2, 1 + term.beta)));
      // Rows statistics stay in fp32: the tile holds 4 B of them beside d + e halves.
      CHECK(term.counted() == doctest::Approx(*term.factor).epsilon(0.05));
      if (term.law) CHECK(term.counted() == doctest::Approx(*term.law).epsilon(0.01));
      terms += term.beta == beta;
    }
    CHECK(terms == 3);  // two streamed arrays, and all
  }
}

TEST_CASE("arrays that change width by different ratios have no single q") {
  DeriveRequest request = asked("attention", 8192, 64);
  request.memory = 233472, request.widths = widths(2);
  DeriveRequest mixed = request;
  mixed.widths["k"] = mixed.widths["v"] = 1;
  const BoundSchedule schedule = bound_schedule(derive(request, models()), nullptr);
  const FormatChange change = format_change(schedule, {"fp16", "fp16,kv=fp8"}, {request, mixed});
  REQUIRE(!change.terms.empty());
  for (const FormatTerm& term : change.terms) {
    CAPTURE(term.array);
    CHECK(!term.factor);
    if (term.array == "K load") CHECK(term.counted() == doctest::Approx(2));  // the resident tile keeps its size
    if (term.array == "Q load") CHECK(term.counted() == 1);
  }
}

TEST_CASE("bytes counted at whole tiles equal a walk through the loops") {
  MESSAGE("seed " << test_seed());
  std::mt19937 engine(test_seed());
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  int compared = 0;
  for (int i = 0; i < 12; ++i) {
    DeriveRequest request = asked("attention", 1, 1);
    request.workload = {1, between(1, 3), 1, between(4, 40), between(4, 40), between(2, 9), between(2, 9)};
    request.workload.kv_len = std::max(request.workload.q_len, request.workload.kv_len);
    request.memory = static_cast<double>(between(60, 400)), request.ranked = 2;
    if (i % 3 == 0) request.mask = *parse_mask("causal");
    const Derivation derivation = derive(request, models());
    if (derivation.ranked.empty()) continue;
    const BoundSchedule schedule = bound_schedule(derivation, nullptr);
    for (const BoundKernel& kernel : schedule.kernels) {
      const std::vector<std::int64_t> tiles = whole_tiles(kernel);
      CAPTURE(schedule.name);
      CAPTURE(whole_tiles_text(kernel, tiles));
      CHECK(count_kernel(kernel, request, tiles).bytes() == static_cast<double>(walked_values(kernel, request, tiles)));
      ++compared;
    }
  }
  CHECK(compared > 5);
}

TEST_CASE("a last-level cache above eight parts of L2 serves keys and values eight times as often as memory does") {
  DeriveRequest request = asked("attention", 1 << 22, 64);
  const auto optima = boundary_optima(request, models(), gpu("mi300x"), 2);
  const auto at = [&](const std::string& name) {
    for (const BoundaryOptimum& optimum : optima)
      if (optimum.boundary == name) return optimum;
    throw std::out_of_range(name);
  };
  const double once = (1 << 22) * (64.0 + 64 + 1);  // Q, O and L, which no tile changes
  const BoundaryOptimum memory = at("hbm -> llc"), parts = at("llc -> l2");
  REQUIRE(memory.found);
  REQUIRE(parts.found);
  CHECK((parts.traffic_values - once) / (memory.traffic_values - once) == doctest::Approx(8).epsilon(1e-3));
  CHECK(parts.bytes_per_second.value() > memory.bytes_per_second.value());
  CHECK(boundary_optima(request, models(), gpu("h100_sxm"), 2).front().boundary == "hbm -> l2");
}

}  // namespace tilescope::theory_test
