#include "validate/capture/inject/driver.h"

#include <dlfcn.h>

#include <type_traits>

namespace tilescope::capture {
namespace {

Driver find_driver() {
  Driver found;
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return found;
  const auto find = [library](auto& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(::dlsym(library, name));
  };
  find(found.function_attribute, "cuFuncGetAttribute");
  find(found.function_module, "cuFuncGetModule");
  find(found.parameter_info, "cuFuncGetParamInfo");
  find(found.function_name, "cuFuncGetName");
  find(found.kernel_function, "cuKernelGetFunction");
  find(found.address_range, "cuMemGetAddressRange_v2");
  find(found.stream_capturing, "cuStreamIsCapturing");
  find(found.device_count, "cuDeviceGetCount");
  find(found.device_name, "cuDeviceGetName");
  find(found.device_attribute, "cuDeviceGetAttribute");
  find(found.device_memory, "cuDeviceTotalMem_v2");
  find(found.version, "cuDriverGetVersion");
  find(found.current_context, "cuCtxGetCurrent");
  find(found.context_device, "cuCtxGetDevice");
  find(found.synchronize, "cuCtxSynchronize");
  find(found.allocate, "cuMemAlloc_v2");
  find(found.load_module, "cuModuleLoadData");
  find(found.module_function, "cuModuleGetFunction");
  find(found.launch, "cuLaunchKernel");
  return found;
}

}  // namespace

bool Driver::complete() const {
  return function_attribute != nullptr && function_module != nullptr && parameter_info != nullptr &&
         function_name != nullptr && kernel_function != nullptr && address_range != nullptr &&
         stream_capturing != nullptr && device_count != nullptr && device_name != nullptr &&
         device_attribute != nullptr && device_memory != nullptr && version != nullptr && current_context != nullptr &&
         context_device != nullptr && synchronize != nullptr && allocate != nullptr && load_module != nullptr &&
         module_function != nullptr && launch != nullptr;
}

const Driver& driver() {
  static const Driver found = find_driver();
  return found;
}

}  // namespace tilescope::capture
