// Host part of counters.h: metric names and pass counts from CUPTI's tables, without a driver.
#include <cupti_version.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "validate/measure/counters/counters.h"
#include "validate/measure/counters/cupti_call.h"

namespace tilescope::validate {

CuptiHost::CuptiHost(const std::string& chip, const std::vector<std::uint8_t>& availability) {
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_Host_Initialize_Params);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip.c_str();
  params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  const CUptiResult result = cuptiProfilerHostInitialize(&params);
  if (result == CUPTI_ERROR_NOT_INITIALIZED) {
    throw DeviceError("CUPTI cannot load libnvperf_host.so; put its folder (beside libcupti.so) on LD_LIBRARY_PATH");
  }
  if (result != CUPTI_SUCCESS) {
    throw DeviceError(fmt::format("cuptiProfilerHostInitialize failed for chip {}: {}", chip, describe(result)));
  }
  object_ = params.pHostObject;
}

CuptiHost::~CuptiHost() {
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
  params.pHostObject = object_;
  cuptiProfilerHostDeinitialize(&params);
}

bool CuptiHost::add(const std::vector<std::string>& metrics) {
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  params.pHostObject = object_;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  const CUptiResult result = cuptiProfilerHostConfigAddMetrics(&params);
  // CUPTI 13.0 answers INVALID_PARAMETER for an unknown name and UNKNOWN for one without a rollup such as ".sum"; its
  // documentation names the third code.
  if (result == CUPTI_ERROR_INVALID_PARAMETER || result == CUPTI_ERROR_UNKNOWN ||
      result == CUPTI_ERROR_INVALID_METRIC_NAME) {
    return false;
  }
  check(result, "cuptiProfilerHostConfigAddMetrics");
  return true;
}

std::vector<std::uint8_t> CuptiHost::config_image() const {
  auto size = TILESCOPE_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
  size.pHostObject = object_;
  TILESCOPE_CUPTI(cuptiProfilerHostGetConfigImageSize, size);
  std::vector<std::uint8_t> image(size.configImageSize);
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
  params.pHostObject = object_;
  params.configImageSize = image.size();
  params.pConfigImage = image.data();
  TILESCOPE_CUPTI(cuptiProfilerHostGetConfigImage, params);
  return image;
}

int CuptiHost::passes_of(std::vector<std::uint8_t>& config_image) {
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  params.configImageSize = config_image.size();
  params.pConfigImage = config_image.data();
  TILESCOPE_CUPTI(cuptiProfilerHostGetNumOfPasses, params);
  return static_cast<int>(params.numOfPasses);
}

SortedMetrics sort_metrics(const std::string& chip, const std::vector<std::string>& metrics,
                           const std::vector<std::uint8_t>& availability) {
  auto scratch = std::make_unique<CuptiHost>(chip, availability);
  SortedMetrics sorted;
  for (const std::string& metric : metrics) {
    const auto seen = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), metric) != names.end();
    };
    if (seen(sorted.known) || seen(sorted.unknown)) continue;
    if (scratch->add({metric})) {
      sorted.known.push_back(metric);
      continue;
    }
    sorted.unknown.push_back(metric);
    // A new object: in CUPTI 13.0, one that has rejected a metric rejects every later metric.
    scratch = std::make_unique<CuptiHost>(chip, availability);
  }
  return sorted;
}

std::optional<std::string> cupti_version() {
  std::uint32_t version = 0;
  check(cuptiGetVersion(&version), "cuptiGetVersion");
  if (version < 10000) return std::to_string(version);  // before CUPTI 13 a plain running number
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::vector<std::string> supported_chips() {
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params);
  TILESCOPE_CUPTI(cuptiProfilerHostGetSupportedChips, params);
  return {params.ppChipNames, params.ppChipNames + params.numChips};
}

std::optional<CounterPlan> plan_counters(const std::string& chip, const std::vector<std::string>& metrics) {
  const std::vector<std::string> chips = supported_chips();
  if (std::find(chips.begin(), chips.end(), chip) == chips.end()) return std::nullopt;
  SortedMetrics sorted = sort_metrics(chip, metrics, {});
  CounterPlan plan;
  plan.unknown = std::move(sorted.unknown);
  if (!sorted.known.empty()) {
    CuptiHost host(chip);
    if (!host.add(sorted.known)) throw DeviceError("CUPTI takes these metrics one by one but not together");
    std::vector<std::uint8_t> image = host.config_image();
    plan.passes = CuptiHost::passes_of(image);
  }
  return plan;
}

}  // namespace tilescope::validate
