// Tests the nests that the enumeration finds, their order, and its refusals.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

#include "base/contains.h"
#include "base/test_seed.h"
#include "base/text.h"
#include "derive/derivation.h"
#include "derive/random/random_nests.h"
#include "derive/test_models.h"

namespace tilescope::enumeration_test {
namespace {

Workload one_head(std::int64_t n = 8192, std::int64_t d = 128) { return {1, 1, 1, n, n, d, d}; }

Derivation derived(const std::string& diagram, const Workload& workload, double memory, const Mask& mask = {}) {
  return derive({.diagram = find_diagram(diagram, models()), .workload = workload, .mask = mask, .memory = memory},
                models());
}

bool names(const RankedFusion& fusion, const std::string& name) { return contains(fusion.names, name); }

AxisLoop loop(const Diagram& diagram, const char* axis, Partition partition, bool parts = false) {
  return {*diagram.find_axis(axis), partition, parts};
}

}  // namespace

TEST_CASE("every named schedule lies among the enumerated fusions and legal nests") {
  int found = 0;  // with unlimited memory the ranking is short
  for (const char* diagram :
       {"attention", "attention_backward", "attention_backward_rowsum", "attention_transposed_values", "matmul"})
    for (const NamedDerivation& named : derived(diagram, one_head(1024), 1e12).named) {
      CAPTURE(named.name);
      CHECK_MESSAGE(named.found, named.missing_because);
      ++found;
    }
  CHECK(found == static_cast<int>(shipped_names(models() + "/schedules").size()));
}

TEST_CASE("attention's best fusion at 228 KiB is FlashAttention-2's, without a tie") {
  const Derivation derivation = derived("attention", one_head(), 116736);
  REQUIRE(derivation.ranked.size() > 1);
  CHECK(names(derivation.ranked[0], "flash2"));
  CHECK(derivation.ranked[0].materialised.empty());
  CHECK(derivation.ranked[1].traffic > derivation.ranked[0].traffic);
}

TEST_CASE("flash1 and flash2 are one fusion with loops in another order") {
  const Primitives primitives = primitives_of_diagram(find_diagram("attention", models()));
  const NamedPoint one = locate(primitives, find_schedule("flash1", models())),
                   two = locate(primitives, find_schedule("flash2", models()));
  REQUIRE(one.kernels.size() == 1);
  REQUIRE(two.kernels.size() == 1);
  // With keys in the outer loop the log-sum-exp cannot be finished. For the same outputs both run the same primitives.
  CHECK(one.omitted == std::vector{*primitives.diagram.find_array("L")});
  CHECK(two.omitted.empty());
  CHECK(one.kernels[0].kernel == kernel_for(primitives, {*primitives.diagram.find_array("O")}, {}));
  CHECK(std::includes(two.kernels[0].kernel.region.primitives.begin(), two.kernels[0].kernel.region.primitives.end(),
                      one.kernels[0].kernel.region.primitives.begin(), one.kernels[0].kernel.region.primitives.end()));
  CHECK(one.kernels[0].loops != two.kernels[0].loops);
  std::vector<AxisId> a, b;
  for (const AxisLoop& l : one.kernels[0].loops) a.push_back(l.axis);
  for (const AxisLoop& l : two.kernels[0].loops) b.push_back(l.axis);
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  CHECK(a == b);
}

// Traffic in units of q x, with u = d / sqrt M. The fused kernel moves 4 u^2. With scores through memory, Q K^T moves 1
// + min(u^2, 2u), because its output is stored once. P V moves 2u, because it reads the scores as a matmul reads its
// operand and computes the softmax in the same kernel. (1 + u)^2 = 4 u^2 at u = 1. This is the change of regime at M =
// d^2 that Saha and Ye prove (arXiv 2402.07443, theorem 3.1). A third kernel for the softmax would move it to 0.44 d^2
// (4u + 3). A count of 4 q x in all would move it to 0.38 d^2.
TEST_CASE(
    "below d^2 values of memory two tiled matmuls store the scores in memory; above, the scores stay on the chip") {
  const double d = 128;
  const Derivation small = derived("attention", one_head(), 3000);
  REQUIRE(!small.ranked.empty());
  CHECK(!small.ranked[0].materialised.empty());
  REQUIRE(small.ranked[0].kernels.size() >= 2);
  const auto loops_over = [&](const RankedKernel& kernel, const char* axis) {
    return std::any_of(kernel.loops.begin(), kernel.loops.end(),
                       [&](const AxisLoop& l) { return l.axis == *small.primitives.diagram.find_axis(axis); });
  };
  for (const char* axis : {"d", "e"})
    CHECK(std::any_of(small.ranked[0].kernels.begin(), small.ranked[0].kernels.end(),
                      [&](const RankedKernel& kernel) { return loops_over(kernel, axis); }));
  const NamedDerivation& fused = *std::find_if(small.named.begin(), small.named.end(),
                                               [](const NamedDerivation& named) { return named.name == "flash2"; });
  const auto cost = [&](const ScheduleProblem& problem, const Schedule& schedule, double memory) {
    const Valuation sizes = sizes_of(problem.symbolic, schedule, small.request.workload, {}),
                    bounds = tile_bounds(problem.symbolic, schedule, small.request.workload);
    return best_tiles(problem, sizes, bounds, memory).traffic;
  };
  const auto excess = [&](double memory) {
    double unfused = 0;
    for (const RankedKernel& kernel : small.ranked[0].kernels)
      unfused += cost(kernel.problem, kernel_schedule(small.primitives, kernel.kernel, kernel.loops), memory);
    return unfused - cost(fused.problems[0], fused.schedule, memory);
  };
  double low = 2000, high = 60000;
  REQUIRE(excess(low) < 0);
  REQUIRE(excess(high) > 0);
  while (high / low > 1.0001) {
    const double middle = std::sqrt(low * high);
    (excess(middle) < 0 ? low : high) = middle;
  }
  MESSAGE("crossover at " << low << " values, " << low / (d * d) << " d^2");
  CHECK(low / (d * d) == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("declaring axes, arrays and operators in another order ranks the same traffics") {
  const Workload workload = one_head(512, 32);
  const Diagram diagram = find_diagram("attention", models());
  const auto traffics = [&](const Diagram& d) {
    std::vector<double> all;
    const Derivation derivation =
        derive({.diagram = d, .workload = workload, .memory = 4000, .ranked = 4}, models() + "/none");
    CHECK(join(derivation.errors, "; ") == "");
    for (const RankedFusion& fusion : derivation.ranked) all.push_back(fusion.traffic);
    return all;
  };
  const std::vector<double> expected = traffics(diagram);
  RandomPoints random(test_seed());
  for (int round = 0; round < 2; ++round) {
    std::vector<int> axes(diagram.axes.size()), arrays(diagram.arrays.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
    for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i] = static_cast<int>(i);
    std::shuffle(axes.begin(), axes.end(), random.engine()),
        std::shuffle(arrays.begin(), arrays.end(), random.engine());
    const auto axis = [&](AxisId id) { return static_cast<AxisId>(axes[index(id)]); };
    const auto array = [&](ArrayId id) { return static_cast<ArrayId>(arrays[index(id)]); };
    Diagram shuffled = diagram;
    for (std::size_t i = 0; i < axes.size(); ++i) shuffled.axes[static_cast<std::size_t>(axes[i])] = diagram.axes[i];
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      Array moved = diagram.arrays[i];
      for (AxisId& id : moved.axes) id = axis(id);
      shuffled.arrays[static_cast<std::size_t>(arrays[i])] = moved;
    }
    for (Operator& op : shuffled.operators) {
      for (ArrayId& id : op.inputs) id = array(id);
      for (ArrayId& id : op.outputs) id = array(id);
      if (op.along) op.along = axis(*op.along);
    }
    shuffled.guard = GuardAxes{axis(diagram.guard->query), axis(diagram.guard->key)};
    const std::vector<double> found = traffics(shuffled);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}

TEST_CASE("a sigmoid of centred scores keeps the keys whole, says why, and can be scheduled otherwise") {
  const Primitives primitives = primitives_of_diagram(find_diagram("sigmoid_of_centred_scores", models()));
  const FusedKernel kernel = whole_kernel(primitives);
  const KernelRules rules(primitives, kernel);
  const AxisId x = *primitives.diagram.find_axis("x");
  CHECK(rules.axes().at(x).kind == Streamability::Kind::refused);
  CHECK(!rules.axes().at(x).reason.empty());
  const std::string why = rules.why_not({{x, Partition::stream}});
  CHECK(why == "x must stay whole: " + rules.axes().at(x).reason);
  const Nests nests = enumerate_nests(primitives, kernel);
  CHECK(!nests.survivors.empty());
  for (const LegalNest& nest : nests.survivors)
    for (const AxisLoop& l : nest.loops) CHECK(l.axis != x);
  const Derivation derivation = derived("sigmoid_of_centred_scores", one_head(1024, 64), 116736);
  REQUIRE(!derivation.ranked.empty());
  CHECK(std::isfinite(derivation.ranked[0].traffic));
}

TEST_CASE("blocks share a fold only where the results add up, and the refusal says so") {
  const Diagram forward = find_diagram("attention", models());
  const Primitives attention = primitives_of_diagram(forward);
  const FusedKernel whole = whole_kernel(attention);
  const KernelRules rules(attention, whole);
  CHECK(
      rules.why_not({loop(forward, "x", Partition::group)}) ==
      "blocks cannot share x: the results over it are not plain sums, so they must leave partial results to be merged");
  CHECK(rules.why_not({loop(forward, "x", Partition::group, true)}).empty());
  CHECK(rules.why_not({loop(forward, "d", Partition::group)}).starts_with("blocks cannot share d: "));
  CHECK(rules.why_not({loop(forward, "d", Partition::stream), loop(forward, "x", Partition::stream)})
            .find("a loop inside comes back to its tiles") != std::string::npos);
  const Diagram gradients = find_diagram("attention_backward", models());
  const Primitives backward = primitives_of_diagram(gradients);
  const ArrayId dq = *backward.diagram.find_array("dQ"), d = *backward.diagram.find_array("D");
  const KernelRules sums(backward, kernel_for(backward, {dq}, {d}));
  CHECK(sums.adds_up(*gradients.find_axis("x")));
  CHECK(sums.why_not({loop(gradients, "x", Partition::group)}).empty());
  const KernelRules all(backward, whole_kernel(backward));
  CHECK(all.why_not({loop(gradients, "x", Partition::group), loop(gradients, "q", Partition::stream)}).empty());
}

TEST_CASE("an axis the kernel does not have cannot be looped over") {
  const Diagram diagram = find_diagram("attention", models());
  const Primitives primitives = primitives_of_diagram(diagram);
  const KernelRules rules(primitives, kernel_for(primitives, {*primitives.diagram.find_array("S")}, {}));
  CHECK(rules.why_not({loop(diagram, "e", Partition::group)}) == "nothing in this kernel has axis e");
}

TEST_CASE("an enumeration that stops at its bound says that it is not complete") {
  const Primitives primitives = primitives_of_diagram(find_diagram("attention", models()));
  CHECK(enumerate_fusions(primitives).complete);
  const Fusions few = enumerate_fusions(primitives, {.most = 10});
  CHECK(!few.complete);
  CHECK(few.considered <= 10);
  const FusedKernel whole = whole_kernel(primitives);
  CHECK(enumerate_nests(primitives, whole).complete);
  const Nests nests = enumerate_nests(primitives, whole, 25);
  CHECK(!nests.complete);
  CHECK(nests.considered == 25);
}

TEST_CASE("attention forward is enumerated at three levels within two seconds") {
  const auto start = std::clock();
  const Primitives primitives = primitives_of_diagram(find_diagram("attention", models()));
  const Fusions fusions = enumerate_fusions(primitives);
  std::size_t considered = 0, pairs = 0;
  for (const FusedKernel& kernel : fusions.kernels) {
    const Nests outer = enumerate_nests(primitives, kernel),
                inner = enumerate_nests(primitives, kernel);  // one per boundary
    considered += outer.considered + inner.considered, pairs += outer.survivors.size() * inner.survivors.size();
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  MESSAGE(fusions.fusions.size() << " fusions of " << fusions.kernels.size() << " kernels, " << considered << " nests, "
                                 << pairs << " pairs in " << seconds << " s");
  CHECK(pairs > 0);
  if (times_are_judged) CHECK(seconds < 2);
}

}  // namespace tilescope::enumeration_test
