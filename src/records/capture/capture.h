// What programs launched: the content of a capture (`tilescope/capture/1`).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::capture {

struct CapturedDevice {
  std::int64_t ordinal = 0;
  std::string name, compute_capability;  // "NVIDIA H200", "9.0"
  std::int64_t multiprocessors = 0, l2_bytes = 0, memory_bytes = 0;
};

struct CapturedProcess {
  std::int64_t pid = 0, parent = 0;
  std::string started;  // "2026-11-23T15:04:05Z"
  std::vector<std::string> command;
  std::string driver, cupti;  // "13.0", "13.0.1"
  std::vector<CapturedDevice> devices;
  std::vector<std::string> notes;  // what is missing from the capture, and why
};

struct CapturedModule {
  std::string hash;  // 32 hexadecimal digits; the cubin is cubins/HASH.cubin
  std::int64_t bytes = 0;
};

struct ParameterPlace {
  std::int64_t offset = 0, bytes = 0;
};

struct CapturedKernel {
  std::int64_t process = 0;  // place in Capture::processes
  std::string symbol;        // as the linker sees it
  std::string module;        // hash; empty: not known
  std::int64_t registers = 0, static_shared_bytes = 0, local_bytes = 0;
  std::int64_t most_threads = 0;           // of a block; 0: not known
  std::vector<ParameterPlace> parameters;  // empty: none, or not known
};

// A tensor map as cuTensorMapEncodeTiled was asked for it. Dimensions: innermost first.
struct CapturedTensorMap {
  std::int64_t process = 0;
  std::string type, interleave, swizzle, l2_promotion, fill;
  std::vector<std::int64_t> dims, strides, box, element_strides;  // strides: bytes, without the innermost
};

// Counters of one launch: one group of metrics, collected in a single pass.
struct CountedLaunch {
  std::string group;
  std::int64_t read_through_bytes = 0;  // read through the L2 before the launch; 0: the L2 was as the program left it
  std::map<std::string, double> values;
};

struct MapPlace {
  std::int64_t offset = 0, map = 0;  // in the parameters; place in Capture::tensor_maps
};

// Launches of one kernel with the same geometry, stream, ranges and parameters. Parameters are the same when they
// differ only in addresses of device memory.
struct CapturedLaunch {
  std::int64_t kernel = 0;  // place in Capture::kernels
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::int64_t dynamic_shared_bytes = 0;
  std::optional<std::int64_t> device, stream;  // as CUPTI numbers streams; none: no launch has a time
  std::int64_t graph_node = 0;                 // of a CUDA graph; 0: launched by the program
  std::vector<std::string> ranges;             // NVTX, outermost first
  std::string parameters;                      // bytes of the first launch; empty: none, not known, or too many kinds
  std::vector<std::int64_t> addresses;         // offsets of 8-byte words in it that are addresses of device memory
  std::vector<MapPlace> tensor_maps;
  std::int64_t count = 0;
  std::vector<std::int64_t> starts_ns;     // since the first launch of the process; of the launches that have times
  std::vector<std::int64_t> durations_ns;  // as many
  std::vector<CountedLaunch> counted;
};

struct Capture {
  std::vector<CapturedProcess> processes;
  std::vector<CapturedModule> modules;
  std::vector<CapturedKernel> kernels;
  std::vector<CapturedTensorMap> tensor_maps;
  std::vector<CapturedLaunch> launches;
};

// "flash_fwd_kernel" of "void pytorch_flash::flash_fwd_kernel<...>(...)", from a mangled or demangled name.
std::string short_kernel_name(const std::string& symbol);
std::string demangled(const std::string& symbol);

}  // namespace tilescope::capture
