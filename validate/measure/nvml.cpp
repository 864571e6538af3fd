#include "validate/measure/nvml.h"

#include <dlfcn.h>

#include <algorithm>

namespace tilescope::validate {
namespace {

// From NVML's documented, stable ABI: all functions return 0 on success.
using Device = struct nvmlDevice_st*;
enum ClockType : int { clock_sm = 1, clock_memory = 2 };
constexpr int sensor_gpu = 0;

struct Reason {
  unsigned long long bit;
  const char* name;
};
constexpr Reason reasons[] = {{0x1, "idle"},        {0x2, "applications_clocks"}, {0x4, "sw_power_cap"},
                              {0x8, "hw_slowdown"}, {0x10, "sync_boost"},         {0x20, "sw_thermal"},
                              {0x40, "hw_thermal"}, {0x80, "hw_power_brake"},     {0x100, "display_clock"}};

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  Device device = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*max_clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*limit)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*throttle)(Device, unsigned long long*) = nullptr;
  int (*ecc)(Device, int*, int*) = nullptr;
  int (*processes)(Device, unsigned*, void*) = nullptr;  // nullptr where an old driver lacks it
  int (*energy)(Device, unsigned long long*) = nullptr;  // nullptr where an old driver lacks it

  template <class Function>
  bool load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }

  bool open(const std::string& pci_bus_id) {
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    int (*init)() = nullptr;
    int (*find)(const char*, Device*) = nullptr;
    const bool complete =
        load(init, "nvmlInit_v2") && load(shutdown, "nvmlShutdown") && load(find, "nvmlDeviceGetHandleByPciBusId_v2") &&
        load(driver, "nvmlSystemGetDriverVersion") && load(clock, "nvmlDeviceGetClockInfo") &&
        load(max_clock, "nvmlDeviceGetMaxClockInfo") && load(power, "nvmlDeviceGetPowerUsage") &&
        load(limit, "nvmlDeviceGetEnforcedPowerLimit") && load(temperature, "nvmlDeviceGetTemperature") &&
        load(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons") && load(ecc, "nvmlDeviceGetEccMode");
    load(energy, "nvmlDeviceGetTotalEnergyConsumption");
    if (!load(processes, "nvmlDeviceGetComputeRunningProcesses_v3"))
      load(processes, "nvmlDeviceGetComputeRunningProcesses");
    return complete && init() == 0 && find(pci_bus_id.c_str(), &device) == 0;
  }
};

Nvml::Nvml(const std::string& pci_bus_id) : library_(std::make_unique<Library>()) {
  if (library_->open(pci_bus_id)) return;
  if (library_->handle != nullptr) dlclose(library_->handle);
  library_.reset();
}

Nvml::~Nvml() {
  if (!library_) return;
  library_->shutdown();
  dlclose(library_->handle);
}

bool Nvml::available() const { return library_ != nullptr; }

std::string Nvml::driver_version() const {
  char text[96] = "";
  if (!library_ || library_->driver(text, sizeof text) != 0) return "";
  return text;
}

double Nvml::max_sm_clock_hz() const {
  unsigned mhz = 0;
  return library_ && library_->max_clock(library_->device, clock_sm, &mhz) == 0 ? mhz * 1e6 : 0;
}

double Nvml::max_memory_clock_hz() const {
  unsigned mhz = 0;
  return library_ && library_->max_clock(library_->device, clock_memory, &mhz) == 0 ? mhz * 1e6 : 0;
}

double Nvml::power_limit_w() const {
  unsigned milliwatts = 0;
  return library_ && library_->limit(library_->device, &milliwatts) == 0 ? milliwatts * 1e-3 : 0;
}

// Asked with room for none, NVML answers with their number.
std::optional<std::int64_t> Nvml::other_processes() const {
  constexpr int success = 0, insufficient_size = 7;
  if (!library_ || library_->processes == nullptr) return std::nullopt;
  unsigned count = 0;
  const int status = library_->processes(library_->device, &count, nullptr);
  if (status != success && status != insufficient_size) return std::nullopt;
  return std::max<std::int64_t>(0, std::int64_t{count} - 1);  // less this one
}

bool Nvml::ecc() const {
  int current = 0, pending = 0;
  return library_ && library_->ecc(library_->device, &current, &pending) == 0 && current != 0;
}

std::optional<Clocks> Nvml::now() const {
  if (!library_) return std::nullopt;
  unsigned sm = 0, memory = 0, milliwatts = 0, celsius = 0;
  unsigned long long active = 0;
  const bool read = library_->clock(library_->device, clock_sm, &sm) == 0 &&
                    library_->clock(library_->device, clock_memory, &memory) == 0 &&
                    library_->power(library_->device, &milliwatts) == 0 &&
                    library_->temperature(library_->device, sensor_gpu, &celsius) == 0 &&
                    library_->throttle(library_->device, &active) == 0;
  if (!read) return std::nullopt;
  Clocks clocks{.sm_hz = sm * 1e6,
                .memory_hz = memory * 1e6,
                .power_w = milliwatts * 1e-3,
                .temperature_c = 1.0 * celsius,
                .throttle = {},
                .other_processes = other_processes()};
  for (const Reason& reason : reasons) {
    if ((active & reason.bit) != 0) clocks.throttle.emplace_back(reason.name);
  }
  return clocks;
}

std::optional<double> Nvml::energy_j() const {
  unsigned long long millijoules = 0;
  if (!library_ || library_->energy == nullptr || library_->energy(library_->device, &millijoules) != 0)
    return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace tilescope::validate
