// Plans and profiles, read once a name.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "hardware/derived.h"
#include "predict/point/point.h"

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
};

}  // namespace tilescope
