// What the programs of this folder ask of the CUDA driver; a call that fails ends them.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* message = nullptr;
  cuGetErrorString(result, &message);
  std::fprintf(stderr, "%s: %s\n", what, message);
  std::exit(3);
}

constexpr int threads = 128, shared_bytes = 197 << 10;  // of a block: one block an SM, and little L1

// Makes the first device current. Its number of SMs.
inline int use_device() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  int units = 0;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "number of SMs");
  return units;
}

inline CUmodule module_of(const std::string& loads) {
  CUmodule module = nullptr;
  check(cuModuleLoad(&module, (loads + ".cubin").c_str()), loads.c_str());
  return module;
}

inline CUfunction kernel_of(CUmodule module, const std::string& name) {
  CUfunction function = nullptr;
  check(cuModuleGetFunction(&function, module, name.c_str()), name.c_str());
  check(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes), "shared memory");
  return function;
}

// Launches a block on each SM and waits for its end.
inline void run(CUfunction function, int units, void** arguments) {
  check(cuLaunchKernel(function, static_cast<unsigned>(units), 1, 1, threads, 1, 1, shared_bytes, nullptr, arguments,
                       nullptr),
        "launch");
  check(cuCtxSynchronize(), "sweep");
}
