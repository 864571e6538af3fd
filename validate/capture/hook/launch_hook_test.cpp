// Runs with the library preloaded and a driver that is none.
#include "validate/capture/hook/launch_hook.h"

#include <dlfcn.h>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdint>

using namespace tilescope::capture;

namespace {

HookedLaunch seen;
int before = 0, after = 0;
bool wanted = true;

constexpr LaunchHooks counting{.before =
                                   [](const HookedLaunch& launch) {
                                     seen = launch, ++before;
                                     return wanted;
                                   },
                               .after = [] { ++after; }};

template <class Function>
Function function_of(void* found) {
  REQUIRE(found != nullptr);
  return reinterpret_cast<Function>(found);
}

void set_hooks(const LaunchHooks* hooks) {
  function_of<SetLaunchHooks>(::dlsym(RTLD_DEFAULT, set_launch_hooks_name))(hooks);
  before = after = 0;
}

void* driver() {
  static void* const library = ::dlopen(TILESCOPE_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL);
  REQUIRE_MESSAGE(library != nullptr, ::dlerror());
  return library;
}

using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                       void**);
using Configured = int (*)(const void*, void*, void**, void**);
using AddressOf = int (*)(const char*, void**, int, std::uint64_t, int*);

int launched(Launch launch) {
  int function = 0, stream = 0;
  void* parameters[1] = {nullptr};
  const int result = launch(&function, 1, 2, 3, 4, 5, 6, 7, &stream, parameters, nullptr);
  if (before > 0) {
    CHECK(seen.function == &function);
    CHECK(seen.grid[2] == 3);
    CHECK(seen.block[0] == 4);
    CHECK(seen.dynamic_shared == 7);
    CHECK(seen.stream == &stream);
    CHECK(seen.parameters == parameters);
    CHECK(seen.config == nullptr);
  }
  return result;
}

}  // namespace

TEST_CASE("without hooks a launch goes to the driver") {
  set_hooks(nullptr);
  CHECK(launched(function_of<Launch>(::dlsym(driver(), "cuLaunchKernel"))) == 100);
  CHECK(before == 0);
}

TEST_CASE("hooks stand around launches of functions that dlsym found") {
  set_hooks(&counting);
  CHECK(launched(function_of<Launch>(::dlsym(driver(), "cuLaunchKernel"))) == 100);
  CHECK(before == 1);
  CHECK(after == 1);
  wanted = false;
  CHECK(launched(function_of<Launch>(::dlsym(driver(), "cuLaunchKernel_ptsz"))) == 101);
  wanted = true;
  CHECK(before == 2);
  CHECK(after == 1);
  set_hooks(nullptr);
}

TEST_CASE("hooks stand around launches of functions that the driver itself gave, for either default stream") {
  set_hooks(&counting);
  const auto address_of = function_of<AddressOf>(::dlsym(driver(), "cuGetProcAddress_v2"));
  void* found = nullptr;
  int status = 0;
  CHECK(address_of("cuLaunchKernel", &found, 13000, 0, &status) == 0);
  CHECK(status == 7);
  CHECK(launched(function_of<Launch>(found)) == 100);
  CHECK(address_of("cuLaunchKernel", &found, 13000, 2, &status) == 0);
  CHECK(launched(function_of<Launch>(found)) == 101);
  CHECK(address_of("cuGetProcAddress", &found, 13000, 0, &status) == 0);
  CHECK(function_of<AddressOf>(found)("cuLaunchKernelEx", &found, 13000, 0, &status) == 0);
  const int config = 0;
  CHECK(function_of<Configured>(found)(&config, nullptr, nullptr, nullptr) == 102);
  CHECK(seen.config == &config);
  CHECK(before == 3);
  CHECK(address_of("cuOther", &found, 13000, 0, &status) == 0);
  CHECK(function_of<int (*)()>(found)() == 104);
  CHECK(address_of("cuNone", &found, 13000, 0, &status) == 500);
  CHECK(before == 3);
  set_hooks(nullptr);
}

TEST_CASE("a library that asks for the next function of a name gets the one behind itself") {
  CHECK(function_of<void* (*)()>(::dlsym(driver(), "tilescope_next_probe"))() == nullptr);
}
