#include "tilescope/catalogue.h"

#include "base/data_directory.h"
#include "hardware/profile.h"
#include "predict/point/plan.h"
#include "tilescope/convert.h"

namespace tilescope::api {
namespace {

std::vector<std::string> names_in(const char* folder) {
  return answering([&] { return shipped_names(data_directory() / "models" / folder); });
}

}  // namespace

std::vector<std::string> gpus() {
  return answering([] {
    std::vector<std::string> ids;
    for (const HardwareProfile& profile : list_profiles(data_directory() / "hardware")) ids.push_back(profile.id);
    return ids;
  });
}

std::vector<std::string> kernels() {
  return answering([] {
    std::vector<std::string> names;
    for (const auto& [name, file] : shipped_kernels(data_directory() / "kernels")) names.push_back(name);
    return names;
  });
}

std::vector<std::string> schedules() { return names_in("schedules"); }
std::vector<std::string> diagrams() { return names_in("diagrams"); }
std::vector<std::string> workloads() { return names_in("workloads"); }

}  // namespace tilescope::api
