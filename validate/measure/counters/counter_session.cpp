// Device part of counters.h: CUPTI's range profiler with user ranges and user replay.
#include <cuda_runtime_api.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstdint>

#include "validate/measure/counters/counters.h"
#include "validate/measure/counters/cupti_call.h"
#include "validate/measure/cuda_check.h"

namespace tilescope::validate {
namespace {

constexpr const char* how_to_permit =
    "run as root, or give the container CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN) with root inside, or load the "
    "driver with NVreg_RestrictProfilingToAdminUsers=0";

void initialize_profiler() {
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_Initialize_Params);
  TILESCOPE_CUPTI(cuptiProfilerInitialize, params);
}

// The current context, found through the runtime because libcuda is not linked (a machine without driver lacks it).
CUcontext current_context() {
  check_cuda(cudaFree(nullptr), "cudaFree");  // creates the primary context
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  check_cuda(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &entry, 12000, cudaEnableDefault, &found),
             "cudaGetDriverEntryPointByVersion");
  if (found != cudaDriverEntryPointSuccess) throw DeviceError("the driver does not export cuCtxGetCurrent");
  CUcontext context = nullptr;
  if (reinterpret_cast<CUresult (*)(CUcontext*)>(entry)(&context) != CUDA_SUCCESS || context == nullptr) {
    throw DeviceError("cuCtxGetCurrent failed");
  }
  return context;
}

// The counters that this device permits. A missing permission is detected here first.
CUptiResult read_availability(CUcontext context, std::vector<std::uint8_t>& image) {
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
  params.ctx = context;
  CUptiResult result = cuptiProfilerGetCounterAvailability(&params);
  if (result != CUPTI_SUCCESS) return result;
  image.resize(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  result = cuptiProfilerGetCounterAvailability(&params);
  image.resize(params.counterAvailabilityImageSize);
  return result;
}

std::vector<const char*> c_strings(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

// The profiler is enabled from construction to destruction only, so that it does not disturb timing elsewhere.
class RangeProfiler : public RangeMarker {
 public:
  explicit RangeProfiler(CUcontext context) {
    auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_Enable_Params);
    params.ctx = context;
    TILESCOPE_CUPTI(cuptiRangeProfilerEnable, params);
    object_ = params.pRangeProfilerObject;
  }
  ~RangeProfiler() override {
    auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_Disable_Params);
    params.pRangeProfilerObject = object_;
    cuptiRangeProfilerDisable(&params);
  }
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  // Sizes and initializes the image that receives the counters of `ranges` ranges.
  std::vector<std::uint8_t> counter_image(std::vector<const char*>& metrics, std::size_t ranges) {
    auto size = TILESCOPE_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = metrics.data();
    size.numMetrics = metrics.size();
    size.maxNumOfRanges = ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
    TILESCOPE_CUPTI(cuptiRangeProfilerGetCounterDataSize, size);
    std::vector<std::uint8_t> image(size.counterDataSize);
    auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    params.pRangeProfilerObject = object_;
    params.counterDataSize = image.size();
    params.pCounterData = image.data();
    TILESCOPE_CUPTI(cuptiRangeProfilerCounterDataImageInitialize, params);
    return image;
  }

  void configure(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& counters, std::size_t ranges) {
    auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    params.pRangeProfilerObject = object_;
    params.configSize = config.size();
    params.pConfig = config.data();
    params.counterDataImageSize = counters.size();
    params.pCounterDataImage = counters.data();
    params.range = CUPTI_UserRange;
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = ranges;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    params.passIndex = 0;
    params.targetNestingLevel = 1;
    TILESCOPE_CUPTI(cuptiRangeProfilerSetConfig, params);
  }

  // Runs one pass; true when all passes are done.
  bool run_pass(const std::function<void(RangeMarker&)>& pass) {
    auto start = TILESCOPE_PARAMS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = object_;
    TILESCOPE_CUPTI(cuptiRangeProfilerStart, start);
    pass(*this);
    auto stop = TILESCOPE_PARAMS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = object_;
    TILESCOPE_CUPTI(cuptiRangeProfilerStop, stop);
    return stop.isAllPassSubmitted != 0;
  }

  void decode() {
    auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    params.pRangeProfilerObject = object_;
    TILESCOPE_CUPTI(cuptiRangeProfilerDecodeData, params);
    if (params.numOfRangeDropped != 0) {
      throw DeviceError(fmt::format("the profiler dropped {} ranges; measure again", params.numOfRangeDropped));
    }
  }

  void push(const std::string& range) override {
    check_cuda(cudaDeviceSynchronize(), "the work before a counted range");
    auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_PushRange_Params);
    params.pRangeProfilerObject = object_;
    params.pRangeName = range.c_str();
    TILESCOPE_CUPTI(cuptiRangeProfilerPushRange, params);
  }

  void pop() override {
    check_cuda(cudaDeviceSynchronize(), "the work of a counted range");
    auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_PopRange_Params);
    params.pRangeProfilerObject = object_;
    TILESCOPE_CUPTI(cuptiRangeProfilerPopRange, params);
  }

 private:
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

}  // namespace

