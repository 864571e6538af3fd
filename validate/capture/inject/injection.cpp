// The library that the driver loads into a process (CUDA_INJECTION64_PATH): callbacks and activity records of CUPTI,
// written by the Recorder. It must not change what the program does: no exception leaves it, and what fails is left
// out.
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include "validate/capture/hook/launch_hook.h"
#include "validate/capture/inject/counting.h"
#include "validate/capture/inject/driver.h"
#include "validate/capture/inject/durations.h"
#include "validate/capture/inject/nvtx_ranges.h"
#include "validate/capture/inject/recorder.h"

namespace tilescope::capture {
namespace {

// True while this thread is inside the library: what the driver does then on the library's behalf is not recorded,
// except loaded modules.
thread_local bool inside = false;
thread_local std::uint64_t current_call = 0;  // of the launch that this thread is in
// Whether this thread is between the hooks of a launch, and whether CUPTI has called back for it.
thread_local bool hooked = false, called_back = false;

template <class Parameters>
LaunchArguments plain_launch(const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  return {.function = p.f,
          .grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
          .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
          .dynamic_shared = p.sharedMemBytes,
          .stream = p.hStream,
          .parameters = p.kernelParams,
          .extra = nullptr};
}

template <class Parameters>
LaunchArguments plain_launch_with_extra(const void* parameters) {
  LaunchArguments a = plain_launch<Parameters>(parameters);
  a.extra = static_cast<const Parameters*>(parameters)->extra;
  return a;
}

template <class Parameters>
LaunchArguments configured_launch(const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  const CUlaunchConfig& c = *p.config;
  LaunchArguments a{.function = p.f,
                    .grid = {c.gridDimX, c.gridDimY, c.gridDimZ},
                    .block = {c.blockDimX, c.blockDimY, c.blockDimZ},
                    .dynamic_shared = c.sharedMemBytes,
                    .stream = c.hStream,
                    .parameters = p.kernelParams,
                    .extra = p.extra};
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    if (c.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& dimension = c.attrs[i].value.clusterDim;
    a.cluster[0] = dimension.x;
    a.cluster[1] = dimension.y;
    a.cluster[2] = dimension.z;
  }
  return a;
}

LaunchArguments hooked_launch(const HookedLaunch& launch) {
  const auto function = static_cast<CUfunction>(launch.function);
  if (launch.config != nullptr) {
    const cuLaunchKernelEx_params p{.config = static_cast<const CUlaunchConfig*>(launch.config),
                                    .f = function,
                                    .kernelParams = launch.parameters,
                                    .extra = launch.extra};
    return configured_launch<cuLaunchKernelEx_params>(&p);
  }
  LaunchArguments a{.function = function,
                    .dynamic_shared = launch.dynamic_shared,
                    .stream = static_cast<CUstream>(launch.stream),
                    .parameters = launch.parameters,
                    .extra = launch.extra};
  std::copy_n(launch.grid, 3, a.grid), std::copy_n(launch.block, 3, a.block);
  return a;
}

struct LaunchCall {
  CUpti_CallbackId id;
  LaunchArguments (*arguments)(const void* parameters);
};

constexpr LaunchCall launch_calls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, plain_launch_with_extra<cuLaunchKernel_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, plain_launch_with_extra<cuLaunchKernel_ptsz_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, configured_launch<cuLaunchKernelEx_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, configured_launch<cuLaunchKernelEx_ptsz_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, plain_launch<cuLaunchCooperativeKernel_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, plain_launch<cuLaunchCooperativeKernel_ptsz_params>},
};

constexpr CUpti_CallbackId module_calls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoad, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary};

constexpr CUpti_CallbackId capture_begins[] = {
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,        CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,     CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz};

constexpr CUpti_CallbackId capture_ends[] = {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,
                                             CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz};

constexpr CUpti_CallbackId resources[] = {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                                          CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                                          CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};

