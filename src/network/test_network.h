// Configurations from text, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/data_directory.h"
#include "base/error.h"
#include "network/config.h"

namespace tilescope::test_network {

inline const Architectures& known() {
  static const Architectures all = load_architectures(data_directory() / "models/networks/architectures.yaml");
  return all;
}

inline Network network_of(const std::string& text, const std::optional<std::string>& as = {}) {
  const auto file = std::filesystem::temp_directory_path() / "tilescope_network_test.json";
  std::ofstream(file) << text;
  struct Removed {
    std::filesystem::path file;
    ~Removed() { std::filesystem::remove(file); }
  } removed{file};
  return read_network(file, known(), as);
}

// Empty: the configuration is read.
inline std::string error_of(const std::string& text, const std::optional<std::string>& as = {}) {
  try {
    network_of(text, as);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace tilescope::test_network
