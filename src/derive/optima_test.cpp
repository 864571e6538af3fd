// Tests the coefficients of H*(M) that are derived from the diagrams and the named schedules. Expected values: Napkin
// (arXiv 2412.03317, sections 3.3, 4 and 5.2) for matmul, attention, GQA and quantisation; FlashAttention-2's loops
// (arXiv 2307.08691, section 3.1) and FlashAttention's (arXiv 2205.14135, algorithms 1 and 4) for the rest, each
// confirmed by exhaustive search over tiles.
#include <doctest/doctest.h>

#include <cmath>

#include "derive/kernel_problem.h"
#include "derive/test_models.h"
#include "optimum/power_law.h"

namespace tilescope::optima_test {
namespace {

// The optimum of one island of a named schedule at one workload.
struct Case {
  Schedule schedule;
  ScheduleProblem problem;
  Valuation sizes, bounds;

  Case(const std::string& name, const std::string& diagram, int island, const Workload& workload, const Mask& mask = {},
       const std::map<std::string, Rational>& widths = {})
      : schedule(find_schedule(name, models(), diagram)) {
    problem = problem_of(schedule, {.masked = mask.kind != MaskKind::none}, island, widths);
    leave_out_ones(problem, schedule, workload);
    sizes = sizes_of(problem.symbolic, schedule, workload, mask),
    bounds = tile_bounds(problem.symbolic, schedule, workload);
  }
  ExactOptimum optimum() const { return closed_form(problem, sizes); }
  SymbolId symbol(const std::string& name) const {
    for (const SymbolId id : problem.symbolic.symbols.inputs())
      if (problem.symbolic.symbols[id].text == name) return id;
    throw std::out_of_range(name);
  }
  bool has(const std::string& name) const {
    for (const SymbolId id : problem.symbolic.symbols.inputs())
      if (problem.symbolic.symbols[id].text == name) return true;
    return false;
  }
  BestTiles best(double memory) const { return best_tiles(problem, sizes, bounds, memory); }
};

Workload one_long_head(std::int64_t n = 65536, std::int64_t d = 64) { return {1, 1, 1, n, n, d, d}; }

// The coefficient of q x d^2 M^-1 (or of other `powers`) in the leading term at d_v = d_qk, for a live share and edges.
Rational coefficient(const Case& at, Rational beta, const std::vector<std::pair<std::string, int>>& powers,
                     Rational share = 1) {
  const ExactOptimum found = at.optimum();
  CAPTURE(to_text(found, at.problem.symbolic.symbols));
  REQUIRE_MESSAGE(found.closed, found.reason);
  REQUIRE(found.terms.size() == 1);
  CHECK(found.terms[0].beta == beta);
  std::map<SymbolId, Polynomial> replaced;
  if (at.has("d_v") && at.has("d_qk")) replaced[at.symbol("d_v")] = at.symbol("d_qk");
  if (at.has("live_share")) replaced[at.symbol("live_share")] = share;
  const auto leading = leading_coefficient(found.terms[0], replaced);
  REQUIRE(leading);
  Polynomial unit = 1;
  for (const auto& [name, exponent] : powers) unit = unit * power(Polynomial(at.symbol(name)), exponent);
  CAPTURE(to_text(*leading, at.problem.symbolic.symbols));
  REQUIRE(leading->terms().size() == 1);
  REQUIRE(leading->terms()[0].powers == unit.terms()[0].powers);
  return leading->terms()[0].coefficient;
}

const std::vector<std::pair<std::string, int>> q_x_d2{{"q_len", 1}, {"kv_len", 1}, {"d_qk", 2}};

// -beta measured: the slope of log(H - constants) between memories much larger than tiles and much smaller than sizes.
double fitted_slope(const Case& at) {
  std::vector<double> memories, values;
  double constants = evaluate(at.optimum().constants, at.problem.symbolic.symbols, at.sizes);
  for (double memory = 1e6; memory < 2e7; memory *= 1.7) {
    memories.push_back(memory), values.push_back(at.best(memory).traffic - constants);
    REQUIRE(values.back() > 0);
  }
  return fit_power_law(memories, values).slope;
}

}  // namespace

TEST_CASE("matmul: 2abc M^-1/2 + ac") {
  const Case at("matmul", "", 0, {});
  const ExactOptimum found = at.optimum();
  CHECK(coefficient(at, {1, 2}, {{"a", 1}, {"b", 1}, {"c", 1}}) == 2);
  CHECK(found.constants == Polynomial(at.symbol("a")) * Polynomial(at.symbol("c")));
}

TEST_CASE("forward coefficients of x q d^2 / M: 4, and 6 where keys stream outside queries") {
  CHECK(coefficient(Case("flash2", "", 0, one_long_head()), 1, q_x_d2) == 4);
  CHECK(coefficient(Case("flash1", "", 0, one_long_head()), 1, q_x_d2) == 6);
  const Case at("flash2", "", 0, one_long_head());
  const auto of = [&](const char* name) { return Polynomial(at.symbol(name)); };
  const Polynomial resident = of("d_qk") + of("d_v") + 3;  // with the row maximum, the row sum and one score
  CAPTURE(to_text(at.optimum(), at.problem.symbolic.symbols));
  CHECK(at.optimum().terms[0].alpha.expanded() == of("q_len") * of("kv_len") * (of("d_qk") + of("d_v")) * resident);
  CHECK(at.optimum().constants == of("q_len") * (of("d_qk") + of("d_v") + 1));
}

TEST_CASE("grouped queries: 4 for each query head, whether or not heads share keys") {
  for (const std::int64_t group : {4, 8}) {
    const Case at("flash2", "", 0, {1, group, 1, 65536, 65536, 64, 64});
    CHECK(coefficient(at, 1, {{"group", 1}, {"q_len", 1}, {"kv_len", 1}, {"d_qk", 2}}) == 4);
  }
}

TEST_CASE("absorbed MLA reads the latent once: x d R (d + e) / M") {
  const Case at("flash2", "mla_absorbed", 0, {1, 1, 1, 65536, 65536, 576, 512});
  CHECK(coefficient(at, 1, q_x_d2) == 2);
  const auto of = [&](const char* name) { return Polynomial(at.symbol(name)); };
  CAPTURE(to_text(at.optimum(), at.problem.symbolic.symbols));
  CHECK(at.optimum().terms[0].alpha.expanded() ==
        of("q_len") * of("kv_len") * of("d_qk") * (of("d_qk") + of("d_v") + 3));
}

TEST_CASE("a mask scales the coefficient by its live share: causal 2, a window 4 w/x, blocks 4 of their density") {
  const auto coefficient_under = [](const char* mask) {
    const Mask parsed = *parse_mask(mask);
    const Workload workload = one_long_head(4096);
    const Case at("flash2", "", 0, workload, parsed);
    return std::pair(coefficient(at, 1, q_x_d2), at.sizes.at(at.symbol("live_share")));
  };
  const auto [causal, half] = coefficient_under("causal");
  CHECK(causal == 4);
  CHECK(half == doctest::Approx(0.5).epsilon(1e-3));  // (N + 1) / 2N
  const auto [window, share] = coefficient_under("window:256");
  CHECK(window == 4);
  CHECK(share == doctest::Approx(256. / 4096).epsilon(0.04));
  const Case at("flash2", "", 0, one_long_head(), *parse_mask("causal"));
  CHECK(coefficient(at, 1, q_x_d2, {1, 2}) == 2);
  // The diagonal adds half a tile of keys per row tile: N (d + e) / 2, in addition to N (d + e) for Q and O.
  Polynomial constants = substitute(at.optimum().constants, at.symbol("mask_edges"), 1);
  constants = top_degree_part(substitute(constants, at.symbol("d_v"), at.symbol("d_qk")));
  CHECK(constants == Polynomial(3) * Polynomial(at.symbol("q_len")) * Polynomial(at.symbol("d_qk")));
}

TEST_CASE("backward coefficients: 16 in one kernel, 8 and 6 in two") {
  const Case one("flash1-backward", "", 0, one_long_head()), dkv("flash2-backward-split", "", 1, one_long_head()),
      dq("flash2-backward-split", "", 2, one_long_head());
  CHECK(coefficient(dkv, 1, q_x_d2) == 8);
  CHECK(coefficient(dq, 1, q_x_d2) == 6);
  Schedule rewriting = find_schedule("flash2-backward", models());
  for (Stored& stored : rewriting.islands[1].stored_as) stored.by = Accumulate::rewriting, stored.zeroed = false;
  Case main("flash2-backward", "", 1, one_long_head());
  main.problem = problem_of(rewriting, {}, 1);
  leave_out_ones(main.problem, rewriting, one_long_head());
  CHECK(coefficient(main, 1, q_x_d2) == 16);
  // Algorithm 4 of FlashAttention also reads O to recompute its rowsum: 3d + 2e on 2d + 2e.
  CHECK(coefficient(one, 1, q_x_d2) == 20);
}

TEST_CASE("two backward kernels move less than one and compute seven contractions instead of five") {
  const auto contractions = [](const std::string& name) {
    const Schedule schedule = find_schedule(name, models());
    int count = 0;
    for (const Island& island : schedule.islands)
      for (const int op : island.operators)
        count += schedule.diagram.operators[static_cast<std::size_t>(op)].kind == OperatorKind::contraction;
    return count;
  };
  CHECK(contractions("flash2-backward") == 5);
  CHECK(contractions("flash2-backward-split") == 7);
  for (const double memory : {1e5, 1e6}) {
    const auto best = [&](const char* name, int island) {
      return Case(name, "", island, one_long_head()).best(memory).traffic;
    };
    CHECK(best("flash2-backward-split", 1) + best("flash2-backward-split", 2) < best("flash2-backward", 1));
  }
}

TEST_CASE("unfused attention is two matmuls: 2 q x d / sqrt M + q x each") {
  for (const int island : {0, 2}) {
    const Case at("standard", "", island, one_long_head());
    const auto of = [&](const char* name) { return Polynomial(at.symbol(name)); };
    const ExactOptimum found = at.optimum();
    CAPTURE(to_text(found, at.problem.symbolic.symbols));
    CAPTURE(island);
    CHECK(found.constants ==
          (island == 0 ? of("q_len") * of("kv_len") : of("q_len") * of("kv_len") + of("q_len") * of("d_v")));
  }
  const Case scores("standard", "", 0, one_long_head());
  CHECK(coefficient(scores, {1, 2}, {{"q_len", 1}, {"kv_len", 1}, {"d_qk", 1}}) == 2);
}

TEST_CASE("the numeric optimum is proportional to M^-beta") {
  CHECK(fitted_slope(Case("flash2", "", 0, one_long_head(1 << 24))) == doctest::Approx(-1).epsilon(0.01));
  CHECK(fitted_slope(Case("flash2-backward-split", "", 1, one_long_head(1 << 24))) ==
        doctest::Approx(-1).epsilon(0.01));
  CHECK(fitted_slope(Case("standard", "", 0, {1, 1, 1, 1 << 24, 1 << 24, 2, 2})) ==
        doctest::Approx(-0.5).epsilon(0.01));
  Case matmul("matmul", "", 0, {});
  for (const char* size : {"a", "b", "c"})
    matmul.sizes[matmul.symbol(size)] = matmul.bounds[matmul.symbol(std::string("tile.") + size)] = 1e6;
  CHECK(fitted_slope(matmul) == doctest::Approx(-0.5).epsilon(0.01));
}

TEST_CASE("one width for every array: the law in bytes is the law in values times width^(1 + beta)") {
  for (const auto& [name, island] : {std::pair("flash2", 0), std::pair("matmul", 0), std::pair("standard", 0)}) {
    const Case values(name, "", island, one_long_head());
    std::map<std::string, Rational> widths;
    for (const SymbolicColumn& column : values.problem.symbolic.columns)
      for (const std::string& array : column.live) widths[array] = 2;
    for (const Array& array : values.schedule.diagram.arrays) widths[array.name] = 2;
    const Case bytes(name, "", island, one_long_head(), {}, widths);
    const ExactOptimum a = values.optimum(), b = bytes.optimum();
    REQUIRE(a.closed);
    REQUIRE(b.closed);
    const auto alpha = [](const Case& at, const ExactOptimum& optimum) {
      return optimum.terms[0].alpha.evaluate(at.problem.symbolic.symbols, at.sizes);
    };
    CAPTURE(name);
    CHECK(alpha(bytes, b) / alpha(values, a) == doctest::Approx(std::pow(2, 1 + a.terms[0].beta.to_double())));
    CHECK(b.constants == Polynomial(2) * a.constants);
  }
}

TEST_CASE("arrays of different widths: x (b_K d + b_V e) R (b_Q d + b_O e) / M") {
  std::map<std::string, Rational> widths{{"Q", 2}, {"K", 1}, {"V", 1}, {"O", 4}};
  widths["l"] = widths["s"] = 4;  // row statistics and scores are kept in fp32
  const Case at("flash2", "", 0, one_long_head(), {}, widths);
  const auto of = [&](const char* name) { return Polynomial(at.symbol(name)); };
  const Polynomial resident = Polynomial(2) * of("d_qk") + Polynomial(4) * of("d_v") + 12;
  CAPTURE(to_text(at.optimum(), at.problem.symbolic.symbols));
  CHECK(at.optimum().terms[0].alpha.expanded() == of("q_len") * of("kv_len") * (of("d_qk") + of("d_v")) * resident);
}

TEST_CASE("traffic does not increase with memory; its limit is each array once") {
  for (const char* name : {"flash2", "flash1", "split-kv", "matmul", "flash2-backward-split"}) {
    CAPTURE(name);
    const Workload workload = one_long_head(2048);
    const Case at(name, "", 0, workload);
    double before = std::numeric_limits<double>::infinity();
    for (double memory = 2e3; memory < 1e12; memory *= 4) {
      const BestTiles best = at.best(memory);
      if (!best.found) continue;
      CAPTURE(memory);
      CHECK(best.traffic <= before * (1 + 1e-6));
      CHECK(best.traffic >= best.lower_bound);
      before = best.traffic;
    }
    CHECK(std::isfinite(before));
  }
  const double n = 2048, d = 64;
  CHECK(Case("flash2", "", 0, one_long_head(2048)).best(1e12).traffic == doctest::Approx(4 * n * d + n).epsilon(1e-5));
  CHECK(Case("matmul", "", 0, {}).best(1e12).traffic == doctest::Approx(3. * 4096 * 4096).epsilon(1e-5));
}

}  // namespace tilescope::optima_test