template <std::size_t count>
bool among(const CUpti_CallbackId (&list)[count], CUpti_CallbackId id) {
  for (const CUpti_CallbackId one : list)
    if (one == id) return true;
  return false;
}

void driver_call(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  Recorder& recorder = Recorder::instance();
  const bool enters = data.callbackSite == CUPTI_API_ENTER;
  for (const LaunchCall& call : launch_calls) {
    if (call.id != id) continue;
    LaunchCounting& counting = LaunchCounting::instance();
    if (enters && hooked) {
      called_back = true;
      recorder.launched(data.correlationId);
    } else if (enters) {
      const LaunchArguments arguments = call.arguments(data.functionParams);
      current_call = recorder.call_of(arguments);
      recorder.launched(data.correlationId);
      if (Durations::instance().missed_by_hooks())
        recorder.note("some launches do not pass the preloaded library, so those before may be missing");
      if (!counting.on() || !counting.before(arguments)) Durations::instance().launches(arguments);
    } else {
      counting.after(current_call, data.correlationId);
    }
    return;
  }
  if (enters) return;
  const bool worked =
      data.functionReturnValue != nullptr && *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
  if (among(capture_ends, id)) recorder.stream_capture(false);  // a broken capture ends too
  else if (!worked) return;
  else if (among(capture_begins, id)) recorder.stream_capture(true);
  else if (id == CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled) recorder.tensor_map(data.functionParams);
  else if (among(module_calls, id))  // the first member of each of these calls
    recorder.module_opened(*static_cast<const cuModuleLoad_params*>(data.functionParams)->module);
}

bool before_hooked(const HookedLaunch& launch) {
  Recorder& recorder = Recorder::instance();
  if (inside || hooked || !recorder.active()) return false;
  inside = true;
  try {
    const LaunchArguments arguments = hooked_launch(launch);
    recorder.call_of(arguments);
    Durations::instance().launches(arguments);
    hooked = true, called_back = false;
  } catch (...) {  // out of memory: the record is missing
  }
  inside = false;
  return hooked;
}

void after_hooked() {
  hooked = false;
  if (!called_back && Recorder::instance().active()) Recorder::instance().launched(0);
}

void resource_event(CUpti_CallbackId id, const CUpti_ResourceData& data) {
  Recorder& recorder = Recorder::instance();
  if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED || id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) {
    const auto& module = *static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
    if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) recorder.module_loaded(module);
    else recorder.module_unloading(module);
  } else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    cuptiActivityFlushAll(0);
    LaunchCounting::instance().context_ends(data.context);
  } else {
    const auto& graph = *static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
    if (graph.nodeType != CU_GRAPH_NODE_TYPE_KERNEL) return;
    Durations::instance().graph_made();
    std::uint64_t node = 0, original = 0;
    if (cuptiGetGraphNodeId(graph.node, &node) != CUPTI_SUCCESS) return;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) cuptiGetGraphNodeId(graph.originalNode, &original);
    recorder.graph_node(node, original);
  }
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (!Recorder::instance().active()) return;
  if (inside && domain != CUPTI_CB_DOMAIN_RESOURCE) return;
  const bool was_inside = inside;
  inside = true;
  try {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) driver_call(id, *static_cast<const CUpti_CallbackData*>(data));
    else if (domain == CUPTI_CB_DOMAIN_RESOURCE) resource_event(id, *static_cast<const CUpti_ResourceData*>(data));
  } catch (...) {  // out of memory: the record is missing
  }
  inside = was_inside;
}

// About 2,300 records. Smaller buffers cost each launch more (64 KiB against 4 MiB: 0.5 to 1.1 us on an H100's host);
// of larger ones more is lost when the process ends without its exit handlers.
constexpr std::size_t activity_buffer_bytes = 512 << 10;

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, activity_buffer_bytes));
  *size = *buffer != nullptr ? activity_buffer_bytes : 0;
  *records = 0;
}

