// Programs reach the driver's functions by dlsym, by the driver's own cuGetProcAddress (which they find by dlsym), or
// by linking libcuda. This library answers all three with functions that call the hooks around the driver's.
#include "validate/capture/hook/launch_hook.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tilescope::capture {
namespace {

std::atomic<const LaunchHooks*> hooks = nullptr;

using Find = void* (*)(void*, const char*) noexcept;

Find driver_find() {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
    if (void* found = ::dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Find>(found);
  return nullptr;
}

Find real_find() {
  static std::atomic<Find> found = nullptr;
  Find find = found.load(std::memory_order_relaxed);
  if (find == nullptr) found = find = driver_find();
  return find;
}

// The driver's functions, each for the default stream of the process and of the thread (_ptsz).
enum Call : unsigned { kernel, kernel_thread, configured, configured_thread, cooperative, cooperative_thread, calls };
constexpr const char* call_names[calls] = {
    "cuLaunchKernel",        "cuLaunchKernel_ptsz",       "cuLaunchKernelEx",
    "cuLaunchKernelEx_ptsz", "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz"};
std::atomic<void*> driver_calls[calls];

constexpr int not_found = 500;  // CUDA_ERROR_NOT_FOUND

void* driver_call(Call call) {
  if (void* known = driver_calls[call].load(std::memory_order_relaxed)) return known;
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* found = library != nullptr ? real_find()(library, call_names[call]) : nullptr;
  driver_calls[call] = found;
  return found;
}

template <class Driver>
int around(const HookedLaunch& launch, const Driver& driver) {
  const LaunchHooks* const set = hooks.load(std::memory_order_acquire);
  const bool hooked = set != nullptr && set->before(launch);
  const int result = driver();
  if (hooked) set->after();
  return result;
}

template <Call call>
int launch_kernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void* stream, void** parameters, void** extra) {
  using Driver =
      int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  const auto driver = reinterpret_cast<Driver>(driver_call(call));
  if (driver == nullptr) return not_found;
  return around({function, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, extra, nullptr},
                [&] { return driver(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra); });
}

template <Call call>
int launch_configured(const void* config, void* function, void** parameters, void** extra) {
  using Driver = int (*)(const void*, void*, void**, void**);
  const auto driver = reinterpret_cast<Driver>(driver_call(call));
  if (driver == nullptr) return not_found;
  return around({function, {}, {}, 0, nullptr, parameters, extra, config},
                [&] { return driver(config, function, parameters, extra); });
}

template <Call call>
int launch_cooperative(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, void* stream, void** parameters) {
  using Driver = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**);
  const auto driver = reinterpret_cast<Driver>(driver_call(call));
  if (driver == nullptr) return not_found;
  return around({function, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, nullptr, nullptr},
                [&] { return driver(function, gx, gy, gz, bx, by, bz, shared, stream, parameters); });
}

void* hooked_call(unsigned call) {
  static void* const hooked[calls] = {reinterpret_cast<void*>(launch_kernel<kernel>),
                                      reinterpret_cast<void*>(launch_kernel<kernel_thread>),
                                      reinterpret_cast<void*>(launch_configured<configured>),
                                      reinterpret_cast<void*>(launch_configured<configured_thread>),
                                      reinterpret_cast<void*>(launch_cooperative<cooperative>),
                                      reinterpret_cast<void*>(launch_cooperative<cooperative_thread>)};
  return hooked[call];
}

bool is_own(void* function) {
  Dl_info own{}, other{};
  return ::dladdr(reinterpret_cast<void*>(hooked_call), &own) != 0 && ::dladdr(function, &other) != 0 &&
         own.dli_fbase == other.dli_fbase;
}

int address_of(const char* symbol, void** function, int version, std::uint64_t flags);
int address_and_status(const char* symbol, void** function, int version, std::uint64_t flags, int* status);
std::atomic<void*> driver_address_of, driver_address_and_status;

