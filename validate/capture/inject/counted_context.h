// The counters of one context: groups of metrics ready to be collected, and the buffer that is read through the L2.
#pragma once

#include <cuda.h>
#include <cupti_range_profiler.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "validate/measure/counters/cupti_call.h"

namespace tilescope::capture {

class CountedContext {
 public:
  // Of the current context. Throws DeviceError: the counters are not permitted, or CUPTI fails.
  explicit CountedContext(CUcontext context);
  CountedContext(const CountedContext&) = delete;
  CountedContext& operator=(const CountedContext&) = delete;

  std::size_t groups() const { return groups_.size(); }
  const std::string& group_name(std::size_t group) const { return groups_[group]->name; }

  // Reads a buffer of four times the L2's size, so that the launch that follows finds none of its data there, and no
  // dirty line. Returns the bytes read; 0 when there is no memory for the buffer.
  std::uint64_t read_through();

  // Between the two the context executes one launch. Both wait for its device. Throw DeviceError. Counting the same
  // group again costs a fifth of counting another.
  void begin(std::size_t group);
  std::vector<std::pair<std::string, double>> end(std::size_t group);
  void rest();  // no launch is counted soon

 private:
  struct Group {
    std::string name;
    std::vector<std::string> metrics;
    std::vector<const char*> names;
    std::unique_ptr<validate::CuptiHost> host;
    std::vector<std::uint8_t> config, values;
  };

  void add_group(const std::string& chip, const std::vector<std::uint8_t>& availability, const std::string& name,
                 const std::vector<std::string>& metrics);
  bool prepare_read();
  void enable(Group& group);
  void clear(Group& group);

  CUcontext context_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;  // of `enabled_`
  const Group* enabled_ = nullptr;
  std::vector<std::unique_ptr<Group>> groups_;
  bool read_prepared_ = false;
  CUfunction read_kernel_ = nullptr;
  CUdeviceptr buffer_ = 0;
  std::uint64_t buffer_bytes_ = 0;
};

}  // namespace tilescope::capture
