// Keys of a launch that its machine code, the launch or the host's code tell: they stand in `facts` of a summary of
// code.
#pragma once

#include <string>
#include <vector>

namespace tilescope {

const std::vector<std::string>& found_of_launch();

}  // namespace tilescope
