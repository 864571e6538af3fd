#include "predict/point/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "base/checked.h"
#include "base/contains.h"
#include "base/error.h"
#include "base/file_cache.h"
#include "base/files.h"
#include "base/text.h"
#include "kernel/descriptor/kernel_schedule.h"
#include "kernel/descriptor/read_code.h"
#include "predict/point/plan_cache.h"
#include "schedule/folds.h"

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

// A contraction whose result has rows of its first input and columns of its second one: matrix instructions serve it.
bool is_matrix_product(const Diagram& diagram, const Operator& op) {
  if (op.kind != OperatorKind::contraction || op.inputs.size() != 2) return false;
  const Array &a = diagram.array(op.inputs[0]), &b = diagram.array(op.inputs[1]), &c = diagram.array(op.outputs[0]);
  const auto side = [&](const Array& own, const Array& other) {
    return std::any_of(own.axes.begin(), own.axes.end(), [&](AxisId axis) { return c.has(axis) && !other.has(axis); });
  };
  return side(a, b) && side(b, a);
}

// What a prediction assumes about a schedule that models/implementations does not know: matrix instructions for
// products of matrices, FMA for other contractions, operands and results through shared memory.
KernelDescriptor assumed_implementation(const Schedule& schedule) {
  KernelDescriptor kernel;
  kernel.name = kernel.schedule_name = schedule.name;
  kernel.summary = "assumed implementation; no measured kernel behind it";
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows) kernel.masks.push_back(row.value);
  for (const Island& island : schedule.islands) {
    IslandImplementation how;
    how.name = island.name;
    how.stores_log_sum_exp = how.writes_masked_rows = true;
    how.block_order = {GridDimension::q, GridDimension::heads, GridDimension::batch};
    for (const int number : island.operators) {
      const Operator& op = schedule.diagram.operators[static_cast<std::size_t>(number)];
      if (op.kind != OperatorKind::contraction) continue;
      const bool matrices = is_matrix_product(schedule.diagram, op) && how.tensor_path != TensorPath::fma;
      how.tensor_path = matrices ? TensorPath::tensor : TensorPath::fma;
    }
    if (how.uses_tensor_cores()) how.mma = {.m = 16, .n = 8, .k = 16};
    how.output_through_smem = how.uses_tensor_cores();
    kernel.islands.push_back(std::move(how));
  }
  return kernel;
}

// The implementation of that name in models/implementations.
KernelDescriptor shipped_implementation(const Schedule& schedule, const fs::path& file, const std::string& given,
                                        const fs::path& models_directory) {
  KernelDescriptor kernel = load_descriptor(file, models_directory);
  // A file may use a shipped schedule's name for other islands.
  const auto same = [](const Island& island, const IslandImplementation& how) { return island.name == how.name; };
  if (!std::equal(schedule.islands.begin(), schedule.islands.end(), kernel.islands.begin(), kernel.islands.end(), same))
    throw InputError(Diagnostic{
        .file = given, .path = "islands", .message = fmt::format("are not those that {} implements", file.string())});
  return kernel;
}

ArrayTimes loads_of(const Schedule& schedule, const Island& island) {
  ArrayTimes times;
  for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a)
    times.loaded[a] = schedule.reads(island, static_cast<ArrayId>(static_cast<int>(a)));
  return times;
}

ArrayTimes times_of(const Schedule& schedule, const Primitives& primitives, const Island& island) {
  ArrayTimes times = loads_of(schedule, island);
  for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a) {
    const auto id = static_cast<ArrayId>(static_cast<int>(a));
    const Stored how = schedule.how_stored(island, id);
    const auto made = primitives.diagram.find_array(schedule.diagram.array(how.result).name);
    if (!made) continue;
    for (const AxisId axis : awaited_axes(primitives, island, *made))
      times.awaits[a] |= std::uint32_t{1} << index(axis);
    const int producer = primitives.producer(*made);
    if (producer < 0 || how.zeroed || how.as != how.result || !schedule.writes(island, id)) continue;
    const auto& folded = primitives.list[static_cast<std::size_t>(producer)].folded;
    times.computed_again[a] = std::none_of(folded.begin(), folded.end(), [&](AxisId axis) {
      return comes_back(schedule.diagram, island, primitives.array(*made), axis);
    });
  }
  return times;
}

bool same_content(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  const bool exists = fs::is_regular_file(a, ignored);
  if (exists != fs::is_regular_file(b, ignored)) return false;
  return !exists || fs::equivalent(a, b, ignored) || read_file(a) == read_file(b);
}

