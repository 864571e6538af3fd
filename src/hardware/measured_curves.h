// Tests only: the curves that `hardware measure` has recorded on GPUs, validate/records/<gpu>/hardware/*.json.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tilescope {

struct MeasuredCurves {
  std::string gpu, file;  // gpu: the folder's name
  nlohmann::json record;

  // The points of the curves of this name, one after the other.
  std::vector<std::pair<double, double>> points(const std::string& name) const {
    std::vector<std::pair<double, double>> found;
    for (const auto& curve : record.at("curves"))
      if (curve.at("name") == name)
        for (const auto& point : curve.at("points")) found.emplace_back(point.at(0), point.at(1));
    return found;
  }
};

// All records of both GPUs.
inline std::vector<MeasuredCurves> measured_curves() {
  std::vector<MeasuredCurves> all;
  for (const char* gpu : {"h100", "h200"})
    for (const auto& file : std::filesystem::directory_iterator(std::string(TILESCOPE_SOURCE_DIR) +
                                                                "/validate/records/" + gpu + "/hardware"))
      all.push_back({gpu, file.path().string(), nlohmann::json::parse(std::ifstream(file.path()))});
  REQUIRE(all.size() >= 8);
  return all;
}

}  // namespace tilescope
