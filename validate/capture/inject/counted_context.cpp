#include "validate/capture/inject/counted_context.h"

#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <cmath>

#include "validate/capture/inject/driver.h"
#include "validate/capture/inject/metric_groups.h"
#include "validate/capture/inject/recorder.h"

namespace tilescope::capture {
namespace {

using validate::check;

void check_driver(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) throw DeviceError(fmt::format("{} failed with CUDA error {}", call, int(result)));
}

std::vector<std::uint8_t> availability_of(CUcontext context) {
  auto params = TILESCOPE_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
  params.ctx = context;
  CUptiResult result = cuptiProfilerGetCounterAvailability(&params);
  std::vector<std::uint8_t> image;
  if (result == CUPTI_SUCCESS) {
    image.resize(params.counterAvailabilityImageSize);
    params.pCounterAvailabilityImage = image.data();
    result = cuptiProfilerGetCounterAvailability(&params);
    image.resize(params.counterAvailabilityImageSize);
  }
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES || result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
    throw DeviceError(
        "counters are not permitted to this user; run as root, give the container CAP_SYS_ADMIN, or load the driver "
        "with NVreg_RestrictProfilingToAdminUsers=0");
  check(result, "cuptiProfilerGetCounterAvailability");
  return image;
}

std::string chip_of_current_context() {
  CUdevice device = 0;
  check_driver(driver().context_device(&device), "cuCtxGetDevice");
  auto params = TILESCOPE_PARAMS(CUpti_Device_GetChipName_Params);
  params.deviceIndex = static_cast<std::size_t>(device);
  TILESCOPE_CUPTI(cuptiDeviceGetChipName, params);
  return params.pChipName;
}

// Each thread reads 16 bytes a step; the sum is stored only if it has a value that no buffer of zeros gives.
constexpr const char* read_code = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry tilescope_read_through(.param .u64 start, .param .u64 bytes)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %d<8>;
  ld.param.u64 %d0, [start];
  ld.param.u64 %d1, [bytes];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mad.lo.u32 %r4, %r0, %r1, %r2;
  mul.wide.u32 %d2, %r4, 16;
  mul.lo.u32 %r5, %r1, %r3;
  mul.wide.u32 %d3, %r5, 16;
  mov.u32 %r6, 0;
LOOP:
  setp.ge.u64 %p0, %d2, %d1;
  @%p0 bra DONE;
  add.u64 %d4, %d0, %d2;
  ld.global.cg.v4.u32 {%r7, %r8, %r9, %r10}, [%d4];
  xor.b32 %r6, %r6, %r7;
  xor.b32 %r6, %r6, %r8;
  xor.b32 %r6, %r6, %r9;
  xor.b32 %r6, %r6, %r10;
  add.u64 %d2, %d2, %d3;
  bra LOOP;
DONE:
  setp.ne.u32 %p1, %r6, 0x5a17c0de;
  @%p1 ret;
  st.global.u32 [%d0], %r6;
  ret;
}
)";

}  // namespace

CountedContext::CountedContext(CUcontext context) : context_(context) {
  auto initialize = TILESCOPE_PARAMS(CUpti_Profiler_Initialize_Params);
  TILESCOPE_CUPTI(cuptiProfilerInitialize, initialize);
  const std::vector<std::uint8_t> availability = availability_of(context);
  const std::string chip = chip_of_current_context();
  const std::vector<MetricGroup> found = metric_groups(chip, availability);
  if (found.empty()) throw DeviceError("CUPTI has no counters for chip " + chip);
  for (const MetricGroup& group : found) add_group(chip, availability, group.name, group.metrics);
}

void CountedContext::add_group(const std::string& chip, const std::vector<std::uint8_t>& availability,
                               const std::string& name, const std::vector<std::string>& metrics) {
  auto group = std::make_unique<Group>();
  group->name = name;
  group->metrics = metrics;
  for (const std::string& metric : group->metrics) group->names.push_back(metric.c_str());
  group->host = std::make_unique<validate::CuptiHost>(chip, availability);
  if (!group->host->add(metrics)) throw DeviceError("CUPTI takes these metrics one by one but not together");
  group->config = group->host->config_image();
  groups_.push_back(std::move(group));
}

bool CountedContext::prepare_read() {
  read_prepared_ = true;
  CUdevice device = 0;
  int l2 = 0;
  CUmodule module = nullptr;
  if (driver().context_device(&device) != CUDA_SUCCESS ||
      driver().device_attribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device) != CUDA_SUCCESS || l2 <= 0)
    return false;
  const std::uint64_t bytes = 4 * static_cast<std::uint64_t>(l2);
  if (driver().load_module(&module, read_code) != CUDA_SUCCESS ||
      driver().module_function(&read_kernel_, module, "tilescope_read_through") != CUDA_SUCCESS ||
      driver().allocate(&buffer_, bytes) != CUDA_SUCCESS)
    return false;
  buffer_bytes_ = bytes / 16 * 16;
  return true;
}

