// Clocks, power and temperature through NVML, loaded at run time so that nothing links to the driver.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "records/record.h"

namespace tilescope::validate {

class Nvml {
 public:
  // For the GPU with this PCI bus id ("0000:01:00.0"). available() is false when the library or GPU is not found.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool available() const;
  std::string driver_version() const;  // "" when unknown
  double max_sm_clock_hz() const;      // 0 when unknown, also below
  double max_memory_clock_hz() const;
  double power_limit_w() const;
  bool ecc() const;
  std::optional<Clocks> now() const;  // nullopt when not available
  // That compute on the GPU beside this one, which must; nullopt: not known. A container may hide those of others.
  std::optional<std::int64_t> other_processes() const;
  // Energy consumed by the board since the driver was loaded, in J, updated every few tens of milliseconds; nullopt if
  // the GPU has no such counter.
  std::optional<double> energy_j() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace tilescope::validate
