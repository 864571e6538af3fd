// Runs the sweeps of sweep.cu, a launch a case, and prints the case of each launch; counters come from outside:
//   g++ -std=c++20 -O2 -o launch launch.cpp -lcuda
//   ncu --cache-control none --csv --metrics dram__bytes_read.sum,dram__bytes_write.sum ./launch
#include <cuda.h>

#include <cstdio>
#include <string>

#include "driver.h"

int main() {
  constexpr int threads = 128, shared_bytes = 197 << 10;  // one block an SM, and little L1
  CUdevice device = 0;
  CUcontext context = nullptr;
  int sweeps = 24, units = 0;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "number of SMs");
  CUdeviceptr out = 0;
  check(cuMemAlloc(&out, threads * sizeof(float)), "cuMemAlloc");
  for (const char* loads : {"plain", "last_use"}) {
    CUmodule module = nullptr;
    check(cuModuleLoad(&module, (std::string{loads} + ".cubin").c_str()), loads);
    for (int used : {1024, 2048, 3072, 4096, 5120}) {
      CUfunction function = nullptr;
      check(cuModuleGetFunction(&function, module, ("sweep" + std::to_string(used)).c_str()), "sweep");
      check(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes),
            "shared memory");
      for (int age : {2, 4, 6, 9, 12, 15})
        for (int apart : {0, 1}) {
          void* arguments[] = {&used, &age, &sweeps, &apart, &out};
          check(cuLaunchKernel(function, static_cast<unsigned>(units), 1, 1, threads, 1, 1, shared_bytes, nullptr,
                               arguments, nullptr),
                "launch");
          check(cuCtxSynchronize(), "sweep");
          std::printf("%s used=%d age=%d apart=%d blocks=%d sweeps=%d\n", loads, used, age, apart, units, sweeps);
        }
    }
  }
  return 0;
}
