#include "request/answer.h"

#include "base/data_directory.h"
#include "predict/predict.h"
#include "request/best_tile.h"

namespace tilescope {

JsonOptions recorded_errors(const Plan& plan, const HardwareProfile& hardware, const std::string& regime) {
  if (plan.assumed) return {};
  const auto error = [&](const char* quantity) {
    return recorded_error(data_directory() / "validate" / "errors.json", hardware.id, plan.kernel.name, quantity,
                          regime);
  };
  return {.error = error("seconds"), .dram_error = error("hbm_read_bytes")};
}

Answer answer(const Options& options) {
  Answer a{read_plan(options), read_hardware(options), {}, {}, {}};
  a.point = read_point(options, a.plan);
  settle_tile(a.plan, a.hardware, a.point, tile_given(options), search_options(options, a.plan));
  predict(a.plan, a.hardware, a.point, a.prediction);
  a.options = recorded_errors(a.plan, a.hardware, regime_of(a.prediction));
  return a;
}

}  // namespace tilescope
