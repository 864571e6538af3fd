// The records of a trace as values, in the order of the file. Internal to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "records/capture/capture.h"
#include "records/capture/trace_format.h"

namespace tilescope::capture {

struct TraceModule {
  std::uint64_t id = 0;
  std::string hash;
  std::int64_t bytes = 0;
  bool loaded = true, opened = false;  // opened: a handle of the driver stands for it
};

struct TraceFunction {
  std::uint64_t module_handle = 0;
  CapturedKernel kernel;                // without process and module
  std::vector<std::size_t> candidates;  // places of modules that it may come from, the likeliest first
};

struct TraceCall {
  std::uint64_t function = 0, range = 0;
  std::array<std::int64_t, 3> grid{}, block{}, cluster{};
  std::int64_t dynamic_shared_bytes = 0;
  bool captured = false;  // in a stream capture: a node, not a launch
  std::string parameters;
};

struct TraceShape {
  std::array<std::int64_t, 3> grid{}, block{}, cluster{};
  std::int64_t registers = 0, static_shared_bytes = 0, dynamic_shared_bytes = 0, local_bytes = 0, device = 0;
  std::string symbol;
};

struct TraceLaunch {
  std::uint64_t call = 0, correlation = 0;
};

struct TraceRun {
  std::uint64_t shape = 0, correlation = 0, start = 0, end = 0, stream = 0, graph = 0, node = 0;
};

struct TraceNode {
  std::uint64_t original = 0, call = 0;
};

struct TraceMap {
  CapturedTensorMap map;
  std::string bytes;
};

struct TraceCount {
  std::uint64_t call = 0, correlation = 0;
  CountedLaunch counted;
};

struct TraceEvents {
  CapturedProcess process;
  std::vector<TraceModule> modules;
  std::unordered_map<std::uint64_t, TraceFunction> functions;
  std::unordered_map<std::uint64_t, TraceCall> calls;
  std::unordered_map<std::uint64_t, TraceShape> shapes;
  std::unordered_map<std::uint64_t, TraceNode> nodes;
  std::unordered_map<std::uint64_t, std::vector<std::string>> ranges;
  std::vector<TraceLaunch> launches;
  std::vector<TraceRun> runs;
  std::vector<TraceMap> maps;
  std::vector<TraceCount> counts;
  std::map<std::uint64_t, std::uint64_t> memory;  // first byte -> size
};

// false: the bytes do not start as a trace does.
bool read_events(std::string_view trace, TraceEvents& events);

}  // namespace tilescope::capture
