#include "request/answer.h"

#include "base/data_directory.h"
#include "predict/predict.h"
#include "predict/rate_basis.h"
#include "request/best_tile.h"

namespace tilescope {

JsonOptions stated_errors(const Plan& plan, const HardwareProfile& hardware, const std::string& regime) {
  if (plan.assumed) return {};
  const std::filesystem::path folder = data_directory() / "validate";
  if (const Basis basis = modelled_basis(hardware); basis != Basis::measured) {
    if (!hardware.measured) return {};
    return {.error = basis_error(folder / "basis_errors.json", hardware.id, hardware.chip, to_string(basis))};
  }
  const auto error = [&](const char* quantity) {
    return recorded_error(folder / "errors.json", hardware.id, plan.kernel.name, quantity, regime);
  };
  return {.error = error("seconds"), .dram_error = error("hbm_read_bytes")};
}

Answer answer(const Options& options) {
  Answer a{read_plan(options), read_hardware(options), {}, {}, {}};
  a.point = read_point(options, a.plan);
  settle_tile(a.plan, a.hardware, a.point, tile_given(options), search_options(options, a.plan));
  predict(a.plan, a.hardware, a.point, a.prediction);
  a.options = stated_errors(a.plan, a.hardware, regime_of(a.prediction));
  return a;
}

}  // namespace tilescope
