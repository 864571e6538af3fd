// A library with the names of the driver's functions, for the test of launch_hook.cpp. Each returns a number of its
// own.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

extern "C" {

int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) {
  return 100;
}
int cuLaunchKernel_ptsz(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**) {
  return 101;
}
int cuLaunchKernelEx(const void*, void*, void**, void**) { return 102; }
int cuLaunchCooperativeKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                              void**) {
  return 103;
}
int cuOther() { return 104; }

int cuGetProcAddress(const char* symbol, void** function, int, std::uint64_t flags) {
  const bool of_thread = (flags & 2) != 0;
  void* found = nullptr;
  if (std::strcmp(symbol, "cuLaunchKernel") == 0)
    found = reinterpret_cast<void*>(of_thread ? cuLaunchKernel_ptsz : cuLaunchKernel);
  if (std::strcmp(symbol, "cuLaunchKernelEx") == 0) found = reinterpret_cast<void*>(cuLaunchKernelEx);
  if (std::strcmp(symbol, "cuOther") == 0) found = reinterpret_cast<void*>(cuOther);
  *function = found;
  return found != nullptr ? 0 : 500;
}
int cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags, int* status) {
  if (std::strcmp(symbol, "cuGetProcAddress") == 0) *function = reinterpret_cast<void*>(cuGetProcAddress_v2);
  else if (const int result = cuGetProcAddress(symbol, function, version, flags); result != 0) return result;
  *status = 7;
  return 0;
}

// What this library finds behind itself under its own name: nothing.
int tilescope_probe() { return 1; }
void* tilescope_next_probe() { return dlsym(RTLD_NEXT, "tilescope_probe"); }
}
