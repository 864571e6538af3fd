// Internal to the descriptor's reader: the summary of a kernel's machine code beside its descriptor.
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "config/reader.h"
#include "kernel/descriptor/instance_code.h"

namespace tilescope::reading {

// Where the summary of a descriptor's machine code would be: NAME.code.json beside NAME.kernel.yaml. Empty: the file's
// name is no descriptor's.
std::filesystem::path code_file_of(const std::filesystem::path& descriptor);

struct KernelCode {
  std::vector<std::pair<Node, InstanceCode>> variants;  // each as it would stand in `variants` of a descriptor
  std::vector<LaunchCode> launches;
  std::vector<Node> facts;   // of launches
  std::vector<Node> stated;  // variants in full, where `variants_stated`
  bool variants_stated = false;
  std::string compute_capability;  // that the code is made for; empty: not stated
  std::string program;             // of a step: text as a file of steps has it for an instance
};
KernelCode read_code(const Node& root);

}  // namespace tilescope::reading
