// CUDA runtime errors as DeviceError.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/error.h"

namespace tilescope::validate {

// `what` names the call or the work that was being waited for.
inline void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it does not end the context
    throw DeviceMemoryError(std::string(what) + " failed: the GPU has less memory free than this point needs");
  }
  throw DeviceError(std::string(what) + " failed: " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error));
}

}  // namespace tilescope::validate
