// The file that a captured process writes while it runs: records of 8-byte words in the machine's byte order, appended
// in the order of events. A record is a head, `words` words and `bytes` bytes padded to a multiple of 8. The head is
// written last, so a file of a process that was killed ends with a head of zeros. The file is an intermediate form:
// `tilescope capture` joins those of all processes into JSON Lines and removes them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilescope::capture {

inline constexpr std::uint64_t trace_version = 1;
inline constexpr std::size_t tensor_map_bytes = 128;
inline constexpr char range_separator = '\x1f';  // between the names of nested NVTX ranges

// In comments: the words of a record, then its bytes.
enum class TraceKind : std::uint16_t {
  end = 0,
  skip,           // unused space
  process,        // version, pid, parent's pid, time, CUPTI's version, driver's version; command, each word ended by 0
  device,         // ordinal, major, minor, multiprocessors, L2 bytes, memory bytes; name
  module,         // CUPTI's module id, size, hash (two words)
  module_handle,  // handle of the driver, CUPTI's module id
  module_unload,  // CUPTI's module id
  function,  // id, module handle, registers, static shared, local, most threads, (offset, bytes) each parameter; symbol
  call,      // id, function, grid 3, block 3, cluster 3, dynamic shared, range, 1 in a stream capture; parameters
  launch,    // call, correlation
  graph_node,  // node, node that it is a clone of or 0, call or 0
  shape,       // id, grid 3, block 3, cluster 3, registers, static shared, dynamic shared, local, device; symbol
  run,         // shape, correlation, start, end, stream, graph, graph node
  range,       // id; path
  tensor_map,  // id, type, rank, dims 5, strides 4, box 5, element strides 5, interleave, swizzle, L2, fill; 128 bytes
  memory,      // first byte, size of an allocation
  note,        // text
  counted,     // call, correlation, bytes read through the L2 before; lines: group, then "metric value" each
};

struct TraceHead {
  std::uint16_t kind = 0;
  std::uint16_t words = 0;
  std::uint32_t bytes = 0;

  std::size_t size() const { return 8 + std::size_t{words} * 8 + (std::size_t{bytes} + 7) / 8 * 8; }
};
static_assert(sizeof(TraceHead) == 8);

}  // namespace tilescope::capture
