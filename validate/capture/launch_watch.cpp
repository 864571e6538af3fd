#include "validate/capture/launch_watch.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cxxabi.h>

#include <cstdlib>
#include <exception>

#include "validate/measure/counters/cupti_call.h"
#include "validate/measure/cuda_check.h"

namespace tilescope::validate {
namespace {

// A function of the driver, found through the runtime because libcuda is not linked.
template <class Function>
Function driver_function(const char* name) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  check_cuda(cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found), name);
  if (found != cudaDriverEntryPointSuccess) throw DeviceError(fmt::format("the driver does not export {}", name));
  return reinterpret_cast<Function>(entry);
}

struct Geometry {
  CUfunction function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, dynamic_smem = 0;
};

template <class Parameters>
Geometry plain_geometry(const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  return {.function = p.f,
          .grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
          .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
          .dynamic_smem = p.sharedMemBytes};
}

template <class Parameters>
Geometry configured_geometry(const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  const CUlaunchConfig& c = *p.config;
  return {.function = p.f,
          .grid = {c.gridDimX, c.gridDimY, c.gridDimZ},
          .block = {c.blockDimX, c.blockDimY, c.blockDimZ},
          .dynamic_smem = c.sharedMemBytes};
}

struct LaunchCall {
  CUpti_CallbackId id;
  Geometry (*geometry)(const void* parameters);
};

constexpr LaunchCall launch_calls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, plain_geometry<cuLaunchKernel_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, plain_geometry<cuLaunchKernel_ptsz_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, plain_geometry<cuLaunchCooperativeKernel_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, plain_geometry<cuLaunchCooperativeKernel_ptsz_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, configured_geometry<cuLaunchKernelEx_params>},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, configured_geometry<cuLaunchKernelEx_ptsz_params>},
};

LaunchFacts facts_of(const Geometry& g) {
  static const auto attribute_of =
      driver_function<CUresult (*)(int*, CUfunction_attribute, CUfunction)>("cuFuncGetAttribute");
  static const auto function_of = driver_function<CUresult (*)(CUfunction*, CUkernel)>("cuKernelGetFunction");
  static const auto occupancy_of =
      driver_function<CUresult (*)(int*, CUfunction, int, std::size_t)>("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  CUfunction function = g.function;
  int probe = 0;
  if (attribute_of(&probe, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS)  // a launch may name a CUkernel
    function_of(&function, reinterpret_cast<CUkernel>(g.function));
  const auto attribute = [&](CUfunction_attribute name) {
    int value = 0;
    if (attribute_of(&value, name, function) != CUDA_SUCCESS) throw DeviceError("cuFuncGetAttribute failed");
    return value;
  };
  LaunchFacts facts;
  facts.grid = {g.grid[0], g.grid[1], g.grid[2]};
  facts.block = {g.block[0], g.block[1], g.block[2]};
  facts.registers_per_thread = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  facts.static_smem = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  facts.dynamic_smem = g.dynamic_smem;
  facts.local_bytes_per_thread = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  int blocks = 0;
  const unsigned threads = g.block[0] * g.block[1] * g.block[2];
  if (occupancy_of(&blocks, function, static_cast<int>(threads), g.dynamic_smem) == CUDA_SUCCESS)
    facts.blocks_per_unit = blocks;
  return facts;
}

std::string demangled(const char* symbol) {
  if (symbol == nullptr) return "unknown";
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  const std::string name = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return name;
}

// During this object's lifetime, `hook` is called before and after each launch, except launches made by `hook` itself.
// Its exceptions must not unwind through the driver, so they are stored and rethrown by finish().
class Subscription {
 public:
  using Hook = std::function<void(bool before, const char* symbol, const Geometry& geometry)>;
  explicit Subscription(Hook hook) : hook_(std::move(hook)) {
    check(cuptiSubscribe(&subscriber_, &Subscription::callback, this), "cuptiSubscribe");
    for (const LaunchCall& call : launch_calls)
      check(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call.id), "cuptiEnableCallback");
  }
  ~Subscription() { cuptiUnsubscribe(subscriber_); }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  void finish() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static void CUPTIAPI callback(void* self, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
    static_cast<Subscription*>(self)->handle(id, *static_cast<const CUpti_CallbackData*>(data));
  }

  void handle(CUpti_CallbackId id, const CUpti_CallbackData& data) {
    if (inside_ || failure_) return;
    inside_ = true;
    try {
      for (const LaunchCall& call : launch_calls)
        if (call.id == id)
          hook_(data.callbackSite == CUPTI_API_ENTER, data.symbolName, call.geometry(data.functionParams));
    } catch (...) {
      failure_ = std::current_exception();
    }
    inside_ = false;
  }

  Hook hook_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool inside_ = false;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<WatchedLaunch> launches_of(const std::function<void()>& work) {
  std::vector<WatchedLaunch> launches;
  Subscription subscription([&](bool before, const char* symbol, const Geometry& geometry) {
    if (before) launches.push_back({demangled(symbol), facts_of(geometry)});
  });
  work();
  check_cuda(cudaDeviceSynchronize(), "the watched work");
  subscription.finish();
  return launches;
}

void around_launches(const std::function<void()>& work, const std::function<void(std::size_t)>& before,
                     const std::function<void(std::size_t)>& after) {
  std::size_t position = 0;
  Subscription subscription([&](bool entering, const char*, const Geometry&) {
    if (entering) before(position);
    else after(position++);
  });
  work();
  subscription.finish();
}

std::string short_name(const std::string& kernel) {
  const std::string whole = kernel.substr(0, kernel.find_first_of("<("));
  const std::size_t start = whole.find_last_of(": ");
  return start == std::string::npos ? whole : whole.substr(start + 1);
}

}  // namespace tilescope::validate
