#include "analysis/report/roofs.h"

#include <doctest/doctest.h>

#include <string>

#include "base/data_directory.h"
#include "base/error.h"
#include "hardware/derived.h"
#include "request/answer.h"

namespace tilescope::roofs_test {
namespace {

Options options_of(const std::string& gpu, const std::string& kernel, const std::string& queries,
                   const std::string& dim) {
  Options options = Options().with("hardware", gpu).with("head-dim", dim).with("q-len", queries).with("heads-kv", "8");
  options = options.with("heads-q", "8").with("batch", "8").with("kv-len", "16k").with("l2", "closed");
  return kernel.starts_with("schedule:") ? options.with("schedule", kernel.substr(9)).with("dtype", "fp16")
                                         : options.with("kernel", kernel);
}

}  // namespace

TEST_CASE("no prediction lies above the roofs and peaks that its GPU is drawn with") {
  std::size_t points = 0;
  for (const std::string gpu : {"h200_sxm", "h100_sxm", "a100_sxm_80", "l40s", "b200_sxm", "mi300x", "mi355x"})
    for (const std::string kernel : {"fused_mma", "split_kv", "fused_wgmma", "schedule:flash2", "schedule:standard"})
      for (const std::string queries : {"1", "64", "1k"})
        for (const std::string dim : {"64", "128"}) {
          Answer one;
          try {
            one = answer(options_of(gpu, kernel, queries, dim));
          } catch (const InputError&) {
            continue;  // the kernel does not run there
          }
          const Prediction& prediction = one.prediction;
          if (!one.outside.empty() || !prediction.feasible) continue;
          ++points;
          CAPTURE(gpu);
          CAPTURE(kernel);
          CAPTURE(queries);
          CAPTURE(dim);
          const double seconds = prediction.time.total;
          for (const analysis::Roof& roof : analysis::roofs(one.hardware)) {
            CAPTURE(roof.level);
            for (const MemoryLevel& known : one.hardware.levels)
              if (known.name() == roof.level)
                CHECK(static_cast<double>(prediction.traffic.both(known.id)) <=
                      seconds * roof.bytes_per_second * (1 + 1e-9));
          }
          double peak = 0;
          for (const analysis::Peak& known : analysis::peaks(one.hardware, {"fp16"}))
            peak = std::max(peak, known.flop_per_second);
          CHECK(one.json()["work"]["tensor_flop"].get<double>() <= seconds * peak * (1 + 1e-9));
        }
  CHECK(points > 100);
}

}  // namespace tilescope::roofs_test