// The file is that of the shipped kernel whose name it states, with the same machine code beside it.
bool is_shipped(const fs::path& file, const std::string& kernel, const fs::path& data_directory) {
  for (const auto& [name, own] : shipped_kernels(data_directory / "kernels"))
    if (name == kernel)
      return same_content(file, own) && same_content(reading::code_file_of(file), reading::code_file_of(own)) &&
             same_content(steps_file_of(file), steps_file_of(own));
  return false;
}

Plan plan_of_kernel(const fs::path& file, const fs::path& data_directory) {
  Plan plan;
  plan.kernel = load_descriptor(file, data_directory / "models");
  plan.schedule = *schedule_of_kernel(plan.kernel, data_directory / "models");
  complete(plan.schedule, plan.kernel);
  plan.steps = plan.kernel.program.empty() ? std::make_shared<StepPrograms>(steps_file_of(file))
                                           : std::make_shared<StepPrograms>(file, plan.kernel.program);
  plan.assumed = false;
  plan.shipped = is_shipped(file, plan.kernel.name, data_directory);
  for (const Island& island : plan.schedule.islands) plan.times.push_back(loads_of(plan.schedule, island));
  return plan;
}

Plan plan_of_schedule(const std::string& name_or_file, const fs::path& data_directory,
                      const std::string& other_diagram) {
  Plan plan;
  plan.steps = std::make_shared<StepPrograms>(fs::path{});
  plan.schedule = find_schedule(name_or_file, data_directory / "models", other_diagram);
  const fs::path assumed = data_directory / "models" / "implementations" / (plan.schedule.name + ".yaml");
  std::error_code ignored;
  plan.kernel = fs::exists(assumed, ignored)
                    ? shipped_implementation(plan.schedule, assumed, name_or_file, data_directory / "models")
                    : assumed_implementation(plan.schedule);
  const Primitives primitives = expand(plan.schedule.diagram);
  for (std::size_t i = 0; i < plan.schedule.islands.size(); ++i) {
    plan.operations.push_back(operations_of(plan.schedule, primitives, static_cast<int>(i)));
    plan.times.push_back(times_of(plan.schedule, primitives, plan.schedule.islands[i]));
  }
  return plan;
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

namespace {

// Where a shipped kernel's descriptor was found before, if it is still there: looking through all folders takes longer
// than most predictions.
class KnownKernels {
 public:
  std::optional<fs::path> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(key);
    std::error_code ignored;
    if (found == files_.end() || !fs::is_regular_file(found->second, ignored)) return std::nullopt;
    return found->second;
  }
  void keep(const std::string& key, const fs::path& file) {
    const std::lock_guard lock(mutex_);
    files_[key] = file;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, fs::path> files_;
};

}  // namespace

Plan load_plan_for_kernel(const std::string& name_or_file, const fs::path& data_directory) {
  static KnownKernels known;
  const std::string key = data_directory.string() + "\n" + name_or_file;
  if (const auto file = known.find(key)) return *shipped_plan(name_or_file, *file, data_directory);
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
  if (!contains(names, name_or_file)) return plan_of_kernel(file, data_directory);
  known.keep(key, file);
  return *shipped_plan(name_or_file, file, data_directory);
}

std::shared_ptr<const Plan> shipped_plan(const std::string& kernel, const fs::path& descriptor,
                                         const fs::path& data_directory) {
  static FileCache<Plan> kept;
  return kept.get(data_directory.string() + "\n" + kernel,
                  {descriptor, reading::code_file_of(descriptor), steps_file_of(descriptor)},
                  [&] { return plan_of_kernel(descriptor, data_directory); });
}

Plan load_plan_for_schedule(const std::string& name_or_file, const fs::path& data_directory,
                            const std::string& other_diagram) {
  static FileCache<Plan> kept;
  const fs::path models = data_directory / "models";
  const bool shipped = contains(shipped_names(models / "schedules"), name_or_file) &&
                       (other_diagram.empty() || contains(shipped_names(models / "diagrams"), other_diagram));
  if (!shipped) return plan_of_schedule(name_or_file, data_directory, other_diagram);
  return *kept.get(join(std::vector{data_directory.string(), name_or_file, other_diagram}, "\n"),
                   {models / "schedules" / (name_or_file + ".yaml"), models / "diagrams" / (other_diagram + ".yaml"),
                    models / "implementations" / (name_or_file + ".yaml")},
                   [&] { return plan_of_schedule(name_or_file, data_directory, other_diagram); });
}

}  // namespace tilescope
