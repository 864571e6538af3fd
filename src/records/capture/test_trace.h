// Tests only: traces written record by record.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "records/capture/trace_format.h"

namespace tilescope::capture {

class TestTrace {
 public:
  TestTrace() { add(TraceKind::process, {trace_version, 70, 60, 1'700'000'000'000'000'000, 130001, 13000}, "prog"); }

  TestTrace& add(TraceKind kind, const std::vector<std::uint64_t>& words, const std::string& bytes = "") {
    const TraceHead head{static_cast<std::uint16_t>(kind), static_cast<std::uint16_t>(words.size()),
                         static_cast<std::uint32_t>(bytes.size())};
    std::string record(head.size(), '\0');
    std::memcpy(record.data(), &head, sizeof(head));
    if (!words.empty()) std::memcpy(record.data() + 8, words.data(), words.size() * 8);
    std::memcpy(record.data() + 8 + words.size() * 8, bytes.data(), bytes.size());
    starts_.push_back(text_.size());
    text_ += record;
    return *this;
  }

  TestTrace& module(std::uint64_t id, std::uint64_t hash) { return add(TraceKind::module, {id, 100, 0, hash}); }
  TestTrace& function(std::uint64_t id, std::uint64_t handle, const std::string& symbol) {
    return add(TraceKind::function, {id, handle, 32, 1024, 0, 256, 0, 8, 8, 4}, symbol);
  }
  // One of `function`, grid 2 x 1 x 1, block 128 x 1 x 1.
  TestTrace& call(std::uint64_t id, std::uint64_t function, const std::string& parameters, std::uint64_t range = 0,
                  std::uint64_t captured = 0) {
    return add(TraceKind::call, {id, function, 2, 1, 1, 128, 1, 1, 0, 0, 0, 512, range, captured}, parameters);
  }
  TestTrace& launch(std::uint64_t call, std::uint64_t correlation) {
    return add(TraceKind::launch, {call, correlation});
  }
  TestTrace& shape(std::uint64_t id, const std::string& symbol) {
    return add(TraceKind::shape, {id, 2, 1, 1, 128, 1, 1, 1, 1, 1, 32, 1024, 512, 0, 0}, symbol);
  }
  TestTrace& run(std::uint64_t shape, std::uint64_t correlation, std::uint64_t start, std::uint64_t node = 0) {
    return add(TraceKind::run, {shape, correlation, start, start + 50, 7, node != 0 ? 9U : 0U, node});
  }

  const std::string& text() const { return text_; }
  const std::vector<std::size_t>& starts() const { return starts_; }  // of the records

 private:
  std::string text_;
  std::vector<std::size_t> starts_;
};

// Parameters of TestTrace::function: an address and a number.
inline std::string test_parameters(std::uint64_t address, std::uint32_t number) {
  std::string bytes(12, '\0');
  std::memcpy(bytes.data(), &address, 8);
  std::memcpy(bytes.data() + 8, &number, 4);
  return bytes;
}

inline TestTrace example_trace() {
  std::string map(tensor_map_bytes, '\5');
  std::vector<std::uint64_t> shape_of_map{1,  9, 2, 64, 128, 0, 0, 0, 128, 0, 0, 0, 64,
                                          32, 0, 0, 0,  1,   1, 0, 0, 0,   0, 3, 2, 0};
  TestTrace trace;
  trace.add(TraceKind::device, {0, 9, 0, 132, 50 << 20, std::uint64_t{80} << 30}, "NVIDIA H100");
  trace.module(1, 0xa).module(2, 0xb).function(1, 0x77, "kernel_a").function(2, 0x78, "kernel_b");
  trace.add(TraceKind::range, {1}, std::string("step") + range_separator + "attention");
  trace.add(TraceKind::memory, {0x7f0000000000, 0x1000}).add(TraceKind::tensor_map, shape_of_map, map);
  trace.call(1, 1, test_parameters(0x7f0000000100, 3), 1).call(2, 1, test_parameters(0x7f0000000200, 3), 1);
  trace.call(3, 1, test_parameters(0x7f0000000100, 4), 1).call(4, 2, std::string(16, '\0') + map);
  trace.shape(1, "kernel_a").shape(2, "kernel_b").shape(3, "kernel_c");
  trace.launch(1, 10).launch(2, 11).launch(3, 12).launch(4, 13).launch(4, 14);
  trace.run(1, 11, 2000).run(1, 10, 1000).run(1, 12, 3000).run(2, 13, 4000).run(3, 99, 5000);
  trace.add(TraceKind::counted, {1, 10, 4096}, "2\ndram__bytes_read.sum 1024\nlts__t_sectors.sum 2.5\nbad\n x\n");
  trace.add(TraceKind::note, {}, "a note");
  return trace;
}

}  // namespace tilescope::capture
