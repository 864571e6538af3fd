// Runs the sweeps of beside.cu, a launch a case, and prints the case of each launch; counters come from outside.
#include "driver.h"

int main() {
  constexpr std::size_t flushed = 256 << 20, kept_bytes = 32 << 20;
  const int units = use_device();
  int sweeps = 24, groups = 12;
  CUdeviceptr out = 0, kept = 0, flush = 0, count = 0;
  check(cuMemAlloc(&out, threads * sizeof(float)), "cuMemAlloc");
  check(cuMemAlloc(&kept, kept_bytes), "cuMemAlloc");
  check(cuMemAlloc(&flush, flushed), "cuMemAlloc");
  check(cuMemAlloc(&count, 4), "cuMemAlloc");
  check(cuMemsetD8(kept, 0, kept_bytes), "cuMemset");
  for (const char* loads : {"plain", "last_use"}) {
    const CUmodule module = module_of(loads);
    for (int used : {1024, 2048, 3072, 4096, 5120}) {
      const CUfunction function = kernel_of(module, "beside" + std::to_string(used));
      for (int age : {2, 9, 1 << 20})
        for (int distance : {4, 8, 16, 32, 64, 96}) {
          if (age > 15 && std::string{loads} == "last_use") continue;  // nothing is loaded
          int chunks = distance * groups;
          check(cuMemsetD8(flush, 1, flushed), "cuMemset"), check(cuMemsetD8(count, 0, 4), "cuMemset");
          void* arguments[] = {&used, &age, &sweeps, &kept, &chunks, &groups, &count, &out};
          run(function, units, arguments);
          std::printf("P %s %d %d %d %d %d\n", loads, used, age, distance, groups, units);
        }
    }
  }
  return 0;
}
