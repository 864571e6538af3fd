// Nests are tried on several threads: what is derived does not depend on their number.
#include <doctest/doctest.h>

#include "derive/derivation.h"
#include "derive/present/present.h"
#include "derive/test_models.h"

namespace tilescope::threads_test {

TEST_CASE("a derivation is the same with 1, 2 and 7 threads, to the last byte") {
  for (const char* name : {"attention", "attention_backward", "rmsnorm_matmul", "sigmoid_of_centred_scores"}) {
    INFO(name);
    DeriveRequest request{.diagram = find_diagram(name, models()), .workload = {1, 2, 1, 2048, 2048, 64, 64}};
    const auto derived = [&](std::size_t threads) {
      request.threads = threads;
      return derivation_json(derive(request, models()), request.diagram).dump();
    };
    const std::string alone = derived(1);
    CHECK(alone.size() > 1000);
    CHECK(derived(2) == alone);
    CHECK(derived(7) == alone);
  }
}

}  // namespace tilescope::threads_test
