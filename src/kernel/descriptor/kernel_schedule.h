// The schedule of a descriptor. Kernels share schedules: each is read once a process, with the diagram that it is put
// on.
#pragma once

#include <filesystem>
#include <memory>

#include "kernel/descriptor/descriptor.h"

namespace tilescope {

std::shared_ptr<const Schedule> schedule_of_kernel(const KernelDescriptor& kernel, const std::filesystem::path& models);

}  // namespace tilescope
