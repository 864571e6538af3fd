// Runs the sweeps of sweep.cu, a launch a case, and prints the case of each launch; counters come from outside:
//   g++ -std=c++20 -O2 -o launch launch.cpp -lcuda
//   ncu --cache-control none --csv --metrics dram__bytes_read.sum,dram__bytes_write.sum ./launch
#include "driver.h"

int main() {
  const int units = use_device();
  int sweeps = 24;
  CUdeviceptr out = 0;
  check(cuMemAlloc(&out, threads * sizeof(float)), "cuMemAlloc");
  for (const char* loads : {"plain", "last_use"}) {
    const CUmodule module = module_of(loads);
    for (int used : {1024, 2048, 3072, 4096, 5120}) {
      const CUfunction function = kernel_of(module, "sweep" + std::to_string(used));
      for (int age : {2, 4, 6, 9, 12, 15})
        for (int apart : {0, 1}) {
          void* arguments[] = {&used, &age, &sweeps, &apart, &out};
          run(function, units, arguments);
          std::printf("%s used=%d age=%d apart=%d blocks=%d sweeps=%d\n", loads, used, age, apart, units, sweeps);
        }
    }
  }
  return 0;
}