// What a program gets for a function of the driver that it has found.
void* hooked(std::string_view name, void* driver, bool of_thread, bool with_status) {
  if (driver == nullptr || is_own(driver)) return driver;
  for (unsigned call = 0; call < calls; ++call) {
    if (name != call_names[call]) continue;
    const unsigned meant = of_thread ? call | 1 : call;
    void* none = nullptr;
    driver_calls[meant].compare_exchange_strong(none, driver);
    return hooked_call(meant);
  }
  if (name != "cuGetProcAddress" && name != "cuGetProcAddress_v2") return driver;
  void* none = nullptr;
  (with_status ? driver_address_and_status : driver_address_of).compare_exchange_strong(none, driver);
  return with_status ? reinterpret_cast<void*>(address_and_status) : reinterpret_cast<void*>(address_of);
}

void replace(const char* symbol, void** function, int version, std::uint64_t flags) {
  constexpr std::uint64_t per_thread = 2;   // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
  constexpr int first_with_status = 12000;  // of CUDA: cuGetProcAddress_v2
  if (symbol != nullptr && function != nullptr)
    *function = hooked(symbol, *function, (flags & per_thread) != 0, version >= first_with_status);
}

int address_of(const char* symbol, void** function, int version, std::uint64_t flags) {
  using Driver = int (*)(const char*, void**, int, std::uint64_t);
  const int result = reinterpret_cast<Driver>(driver_address_of.load())(symbol, function, version, flags);
  if (result == 0) replace(symbol, function, version, flags);
  return result;
}

int address_and_status(const char* symbol, void** function, int version, std::uint64_t flags, int* status) {
  using Driver = int (*)(const char*, void**, int, std::uint64_t, int*);
  const auto driver = reinterpret_cast<Driver>(driver_address_and_status.load());
  const int result = driver(symbol, function, version, flags, status);
  if (result == 0) replace(symbol, function, version, flags);
  return result;
}

__attribute__((noinline)) void* find_in_driver(void* handle, const char* name) {
  return hooked(name, real_find()(handle, name), false, std::string_view(name) == "cuGetProcAddress_v2");
}

bool may_be_hooked(const char* name) {
  return name != nullptr && (std::strncmp(name, "cuLaunch", 8) == 0 || std::strncmp(name, "cuGetProcAddress", 16) == 0);
}

}  // namespace
}  // namespace tilescope::capture

using namespace tilescope::capture;

extern "C" {

// Other names: a jump, so that the C library sees who asks (RTLD_NEXT).
__attribute__((visibility("default"))) void* dlsym(void* __restrict handle, const char* __restrict name) noexcept {
  const Find find = real_find();
  if (may_be_hooked(name)) return find_in_driver(handle, name);
  return find(handle, name);
}

__attribute__((visibility("default"))) void tilescope_set_launch_hooks(const LaunchHooks* set) {
  hooks.store(set, std::memory_order_release);
}

// For programs that are linked with libcuda.
__attribute__((visibility("default"))) int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz,
                                                          unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                          void* stream, void** parameters, void** extra) {
  return launch_kernel<kernel>(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
__attribute__((visibility("default"))) int cuLaunchKernel_ptsz(void* function, unsigned gx, unsigned gy, unsigned gz,
                                                               unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                               void* stream, void** parameters, void** extra) {
  return launch_kernel<kernel_thread>(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
__attribute__((visibility("default"))) int cuLaunchKernelEx(const void* config, void* function, void** parameters,
                                                            void** extra) {
  return launch_configured<configured>(config, function, parameters, extra);
}
__attribute__((visibility("default"))) int cuLaunchKernelEx_ptsz(const void* config, void* function, void** parameters,
                                                                 void** extra) {
  return launch_configured<configured_thread>(config, function, parameters, extra);
}
__attribute__((visibility("default"))) int cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy,
                                                                     unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                                                     unsigned shared, void* stream, void** parameters) {
  return launch_cooperative<cooperative>(function, gx, gy, gz, bx, by, bz, shared, stream, parameters);
}
__attribute__((visibility("default"))) int cuLaunchCooperativeKernel_ptsz(void* function, unsigned gx, unsigned gy,
                                                                          unsigned gz, unsigned bx, unsigned by,
                                                                          unsigned bz, unsigned shared, void* stream,
                                                                          void** parameters) {
  return launch_cooperative<cooperative_thread>(function, gx, gy, gz, bx, by, bz, shared, stream, parameters);
}

}  // extern "C"
