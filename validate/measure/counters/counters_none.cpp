// counters.h for a build without CUPTI: returns empty values where the interface allows it, and throws DeviceError
// elsewhere.
#include "base/error.h"
#include "validate/measure/counters/counters.h"

namespace tilescope::validate {

std::optional<std::string> cupti_version() { return std::nullopt; }
std::vector<std::string> supported_chips() { return {}; }
std::optional<CounterPlan> plan_counters(const std::string&, const std::vector<std::string>&) { return std::nullopt; }

Preflight preflight() {
  return {Readiness::not_built,
          "this tilescope was built without CUDA and CUPTI, so it cannot measure; install the CUDA toolkit (12.6 or "
          "newer) and build with -DTILESCOPE_CUDA=ON"};
}

void require_counters() { throw DeviceError(preflight().message); }

std::string current_chip() { throw DeviceError(preflight().message); }

struct CounterSession::State {};

CounterSession::CounterSession(const std::vector<std::string>&) { require_counters(); }
CounterSession::~CounterSession() = default;
CounterSession::CounterSession(CounterSession&&) noexcept = default;
CounterSession& CounterSession::operator=(CounterSession&&) noexcept = default;
CounterResult CounterSession::collect(const std::vector<CounterRange>&) { throw DeviceError(preflight().message); }
CounterResult CounterSession::collect(const std::vector<std::string>&, const std::function<void(RangeMarker&)>&) {
  throw DeviceError(preflight().message);
}
int CounterSession::passes() const { return 0; }

}  // namespace tilescope::validate
