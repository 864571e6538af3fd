#include "kernel/descriptor/kernel_schedule.h"

#include "base/file_cache.h"
#include "base/text.h"

namespace tilescope {

std::shared_ptr<const Schedule> schedule_of_kernel(const KernelDescriptor& kernel,
                                                   const std::filesystem::path& models) {
  static FileCache<Schedule> kept;
  return kept.get(
      join(std::vector{models.string(), kernel.schedule_name, kernel.diagram_name}, "\n"),
      {models / "schedules" / (kernel.schedule_name + ".yaml"), models / "diagrams" / (kernel.diagram_name + ".yaml")},
      [&] { return find_schedule(kernel.schedule_name, models, kernel.diagram_name); });
}

}  // namespace tilescope
