// Plans and profiles, read once a name.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "hardware/derived.h"
#include "hardware/unit_groups.h"
#include "predict/point/point.h"
#include "records/record.h"

namespace tilescope {

struct Catalogue {
  std::filesystem::path data_directory;
  std::map<std::string, Plan> plans;
  std::map<std::string, HardwareProfile> profiles;
  RatesFrom rates = RatesFrom::stated;
  std::optional<ProfileCatalogue> completed = {};

  const Plan& plan(const std::string& kernel) {
    auto found = plans.find(kernel);
    if (found == plans.end()) found = plans.emplace(kernel, load_plan_for_kernel(kernel, data_directory)).first;
    return found->second;
  }
  const HardwareProfile& profile(const std::string& id) {
    auto found = profiles.find(id);
    if (!completed) completed.emplace(data_directory / "hardware");
    if (found == profiles.end()) found = profiles.emplace(id, completed->find(id, rates)).first;
    return found->second;
  }
  // The profile of the GPU that measured: boards of one GPU differ in which SMs lie on which side of the L2. Throws
  // InputError where the groups are not those of such a GPU.
  const HardwareProfile& profile(const validate::Record& record) {
    const validate::Environment& environment = record.environment;
    const HardwareProfile& gpu = profile(environment.hardware);
    if (environment.l2_groups.empty() || !gpu.l2_groups || rates != RatesFrom::stated) return gpu;
    const std::string id = environment.hardware + ": " + environment.l2_groups;
    const auto found = profiles.find(id);
    if (found != profiles.end()) return found->second;
    const std::vector<UnitGroup> groups =
        parse_unit_groups(environment.l2_groups, gpu.units.value, gpu.l2_partitions ? gpu.l2_partitions->value : 1);
    if (groups.empty())
      throw InputError(Diagnostic{.file = record.file,
                                  .path = "environment.l2_groups",
                                  .message = fmt::format("{}; {} has {} units, found {}", unit_groups_rule, gpu.id,
                                                         gpu.units.value, shown_text(environment.l2_groups))});
    HardwareProfile own = gpu;
    own.l2_groups->value = groups;
    return profiles.emplace(id, std::move(own)).first->second;
  }
};

}  // namespace tilescope
