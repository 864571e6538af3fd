#include "predict/point/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

// What the descriptor adds to the schedule.
void complete(Schedule& schedule, const KernelDescriptor& kernel) {
  for (Axis& axis : schedule.diagram.axes)
    if (const auto size = kernel.sizes.find(axis.size); size != kernel.sizes.end() && !axis.extent)
      axis.extent = size->second.of, axis.per = size->second.per;
  for (Chunking& cut : schedule.chunks)
    for (const Island& island : schedule.islands)
      for (const Loop& loop : island.loops)
        if (kernel.whole_tile_parts && loop.axis == cut.of && loop.partition == Partition::stream && !loop.tile.parts)
          cut.unit = loop.tile;
  for (std::size_t i = 0; i < schedule.islands.size(); ++i)
    for (Stored& stored : schedule.islands[i].stored_as)
      for (const std::string& name : kernel.islands[i].reductions)
        if (name == schedule.diagram.array(stored.result).name || name == schedule.diagram.array(stored.as).name)
          stored.by = Accumulate::reduction;
}

// NAME.steps.zst beside NAME.kernel.yaml.
fs::path steps_file_of(const fs::path& descriptor) {
  const std::string name = descriptor.filename().string();
  constexpr std::string_view ending = "kernel.yaml";
  return descriptor.parent_path() /
         (name.substr(0, name.ends_with(ending) ? name.size() - ending.size() : 0) + "steps.zst");
}

}  // namespace

std::vector<std::pair<std::string, fs::path>> shipped_kernels(const fs::path& kernels_directory) {
  std::vector<std::pair<std::string, fs::path>> found;
  std::error_code ignored;
  for (const auto& folder : fs::directory_iterator(kernels_directory, ignored)) {
    if (!folder.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(folder.path(), ignored)) {
      const std::string file = entry.path().filename().string();
      if (file == "kernel.yaml") found.emplace_back(folder.path().filename().string(), entry.path());
      else if (file.ends_with(".kernel.yaml")) found.emplace_back(file.substr(0, file.size() - 12), entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Plan load_plan_for_kernel(const std::string& name_or_file, const fs::path& data_directory) {
  const auto kernels = shipped_kernels(data_directory / "kernels");
  fs::path file;
  std::vector<std::string> names;
  for (const auto& [name, path] : kernels) {
    names.push_back(name);
    if (name == name_or_file) file = path;
  }
  std::error_code ignored;
  if (file.empty() && fs::is_regular_file(name_or_file, ignored)) file = name_or_file;
  if (file.empty())
    throw InputError(Diagnostic{.path = "--kernel",
                                .message = fmt::format("no kernel or descriptor file '{}'{}", name_or_file,
                                                       did_you_mean(name_or_file, names))});
  Plan plan;
  plan.kernel = load_descriptor(file, data_directory / "models");
  plan.schedule = find_schedule(plan.kernel.schedule_name, data_directory / "models", plan.kernel.diagram_name);
  complete(plan.schedule, plan.kernel);
  plan.steps = std::make_shared<StepPrograms>(steps_file_of(file));
  plan.assumed = false;
  return plan;
}

Plan load_plan_for_schedule(const std::string& name_or_file, const fs::path& data_directory,
                            const std::string& other_diagram) {
  Plan plan;
  plan.schedule = find_schedule(name_or_file, data_directory / "models", other_diagram);
  const fs::path assumed = data_directory / "models" / "implementations" / (plan.schedule.name + ".yaml");
  std::error_code ignored;
  if (!fs::exists(assumed, ignored))
    throw InputError(Diagnostic{
        .file = name_or_file,
        .path = "schedule",
        .message = fmt::format(
            "no implementation is known for schedule '{}'{}", plan.schedule.name,
            did_you_mean(plan.schedule.name, shipped_names(data_directory / "models" / "implementations")))});
  plan.kernel = load_descriptor(assumed, data_directory / "models");
  // A file may use a shipped schedule's name for other islands.
  const auto same = [](const Island& island, const IslandImplementation& how) { return island.name == how.name; };
  if (!std::equal(plan.schedule.islands.begin(), plan.schedule.islands.end(), plan.kernel.islands.begin(),
                  plan.kernel.islands.end(), same))
    throw InputError(Diagnostic{.file = name_or_file,
                                .path = "islands",
                                .message = fmt::format("are not those that {} implements", assumed.string())});
  const Primitives primitives = expand(plan.schedule.diagram);
  for (std::size_t i = 0; i < plan.schedule.islands.size(); ++i)
    plan.operations.push_back(operations_of(plan.schedule, primitives, static_cast<int>(i)));
  return plan;
}

}  // namespace tilescope
