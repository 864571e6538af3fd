#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fixture.h"

namespace tilescope::page_test {
namespace {

using namespace analysis;

const char* const shown_kernels[] = {"fused_mma", "reference", "library_attention"};

Split split_of(const Residual& residual, double measured, bool longest) {
  const double predicted = residual.quantities.at("seconds").predicted;
  Split split{.kernel = residual.kernel,
              .label = residual.label,
              .third_party = residual.third_party,
              .longest = longest,
              .measured = measured,
              .predicted = predicted,
              .waits = predicted * 0.2,
              .idle = predicted * 0.06,
              .launch = predicted * 0.04,
              .busiest = {{"tensor", predicted * 0.6}, {"hbm", predicted * 0.1}}};
  const double shares[] = {0.6, 0.5, 0.3, 0.2, 0.1, 0.25, 0.35, 0.15};
  for (std::size_t i = 0; i < std::size(kUnits); ++i) split.units[kUnits[i].key] = predicted * shares[i];
  return split;
}

void add_records(Pictures& pictures, Random& random) {
  const auto pair = [&](double size, double spread, double bar) {
    return PredictedMeasured{size * (1 + (random.next() - 0.6) * spread), size, bar};
  };
  for (int i = 0; i < 40; ++i) {
    const double measured = 2e-5 * std::pow(1.2, i);
    Residual& residual = pictures.residuals.emplace_back();
    residual.kernel = shown_kernels[i % 3], residual.label = fmt::format("fp16 128x64 d128 N{}", 128 * (i + 1));
    residual.regime = "compute", residual.third_party = i % 3 == 2;
    residual.quantities["seconds"] = pair(measured, 0.5, 0.2);
    residual.quantities["hbm_read_bytes"] = pair(1e6 * (i + 1), 0.04, 0.02);
    if (i % 4) residual.quantities["busy_cycles"] = pair(measured * 1.7e9, 0.4, 0.2);
    if (i >= 28) pictures.splits.push_back(split_of(residual, measured, i >= 37));
  }
  std::stable_sort(pictures.splits.begin(), pictures.splits.end(),
                   [](const Split& a, const Split& b) { return a.kernel < b.kernel; });
}

}  // namespace

Pictures pictures_fixture() {
  Random random(4321);
  Pictures pictures{.records = 40, .kernels = 3, .experiments = {"synthetic"}};
  add_records(pictures, random);
  for (const char* kernel : {kEverything, kOurs, kTheirs, shown_kernels[0], shown_kernels[1], shown_kernels[2]})
    for (const std::string quantity : kResidualQuantities) {
      const bool one = std::string_view(kernel) == shown_kernels[0] || std::string_view(kernel) == shown_kernels[1] ||
                       std::string_view(kernel) == shown_kernels[2];
      pictures.bars.push_back({.kernel = kernel,
                               .quantity = quantity,
                               .regime = one ? "compute" : "",
                               .low = quantity == "seconds" ? 2e-5 : 1e6,
                               .high = quantity == "seconds" ? 2e-2 : 4e7,
                               .p90 = 0.15,
                               .n = 13,
                               .stated = one});
    }
  for (const char* kernel : {shown_kernels[0], shown_kernels[1]}) {
    LengthSeries& series =
        pictures.lengths.emplace_back(LengthSeries{.kernel = kernel, .label = "16-bit 128x64 16 heads d128"});
    for (const double n : {512, 1024, 4096, 16384})
      series.points.push_back({.kv_len = n,
                               .predicted = n * 16600,
                               .measured = random.near(n * 16700, 0.02),
                               .compulsory = n * 16448,
                               .no_cache = n * 16448 * (1 + n / 512)});
  }
  for (int i = 0; i < 3; ++i)
    pictures.clocks.push_back({.kernel = shown_kernels[i],
                               .label = "fp16 128x64 d128 N5120",
                               .third_party = i == 2,
                               .at_limit = i == 0,
                               .reports_cap = i < 2,
                               .seconds = 1e-3,
                               .predicted_hz = 1.7e9 + 6e7 * i,
                               .nvml_hz = 1.8e9,
                               .predicted_watts = 700.0 - 40 * i,
                               .nvml_watts = 260,
                               .low_hz = 1.5e9,
                               .high_hz = 1.65e9});
  pictures.power_limit = {.both = 9, .model_only = 2, .gpu_only = 3, .neither = 6};
  pictures.limit_watts = 700, pictures.highest_hz = 1.98e9, pictures.tensor_hz = 1.83e9;
  return pictures;
}

}  // namespace tilescope::page_test
