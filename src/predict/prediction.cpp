#include "predict/prediction.h"

namespace tilescope {

std::int64_t Work::fma_flop() const { return 2 * pipes[1] + pipes[2] + pipes[3]; }

std::string to_string(Boundary boundary) {
  static const std::array<std::string, boundary_count> names{"hbm", "l2", "smem", "register"};
  return names[static_cast<std::size_t>(boundary)];
}

std::string to_string(Direction direction) { return direction == Direction::read ? "read" : "write"; }

std::string to_string(Resource resource) {
  static const std::array<std::string, resource_count> names{"hbm", "l2", "smem", "tensor", "xu", "fma"};
  return names[static_cast<std::size_t>(resource)];
}

std::string to_string(Lever lever) {
  static const std::array<std::string, lever_count> names{"hbm", "l2",  "smem",    "tensor", "xu",
                                                          "fma", "alu", "latency", "power"};
  return names[static_cast<std::size_t>(lever)];
}

}  // namespace tilescope
