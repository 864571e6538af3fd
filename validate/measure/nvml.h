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
  std::optional<Clocks> now() const;     // nullopt when not available
  std::optional<int> processes() const;  // that have the GPU open to compute, this one too; nullopt when not known
  // Energy consumed by the board since the driver was loaded, in J, updated every few tens of milliseconds; nullopt if
  // the GPU has no such counter.
  std::optional<double> energy_j() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace tilescope::validate
