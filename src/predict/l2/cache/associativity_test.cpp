#include "predict/l2/cache/associativity.h"

#include <doctest/doctest.h>

#include "hardware/measured_curves.h"

namespace tilescope::associativity_test {

TEST_CASE("the associativity of a simulated cache is found from its own curves") {
  for (const std::int64_t ways : {4, 16, 32})
    for (const std::int64_t dirty : {ways / 4, ways / 2, ways}) {
      const CacheShape shape{.capacity = 24 << 20,
                             .partitions = 2,
                             .ways = ways,
                             .dirty = static_cast<double>(dirty) / static_cast<double>(ways)};
      SweepCurve reads, stores;
      for (double mib = 4; mib <= 24; mib += 2) {
        const double bytes = mib * (1 << 20);
        reads.emplace_back(bytes, swept_again(shape, bytes, false));
        stores.emplace_back(bytes, swept_again(shape, bytes, true));
      }
      const Associativity found = fit_associativity(shape.capacity, shape.partitions, reads, stores);
      CAPTURE(ways);
      CAPTURE(dirty);
      CHECK(found.ways == ways);
      CHECK(found.dirty_ways == dirty);
      CHECK(found.read_difference < 1e-12);
    }
  CHECK(fit_associativity(1 << 20, 2, {}, {}).ways == 0);
  CHECK(fit_associativity(0, 2, {{1e6, 0}}, {{1e6, 0}}).ways == 0);
}

// Without copies in both partitions, half as many ways would fit the curve of reads. Largest differences of 8 runs:
// 0.03 of reads, 0.06 of stores.
TEST_CASE("the records of hardware measure give the ways of the shipped profiles") {
  for (const MeasuredCurves& measured : measured_curves()) {
    const Associativity found =
        fit_associativity(measured.record.at("environment").at("l2_bytes").get<std::int64_t>(), 2,
                          measured.points(read_again_curve), measured.points(stored_again_curve));
    CAPTURE(measured.file);
    CHECK(found.ways == 16);
    CHECK(found.dirty_ways == 8);
    CHECK(found.read_difference < 0.04);
    CHECK(found.store_difference < 0.07);
  }
}

}  // namespace tilescope::associativity_test
