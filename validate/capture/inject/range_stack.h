// The NVTX ranges that a thread is in. Libraries push ranges around each of their calls (cuBLASLt does), so pushing and
// popping costs a copy of the name; the path is put together only when a launch needs it and was not seen before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::capture {

class RangeStack {
 public:
  static constexpr std::size_t most_depth = 64, most_name = 256;  // deeper ranges count as the last one

  // Both return the depth of the range, from 0; pop of an empty stack -2 (NVTX_NO_PUSH_POP_TRACKING).
  int push(std::string_view name);
  int pop();
  // Equal for equal paths; 0 outside of ranges.
  std::uint64_t key() const { return ranges_.empty() ? 0 : ranges_.back().key; }
  std::string path() const;  // the names, outermost first

 private:
  struct Range {
    std::uint64_t key = 0;
    std::size_t end = 0;  // of its name in names_
  };

  std::string names_;
  std::vector<Range> ranges_;
  int deeper_ = 0;
};

}  // namespace tilescope::capture
