// An input that is small beside the others, such as a slope a head, does not choose the partition.
#include <doctest/doctest.h>

#include "derive/derivation.h"
#include "derive/random/random_nests.h"
#include "derive/test_models.h"

namespace tilescope::minor_loads_test {
namespace {

std::string best_loops(const std::string& diagram, const Workload& workload, double memory) {
  const Derivation derivation =
      derive({.diagram = find_diagram(diagram, models()), .workload = workload, .memory = memory, .ranked = 1},
             models() + "/none");
  REQUIRE(derivation.ranked.size() == 1);
  REQUIRE(derivation.ranked.front().kernels.size() == 1);
  AxisLoops loops = derivation.ranked.front().kernels.front().loops;
  std::erase_if(loops, [&](const AxisLoop& loop) {
    return derivation.primitives.diagram.axes[index(loop.axis)].size_in(workload) == 1;
  });
  std::sort(loops.begin(), loops.end());
  return to_text(derivation.primitives.diagram, loops);
}

}  // namespace

TEST_CASE("with a slope a head, the best nest of attention still spreads batch, heads and queries over blocks") {
  const std::pair<Workload, double> points[] = {{{4, 8, 8, 1024, 1024, 64, 64}, 20000.0},
                                                {{2, 8, 2, 4096, 4096, 128, 128}, 116736.0}};
  for (const auto& [workload, memory] : points) {
    const std::string loops = best_loops("attention_softcap_alibi", workload, memory);
    CAPTURE(loops);
    for (const char* loop : {"[b:G]", "[k:G]", "[q:G]", "[x:S]"}) CHECK(loops.find(loop) != std::string::npos);
    CHECK(loops.find(":S]") == loops.rfind(":S]"));
  }
}

TEST_CASE("a load is minor over an axis if another array has both and at least one axis more") {
  const Primitives primitives = primitives_of_diagram(find_diagram("attention_softcap_alibi", models()));
  std::vector<ArrayId> outputs;
  for (const char* name : {"O", "L"}) outputs.push_back(*primitives.diagram.find_array(name));
  const FusedKernel kernel = kernel_for(primitives, outputs, {});
  const auto minor = [&](const char* array) {
    std::string axes;
    const AxisBits bits = minor_over(primitives, kernel, *primitives.diagram.find_array(array));
    for (std::size_t a = 0; a < primitives.diagram.axes.size(); ++a)
      if ((bits >> a & 1) != 0) axes += primitives.diagram.axes[a].name;
    return axes;
  };
  CHECK(minor("slope") == "bqde");
  CHECK(minor("K") == "");
  CHECK(minor("Q") == "");
}

}  // namespace tilescope::minor_loads_test
