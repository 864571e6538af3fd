// The library as a process loads it, here without CUDA in the process.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <nvtx3/nvToolsExt.h>

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

TEST_CASE("the capture library follows NVTX's ranges without CUDA and without CUPTI") {
  ::setenv("NVTX_INJECTION64_PATH", TILESCOPE_CAPTURE_LIBRARY, 1);
  nvtxInitialize(nullptr);
  CHECK(nvtxRangePushA("outer") == 0);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("a library");
  REQUIRE((domain != nullptr));
  const nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "registered");
  REQUIRE((name != nullptr));
  CHECK(name == nvtxDomainRegisterStringA(domain, "registered"));
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = name;
  CHECK(nvtxDomainRangePushEx(domain, &event) == 1);
  CHECK(nvtxRangePushW(L"wide") == 2);
  CHECK(nvtxRangePop() == 2);
  CHECK(nvtxDomainRangePop(domain) == 1);
  CHECK(nvtxRangePop() == 0);
  CHECK(nvtxRangePop() < 0);
  ::unsetenv("NVTX_INJECTION64_PATH");
}
