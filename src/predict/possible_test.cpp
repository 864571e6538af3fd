#include "predict/possible.h"

#include <doctest/doctest.h>

#include <limits>

namespace tilescope::possible_test {

TEST_CASE("a prediction with a negative or infinite number, or below the compulsory bytes, is refused") {
  Prediction good;
  good.traffic[LevelId::hbm] = {100, 20};
  good.compulsory_bytes = 120;
  good.time.total = 1e-3;
  good.time.seconds.fill(-1);  // rates that the profile lacks
  good.islands.resize(1);
  good.terms.push_back({.bytes = 100});
  CHECK_NOTHROW(require_possible(good));
  const auto refused = [&](auto change) {
    Prediction bad = good;
    change(bad);
    CHECK_THROWS_AS(require_possible(bad), ImpossiblePrediction);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  refused([](Prediction& p) { p.terms[0].bytes = -1; });
  refused([](Prediction& p) { p.compulsory_bytes = 121; });
  refused([](Prediction& p) { p.traffic[LevelId::smem][1] = -8; });
  for (const double value : {-1e-9, nan, infinite}) {
    refused([=](Prediction& p) { p.time.total = value; });
    refused([=](Prediction& p) { p.time.cold = value; });
    refused([=](Prediction& p) { p.time.clock_hz = value; });
    refused([=](Prediction& p) { p.time.watts = value; });
    refused([=](Prediction& p) { p.time.gain[2] = value; });
    refused([=](Prediction& p) { p.islands[0].seconds = value; });
  }
  refused([=](Prediction& p) { p.time.seconds[1] = nan; });
}

}  // namespace tilescope::possible_test
