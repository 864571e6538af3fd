// What `describe` finds in the machine code of a capture's kernels: from the cubins beside the capture, by nvdisasm, or
// from a file that an earlier run wrote.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/describe/facts.h"
#include "records/capture/capture.h"

namespace tilescope::launches {

class KernelFacts {
 public:
  // Of the capture at `place`: a file, or a directory that `tilescope capture` wrote. `nvdisasm`: where it is; absent:
  // only kernels whose facts are stored are known.
  KernelFacts(const std::filesystem::path& place, std::optional<std::filesystem::path> nvdisasm);

  // Disassembles each module once, for those of the kernels whose code is there; facts that are stored stand for
  // others.
  void read(const std::vector<const capture::CapturedKernel*>& kernels);
  // `missing` of a kernel that was not read says so.
  const FoundFacts& of(const std::string& module, const std::string& symbol) const;
  const FoundFacts& of(const capture::CapturedKernel& kernel) const { return of(kernel.module, kernel.symbol); }
  // Machine code of a kernel of attention that `read` disassembled; null where its facts were stored.
  struct Code {
    CubinKernel kernel;
    CodeSummary code;
  };
  const Code* code_of(const capture::CapturedKernel& kernel) const;

  bool empty() const { return known_.empty(); }

  // Writes all that is known beside the capture, if `read` found something new.
  void store() const;

 private:
  using Name = std::pair<std::string, std::string>;  // hash of the module, symbol

  void load();
  bool can_read(const std::string& module) const;
  void read_module(const std::string& module, const std::vector<std::string>& symbols);
  void none(const std::string& module, const std::vector<std::string>& symbols, const std::string& why);

  std::filesystem::path file_, cubins_;
  std::optional<std::filesystem::path> nvdisasm_;
  std::map<Name, FoundFacts> known_;
  std::map<Name, Code> code_;
  bool changed_ = false;
};

}  // namespace tilescope::launches
