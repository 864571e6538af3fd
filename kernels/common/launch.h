// Builds a Launch from a __global__ function and its parameter struct.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <utility>

#include "kernel_api.h"

namespace tilescope::kernels {

struct LaunchShape {
  dim3 grid;
  unsigned threads = 0;
  int dynamic_smem_bytes = 0;
  // Blocks may become resident once every block of the previous launch has executed griddepcontrol.launch_dependents.
  // Its results are visible only after griddepcontrol.wait (programmatic dependent launch, sm_90).
  bool early = false;
};

// Raises the function's shared-memory limit, asks the runtime for its attributes and occupancy. DeviceError when there
// is no device, it lacks the shared memory, or the machine code does not fit it.
Launch describe_launch(std::string island, const void* function, const LaunchShape& shape);

// An attribute of the current device. Without a device: DeviceError, which names the caller `who`.
int device_attribute(const std::string& who, cudaDeviceAttr attribute);

// Enqueues `function` with `parameters`; DeviceError on a launch error.
void launch_raw(const std::string& island, const void* function, const LaunchShape& shape, void* parameters,
                void* stream);

template <class Parameters>
Launch make_launch(std::string island, const void* function, const LaunchShape& shape, const Parameters& parameters) {
  Launch launch = describe_launch(std::move(island), function, shape);
  launch.enqueue = [name = launch.island, function, shape, copy = Parameters(parameters)](void* stream) mutable {
    launch_raw(name, function, shape, &copy, stream);
  };
  return launch;
}

}  // namespace tilescope::kernels
