// Runs the sweeps of beside.cu, a launch a case, and prints the case of each launch; counters come from outside.
#include <cuda.h>

#include <cstdio>
#include <string>

#include "driver.h"

int main() {
  constexpr int threads = 128, shared_bytes = 197 << 10;  // one block an SM, and little L1
  constexpr std::size_t flushed = 256 << 20, kept_bytes = 32 << 20;
  CUdevice device = 0;
  CUcontext context = nullptr;
  int sweeps = 24, units = 0, groups = 12;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "number of SMs");
  CUdeviceptr out = 0, kept = 0, flush = 0, count = 0;
  check(cuMemAlloc(&out, threads * sizeof(float)), "cuMemAlloc");
  check(cuMemAlloc(&kept, kept_bytes), "cuMemAlloc");
  check(cuMemAlloc(&flush, flushed), "cuMemAlloc");
  check(cuMemAlloc(&count, 4), "cuMemAlloc");
  check(cuMemsetD8(kept, 0, kept_bytes), "cuMemset");
  for (const char* loads : {"plain", "last_use"}) {
    CUmodule module = nullptr;
    check(cuModuleLoad(&module, (std::string{loads} + ".cubin").c_str()), loads);
    for (int used : {1024, 2048, 3072, 4096, 5120}) {
      CUfunction function = nullptr;
      check(cuModuleGetFunction(&function, module, ("beside" + std::to_string(used)).c_str()), "beside");
      check(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes),
            "shared memory");
      for (int age : {2, 9, 1 << 20})
        for (int distance : {4, 8, 16, 32, 64, 96}) {
          if (age > 15 && std::string{loads} == "last_use") continue;  // nothing is loaded
          int chunks = distance * groups;
          check(cuMemsetD8(flush, 1, flushed), "cuMemset"), check(cuMemsetD8(count, 0, 4), "cuMemset");
          void* arguments[] = {&used, &age, &sweeps, &kept, &chunks, &groups, &count, &out};
          check(cuLaunchKernel(function, static_cast<unsigned>(units), 1, 1, threads, 1, 1, shared_bytes, nullptr,
                               arguments, nullptr),
                "launch");
          check(cuCtxSynchronize(), "sweep");
          std::printf("P %s %d %d %d %d %d\n", loads, used, age, distance, groups, units);
        }
    }
  }
  return 0;
}