std::string current_chip() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  auto params = TILESCOPE_PARAMS(CUpti_Device_GetChipName_Params);
  params.deviceIndex = static_cast<std::size_t>(device);
  TILESCOPE_CUPTI(cuptiDeviceGetChipName, params);
  return params.pChipName;
}

Preflight preflight() {
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted == cudaErrorInsufficientDriver) {
    return {Readiness::no_driver,
            "no NVIDIA driver (or one too old for this build) is installed, so nothing can be "
            "measured here; run on a machine with a GPU and a driver for CUDA 13"};
  }
  if (counted == cudaErrorNoDevice || (counted == cudaSuccess && devices == 0)) {
    return {Readiness::no_device,
            "no NVIDIA GPU is visible, so nothing can be measured here; check nvidia-smi and "
            "CUDA_VISIBLE_DEVICES"};
  }
  if (counted != cudaSuccess) return {Readiness::failed, fmt::format("CUDA: {}", cudaGetErrorString(counted))};
  try {
    const CUcontext context = current_context();
    initialize_profiler();
    std::vector<std::uint8_t> image;
    const CUptiResult result = read_availability(context, image);
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES) {
      return {Readiness::not_permitted,
              fmt::format("the GPU's counters are not permitted to this user: {}", how_to_permit)};
    }
    check(result, "cuptiProfilerGetCounterAvailability");
    return {Readiness::ready, fmt::format("counters of chip {} can be read", current_chip())};
  } catch (const DeviceError& error) {
    return {Readiness::failed, error.what()};
  }
}

void require_counters() {
  const Preflight state = preflight();
  if (state.readiness != Readiness::ready) throw DeviceError(state.message);
}

struct CounterSession::State {
  CUcontext context = nullptr;
  std::unique_ptr<CuptiHost> host;
  SortedMetrics metrics;
  std::vector<std::uint8_t> config;
  int passes = 0;
};

CounterSession::CounterSession(const std::vector<std::string>& metrics) : state_(std::make_unique<State>()) {
  require_counters();
  state_->context = current_context();
  std::vector<std::uint8_t> availability;
  check(read_availability(state_->context, availability), "cuptiProfilerGetCounterAvailability");
  state_->metrics = sort_metrics(current_chip(), metrics, availability);
  if (state_->metrics.known.empty()) throw DeviceError("none of the counters asked for exists on this chip");
  state_->host = std::make_unique<CuptiHost>(current_chip(), availability);
  if (!state_->host->add(state_->metrics.known))
    throw DeviceError("CUPTI takes these metrics one by one but not together");
  state_->config = state_->host->config_image();
  state_->passes = CuptiHost::passes_of(state_->config);
}

CounterSession::~CounterSession() = default;
CounterSession::CounterSession(CounterSession&&) noexcept = default;
CounterSession& CounterSession::operator=(CounterSession&&) noexcept = default;
int CounterSession::passes() const { return state_->passes; }

CounterResult CounterSession::collect(const std::vector<CounterRange>& ranges) {
  std::vector<std::string> names;
  for (const CounterRange& range : ranges) names.push_back(range.name);
  return collect(names, [&ranges](RangeMarker& marker) {
    for (const CounterRange& range : ranges) {
      if (range.before) range.before();
      marker.push(range.name);
      range.work();
      marker.pop();
    }
  });
}

CounterResult CounterSession::collect(const std::vector<std::string>& ranges,
                                      const std::function<void(RangeMarker&)>& pass) {
  std::vector<const char*> names = c_strings(state_->metrics.known);
  std::vector<std::uint8_t> image;
  {
    RangeProfiler profiler(state_->context);
    image = profiler.counter_image(names, ranges.size());
    profiler.configure(state_->config, image, ranges.size());
    while (!profiler.run_pass(pass)) {
    }
    profiler.decode();
  }
  CounterResult result;
  result.unavailable = state_->metrics.unknown;
  result.passes = state_->passes;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    auto info = TILESCOPE_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
    info.pCounterDataImage = image.data();
    info.counterDataImageSize = image.size();
    info.rangeIndex = i;
    info.rangeDelimiter = "/";
    TILESCOPE_CUPTI(cuptiRangeProfilerCounterDataGetRangeInfo, info);
    std::vector<double> values(names.size());
    auto params = TILESCOPE_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    params.pHostObject = state_->host->get();
    params.pCounterDataImage = image.data();
    params.counterDataImageSize = image.size();
    params.rangeIndex = i;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    params.pMetricValues = values.data();
    TILESCOPE_CUPTI(cuptiProfilerHostEvaluateToGpuValues, params);
    for (std::size_t m = 0; m < names.size(); ++m) result.values[info.rangeName][names[m]] = values[m];
  }
  for (const std::string& range : ranges) {
    if (!result.values.contains(range)) throw DeviceError("the profiler returned no values for range " + range);
  }
  return result;
}

}  // namespace tilescope::validate
