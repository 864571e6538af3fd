// The library as a process loads it, here without CUDA in the process.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>

TEST_CASE("the capture library loads, exports its two entries, and does nothing in a process without CUDA") {
  ::setenv("TILESCOPE_CAPTURE_DIRECTORY", "/no/such/directory", 1);
  void* library = ::dlopen(TILESCOPE_CAPTURE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(library != nullptr, ::dlerror());
  const auto initialize = reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
  REQUIRE((initialize != nullptr));
  CHECK(::dlsym(library, "InitializeInjectionNvtx2") != nullptr);
  CHECK(initialize() == 1);
  CHECK(initialize() == 1);
  ::unsetenv("TILESCOPE_CAPTURE_DIRECTORY");
  CHECK(initialize() == 1);
}
