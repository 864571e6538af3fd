// What `describe` finds in the machine code of a capture's kernels: from the cubins beside the capture, by nvdisasm, or
// from a file that an earlier run wrote.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launches/shown_launch.h"

namespace tilescope::launches {

class KernelFacts {
 public:
  // Of the capture at `place`: a file, or a directory that `tilescope capture` wrote. `nvdisasm`: where it is; absent:
  // only kernels whose facts are stored are known.
  KernelFacts(const std::filesystem::path& place, std::optional<std::filesystem::path> nvdisasm);

  // Disassembles each module once, for those of the kernels whose code is there, several modules at a time; facts that
  // are stored stand for others.
  void read(const std::vector<const capture::CapturedKernel*>& kernels);
  // `missing` of a kernel that was not read says so.
  const FoundFacts& of(const std::string& module, const std::string& symbol) const;
  const FoundFacts& of(const capture::CapturedKernel& kernel) const { return of(kernel.module, kernel.symbol); }

  // What these launches show, by their places in the capture, with sizes that somebody states; where the code is not
  // there, as it is stored.
  void read_launches(const capture::Capture& capture, const std::map<std::size_t, std::optional<Workload>>& launches);
  const ShownLaunch* shown(std::size_t launch) const;  // null: not known

  bool empty() const { return known_.empty(); }

  // Writes all that is known beside the capture, if `read` found something new.
  void store() const;

 private:
  using Name = std::pair<std::string, std::string>;  // hash of the module, symbol
  struct ReadModule;
  struct StoredLaunch {
    std::string kernel;  // symbol
    std::array<std::int64_t, 3> grid{1, 1, 1};
    ShownLaunch shown;
  };

  void load();
  bool load_launch(const nlohmann::json& line);
  bool can_read(const std::string& module) const;
  ReadModule read_module(const std::string& module, const std::set<std::string>& symbols) const;

  std::filesystem::path file_, cubins_;
  std::optional<std::filesystem::path> nvdisasm_;
  std::map<Name, FoundFacts> known_;
  std::map<Name, KernelCode> code_;  // of kernels of attention that `read` disassembled
  std::map<std::size_t, StoredLaunch> launches_;
  bool changed_ = false;
};

}  // namespace tilescope::launches