void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                               std::size_t valid) {
  Recorder& recorder = Recorder::instance();
  try {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
      if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
        recorder.kernel_ran(*reinterpret_cast<const CUpti_ActivityKernel10*>(record));
    std::size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped != 0)
      recorder.note("CUPTI dropped " + std::to_string(dropped) + " times of kernels");
  } catch (...) {
  }
  std::free(buffer);
}

// A process that ends without its exit handlers (os._exit, a signal) loses what this thread has not fetched yet.
void* deliver_regularly(void*) {
  while (Recorder::instance().active()) {
    ::usleep(static_cast<useconds_t>(Durations::tick_us));
    if (Durations::instance().tick() && Recorder::instance().active()) cuptiActivityFlushAll(0);
  }
  return nullptr;
}

void start_delivery() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals go to the program's threads
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, deliver_regularly, nullptr) == 0) ::pthread_detach(thread);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void at_exit() {
  if (!Recorder::instance().active()) return;  // also in a forked child
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  Recorder::instance().close();
}

CUpti_SubscriberHandle subscriber = nullptr;

void call_back_launches(bool on) {
  for (const LaunchCall& call : launch_calls)
    cuptiEnableCallback(on ? 1 : 0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call.id);
}

// Launches pass the library that `tilescope capture` preloads, where that is in the process.
bool hook_launches() {
  void* const set = ::dlsym(RTLD_DEFAULT, set_launch_hooks_name);
  if (set == nullptr) return false;
  static constexpr LaunchHooks hooks{.before = before_hooked, .after = after_hooked};
  reinterpret_cast<SetLaunchHooks>(set)(&hooks);
  return true;
}

bool subscribe() {
  Recorder& recorder = Recorder::instance();
  const CUptiResult result = cuptiSubscribe(&subscriber, on_callback, nullptr);
  if (result != CUPTI_SUCCESS) {
    recorder.note(result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                      ? "another CUPTI subscriber (a profiler) is in the process; run it without that profiler"
                      : "CUPTI cannot be used in this process, so nothing was recorded");
    return false;
  }
  call_back_launches(true);
  for (const CUpti_CallbackId id : module_calls) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  for (const CUpti_CallbackId id : capture_begins) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  for (const CUpti_CallbackId id : capture_ends) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled);
  for (const CUpti_CallbackId id : resources) cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  const char* durations = std::getenv("TILESCOPE_CAPTURE_DURATIONS");
  if (cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed) != CUPTI_SUCCESS ||
      !Durations::instance().start(durations != nullptr ? durations : "sampled"))
    recorder.note("CUPTI delivers no activity records here, so launches have no times");
  else if (const std::string_view note = Durations::instance().note(); !note.empty()) recorder.note(note);
  return true;
}

void start() {
  const char* directory = std::getenv("TILESCOPE_CAPTURE_DIRECTORY");
  if (directory == nullptr || !driver().complete()) return;
  Recorder& recorder = Recorder::instance();
  if (recorder.active() || !recorder.open(directory)) return;
  std::uint32_t version = 0;
  cuptiGetVersion(&version);
  recorder.process(version);
  ::pthread_atfork(nullptr, nullptr, [] { Recorder::instance().abandon(); });
  if (!subscribe()) return recorder.close();
  const auto asked = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && std::string_view(value) == "1";
  };
  if (asked("TILESCOPE_CAPTURE_COUNTERS")) LaunchCounting::instance().switch_on(asked("TILESCOPE_CAPTURE_COLD"));
  else if (hook_launches()) Durations::instance().hooked(call_back_launches);
  std::atexit(at_exit);
  start_delivery();
}

}  // namespace
}  // namespace tilescope::capture

extern "C" {

// Called by the driver's cuInit. A failure must not end the program, so it returns 1 in any case.
__attribute__((visibility("default"))) int InitializeInjection() {
  try {
    tilescope::capture::start();
  } catch (...) {
  }
  return 1;
}

// Called by NVTX (NVTX_INJECTION64_PATH).
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table) {
  try {
    return tilescope::capture::follow_ranges(get_export_table) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

}  // extern "C"
