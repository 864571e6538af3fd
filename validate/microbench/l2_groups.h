// Which SMs of this very device lie on which side of the L2: boards of one GPU differ in it.
#pragma once

#include <string>

namespace tilescope::validate {

// The groups of SMs as in a profile's `levels.l2.groups`, in the order in which a launch fills them: "8a 16b". Takes
// under a second. Empty: the GPU has too little shared memory to keep one block on each SM. units: SMs of the device.
// Throws DeviceError.
std::string l2_groups_of_gpu(int units);

}  // namespace tilescope::validate
