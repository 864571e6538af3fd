// The functions of the driver that the library calls. libcuda is there when the library is loaded by it, and is not
// linked, so that the library also loads on a machine without a driver.
#pragma once

#include <cuda.h>

namespace tilescope::capture {

struct Driver {
  decltype(&cuFuncGetAttribute) function_attribute = nullptr;
  decltype(&cuFuncGetModule) function_module = nullptr;
  decltype(&cuFuncGetParamInfo) parameter_info = nullptr;
  decltype(&cuFuncGetName) function_name = nullptr;
  decltype(&cuKernelGetFunction) kernel_function = nullptr;
  decltype(&cuMemGetAddressRange) address_range = nullptr;
  decltype(&cuStreamIsCapturing) stream_capturing = nullptr;
  decltype(&cuDeviceGetCount) device_count = nullptr;
  decltype(&cuDeviceGetName) device_name = nullptr;
  decltype(&cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&cuDeviceTotalMem) device_memory = nullptr;
  decltype(&cuDriverGetVersion) version = nullptr;
  decltype(&cuCtxGetCurrent) current_context = nullptr;
  decltype(&cuCtxGetDevice) context_device = nullptr;
  decltype(&cuCtxSynchronize) synchronize = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuModuleLoadData) load_module = nullptr;
  decltype(&cuModuleGetFunction) module_function = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;

  bool complete() const;
};

// Entries that the driver lacks are null.
const Driver& driver();

}  // namespace tilescope::capture
