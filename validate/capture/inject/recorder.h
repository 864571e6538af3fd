// What a process launches, as records of its trace. Facts that repeat (functions, parameters, ranges) are written once
// and named by a number afterwards, so an ordinary launch costs a table look-up and 24 bytes.
#pragma once

#include <cupti.h>

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "validate/capture/inject/address_words.h"
#include "validate/capture/inject/range_stack.h"
#include "validate/capture/inject/trace_writer.h"

namespace tilescope::capture {

inline constexpr std::string_view own_kernel = "tilescope_read_through";  // the library's own, not recorded

// A launch as the driver's call states it.
struct LaunchArguments {
  CUfunction function = nullptr;  // or a CUkernel
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {0, 0, 0}, dynamic_shared = 0;
  CUstream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
};

struct KnownFunction {
  std::uint64_t id = 0;
  std::string symbol;
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  // offset, bytes
  std::size_t parameter_bytes = 0;
  mutable AddressWords addresses;
};

class Recorder {
 public:
  // Never destroyed: threads and exit handlers of the program use it to the end.
  static Recorder& instance();

  bool open(const std::string& directory);
  bool active() const { return writer_.active(); }
  void close() { writer_.close(); }
  void abandon() { writer_.abandon(); }

  void process(std::uint64_t cupti_version);
  void note(std::string_view text) { writer_.put(TraceKind::note, {}, text); }

  void module_loaded(const CUpti_ModuleResourceData& module);
  void module_unloading(const CUpti_ModuleResourceData& module);
  void module_opened(CUmodule module);      // after cuModuleLoad...: the last module that this thread loaded
  void tensor_map(const void* parameters);  // after cuTensorMapEncodeTiled

  const KnownFunction& function(CUfunction handle);
  // Before a launch in this thread. Returns the call's number, which stays the same for the same function, geometry,
  // parameters and ranges.
  std::uint64_t call_of(const LaunchArguments& arguments);
  // The launch of this thread's last call. `correlation`: CUPTI's number of it; 0: CUPTI was not asked.
  void launched(std::uint32_t correlation);
  void stream_capture(bool begins) { captures_ += begins ? 1 : -1; }
  bool capturing() const { return captures_ > 0; }
  // Values of one launch, counted in one pass.
  void counted(std::uint64_t call, std::uint32_t correlation, std::uint64_t read_through, const std::string& group,
               const std::vector<std::pair<std::string, double>>& values);
  void graph_node(std::uint64_t node, std::uint64_t original);

  void kernel_ran(const CUpti_ActivityKernel10& kernel);

  // NVTX ranges of this thread, also before the recorder is open. Return what NVTX's functions return.
  static int push_range(std::string_view name);
  static int pop_range();

 private:
  void devices();
  const KnownFunction& new_function(CUfunction handle);
  std::uint64_t range_id();
  std::uint64_t call_id(const KnownFunction& known, std::uint64_t key, std::array<std::uint64_t, 14>& words);
  std::vector<std::uint32_t> note_memory(std::string_view parameters);

  // Tables are emptied when they reach this many entries; what follows is written again.
  static constexpr std::size_t most_entries = 1 << 16;

  TraceWriter writer_;
  std::mutex mutex_;  // of the tables
  std::string directory_;
  std::unordered_map<CUfunction, KnownFunction*> functions_;  // functions are kept: other threads may hold them
  std::unordered_map<std::uint64_t, std::uint64_t> calls_, shapes_, tensor_maps_;
  std::unordered_map<std::string, std::uint64_t> ranges_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> memory_;  // known allocations: first byte, size
  std::unordered_map<std::uint64_t, bool> no_memory_;            // 2 MiB pages of words that are no device addresses
  std::uint64_t next_function_ = 1, next_call_ = 1, next_shape_ = 1, next_range_ = 1, next_map_ = 1;
  std::atomic<int> captures_ = 0;
  std::atomic<std::uint64_t> epoch_ = 1;  // changes when the driver may give a function's handle again
  std::once_flag devices_once_;
};

}  // namespace tilescope::capture