std::uint64_t CountedContext::read_through() {
  if (!read_prepared_ && !prepare_read())
    Recorder::instance().note("the L2 is not read through before counted launches: no memory for the buffer");
  if (buffer_bytes_ == 0) return 0;
  void* parameters[] = {&buffer_, &buffer_bytes_};
  check_driver(driver().launch(read_kernel_, 1024, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr), "cuLaunchKernel");
  return buffer_bytes_;
}

// A profiler object collects one group: with a second group it drops the range (CUPTI 13.0).
void CountedContext::enable(Group& group) {
  auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_Enable_Params);
  params.ctx = context_;
  TILESCOPE_CUPTI(cuptiRangeProfilerEnable, params);
  profiler_ = params.pRangeProfilerObject;
  auto size = TILESCOPE_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
  size.pRangeProfilerObject = profiler_;
  size.pMetricNames = group.names.data();
  size.numMetrics = group.names.size();
  size.maxNumOfRanges = 1;
  size.maxNumRangeTreeNodes = 1;
  TILESCOPE_CUPTI(cuptiRangeProfilerGetCounterDataSize, size);
  group.values.assign(size.counterDataSize, 0);
  enabled_ = &group;
}

// Makes room for one range.
void CountedContext::clear(Group& group) {
  auto image = TILESCOPE_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  image.pRangeProfilerObject = profiler_;
  image.counterDataSize = group.values.size();
  image.pCounterData = group.values.data();
  TILESCOPE_CUPTI(cuptiRangeProfilerCounterDataImageInitialize, image);
}

void CountedContext::rest() {
  if (enabled_ == nullptr) return;
  enabled_ = nullptr;
  auto params = TILESCOPE_PARAMS(CUpti_RangeProfiler_Disable_Params);
  params.pRangeProfilerObject = profiler_;
  TILESCOPE_CUPTI(cuptiRangeProfilerDisable, params);
}

void CountedContext::begin(std::size_t place) {
  Group& group = *groups_[place];
  check_driver(driver().synchronize(), "cuCtxSynchronize");
  if (enabled_ != &group) {
    rest();
    enable(group);
  }
  clear(group);
  auto config = TILESCOPE_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
  config.pRangeProfilerObject = profiler_;
  config.configSize = group.config.size();
  config.pConfig = group.config.data();
  config.counterDataImageSize = group.values.size();
  config.pCounterDataImage = group.values.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = 1;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.passIndex = 0;
  config.targetNestingLevel = 1;
  TILESCOPE_CUPTI(cuptiRangeProfilerSetConfig, config);
  auto start = TILESCOPE_PARAMS(CUpti_RangeProfiler_Start_Params);
  start.pRangeProfilerObject = profiler_;
  TILESCOPE_CUPTI(cuptiRangeProfilerStart, start);
  auto push = TILESCOPE_PARAMS(CUpti_RangeProfiler_PushRange_Params);
  push.pRangeProfilerObject = profiler_;
  push.pRangeName = "launch";
  TILESCOPE_CUPTI(cuptiRangeProfilerPushRange, push);
}

std::vector<std::pair<std::string, double>> CountedContext::end(std::size_t place) {
  Group& group = *groups_[place];
  check_driver(driver().synchronize(), "cuCtxSynchronize");
  auto pop = TILESCOPE_PARAMS(CUpti_RangeProfiler_PopRange_Params);
  pop.pRangeProfilerObject = profiler_;
  TILESCOPE_CUPTI(cuptiRangeProfilerPopRange, pop);
  auto stop = TILESCOPE_PARAMS(CUpti_RangeProfiler_Stop_Params);
  stop.pRangeProfilerObject = profiler_;
  TILESCOPE_CUPTI(cuptiRangeProfilerStop, stop);
  auto decode = TILESCOPE_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
  decode.pRangeProfilerObject = profiler_;
  TILESCOPE_CUPTI(cuptiRangeProfilerDecodeData, decode);
  if (decode.numOfRangeDropped != 0) return {};
  std::vector<double> numbers(group.names.size());
  auto evaluate = TILESCOPE_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  evaluate.pHostObject = group.host->get();
  evaluate.pCounterDataImage = group.values.data();
  evaluate.counterDataImageSize = group.values.size();
  evaluate.rangeIndex = 0;
  evaluate.ppMetricNames = group.names.data();
  evaluate.numMetrics = group.names.size();
  evaluate.pMetricValues = numbers.data();
  TILESCOPE_CUPTI(cuptiProfilerHostEvaluateToGpuValues, evaluate);
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (std::isfinite(numbers[i])) values.emplace_back(group.metrics[i], numbers[i]);
  return values;
}

}  // namespace tilescope::capture
