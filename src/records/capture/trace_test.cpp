// Traces of processes joined into a capture.
#include "records/capture/trace.h"

#include <doctest/doctest.h>

#include "records/capture/capture_lines.h"
#include "records/capture/test_trace.h"

namespace capture_trace_test {

using namespace tilescope::capture;

namespace {

constexpr const char* module_a = "0000000000000000000000000000000a";
constexpr const char* module_b = "0000000000000000000000000000000b";

bool only_a_and_b(const std::string& hash, const std::string& symbol) {
  return (hash == module_a && symbol == "kernel_a") || (hash == module_b && symbol == "kernel_b");
}

bool every_kernel(const std::string&, const std::string&) { return true; }

Capture joined(const TestTrace& trace, const HasKernel& has_kernel = every_kernel) {
  Capture capture;
  REQUIRE(add_trace(trace.text(), has_kernel, capture));
  return capture;
}

const CapturedLaunch& launch_of(const Capture& capture, const std::string& symbol, std::size_t position = 0) {
  for (const CapturedLaunch& launch : capture.launches)
    if (capture.kernels[static_cast<std::size_t>(launch.kernel)].symbol == symbol && position-- == 0) return launch;
  FAIL("no such launch");
  return capture.launches.front();
}

}  // namespace

TEST_CASE("launches that differ only in device addresses are one kind; those that were not counted have times") {
  const Capture capture = joined(example_trace(), only_a_and_b);
  CHECK(capture.launches.size() == 4);
  const CapturedLaunch& first = launch_of(capture, "kernel_a");
  CHECK(first.count == 2);
  CHECK(first.starts_ns == std::vector<std::int64_t>{1000});
  CHECK(first.durations_ns == std::vector<std::int64_t>{50});
  CHECK(first.parameters == test_parameters(0x7f0000000100, 3));
  CHECK(first.addresses == std::vector<std::int64_t>{0});
  CHECK(first.ranges == std::vector<std::string>{"step", "attention"});
  CHECK(first.cluster == std::array<std::int64_t, 3>{1, 1, 1});
  CHECK(first.stream == 7);
  CHECK(launch_of(capture, "kernel_a", 1).parameters == test_parameters(0x7f0000000100, 4));
  REQUIRE(capture.processes.size() == 1);
  CHECK(capture.processes[0].driver == "13.0");
  CHECK(capture.processes[0].cupti == "13.0.1");
  CHECK(capture.processes[0].devices.at(0).name == "NVIDIA H100");
  CHECK(capture.processes[0].notes == std::vector<std::string>{"a note"});
}

TEST_CASE("a launch without a time is counted, and a kernel that no watched call launched has no parameters") {
  const Capture capture = joined(example_trace());
  const CapturedLaunch& b = launch_of(capture, "kernel_b");
  CHECK(b.count == 2);
  CHECK(b.durations_ns.size() == 1);
  const CapturedLaunch& c = launch_of(capture, "kernel_c");
  CHECK(c.count == 1);
  CHECK(c.parameters.empty());
  CHECK(c.dynamic_shared_bytes == 512);
}

TEST_CASE("a launch whose process ended before any time came is there without a stream") {
  TestTrace trace;
  trace.module(1, 0xa).function(1, 1, "k").call(1, 1, test_parameters(1, 2)).launch(1, 5).launch(1, 6);
  const Capture capture = joined(trace);
  REQUIRE(capture.launches.size() == 1);
  CHECK(capture.launches[0].count == 2);
  CHECK(!capture.launches[0].stream);
  CHECK(capture.launches[0].starts_ns.empty());
}

TEST_CASE("the tensor maps of a launch are found in its parameters") {
  const Capture capture = joined(example_trace());
  const CapturedLaunch& b = launch_of(capture, "kernel_b");
  REQUIRE(b.tensor_maps.size() == 1);
  CHECK(b.tensor_maps[0].offset == 16);
  const CapturedTensorMap& map = capture.tensor_maps.at(static_cast<std::size_t>(b.tensor_maps[0].map));
  CHECK(map.type == "bfloat16");
  CHECK(map.dims == std::vector<std::int64_t>{64, 128});
  CHECK(map.strides == std::vector<std::int64_t>{128});
  CHECK(map.box == std::vector<std::int64_t>{64, 32});
  CHECK(map.swizzle == "128B");
  CHECK(map.l2_promotion == "128B");
}

TEST_CASE("counters stand with the launch that they were read of") {
  const Capture capture = joined(example_trace());
  const CapturedLaunch& a = launch_of(capture, "kernel_a");
  REQUIRE(a.counted.size() == 1);
  CHECK(a.counted[0].group == "2");
  CHECK(a.counted[0].read_through_bytes == 4096);
  CHECK(a.counted[0].values ==
        std::map<std::string, double>{{"dram__bytes_read.sum", 1024}, {"lts__t_sectors.sum", 2.5}});
}

TEST_CASE("a counted launch, which CUPTI reports on two streams, is one launch on the program's stream") {
  TestTrace trace;
  trace.module(1, 0xa).function(1, 1, "k").call(1, 1, "").shape(1, "k").launch(1, 5).launch(1, 6);
  trace.add(TraceKind::run, {1, 5, 1000, 1010, 6, 0, 0}).add(TraceKind::run, {1, 5, 1001, 1011, 7, 0, 0});
  trace.add(TraceKind::run, {1, 6, 2000, 2010, 7, 0, 0}).add(TraceKind::counted, {1, 5, 0}, "1\nm 2\n");
  trace.add(TraceKind::counted, {1, 5, 0}, "2\n");  // a group without values
  const Capture capture = joined(trace);
  REQUIRE(capture.launches.size() == 1);
  CHECK(capture.launches[0].count == 2);
  CHECK(capture.launches[0].stream == 7);
  CHECK(capture.launches[0].durations_ns.size() == 1);
  CHECK(capture.launches[0].counted.size() == 1);
}

TEST_CASE("a function's module: by its handle, or the last one loaded before that has the kernel") {
  const auto module_of = [](const TestTrace& trace, const HasKernel& has_kernel) {
    return joined(trace, has_kernel).kernels.at(0).module;
  };
  const auto launched = [](TestTrace trace) { return trace.call(1, 1, "").launch(1, 5); };
  TestTrace two;
  two.module(1, 0xa).module(2, 0xb);
  CHECK(module_of(launched(TestTrace(two).function(1, 1, "kernel_a")), only_a_and_b) == module_a);
  CHECK(module_of(launched(TestTrace(two).function(1, 1, "k")), every_kernel) == module_b);
  CHECK(module_of(launched(TestTrace(two).function(1, 1, "k")), only_a_and_b) == "");
  CHECK(module_of(launched(TestTrace(two).add(TraceKind::module_unload, {2}).function(1, 1, "k")), every_kernel) ==
        module_a);
  CHECK(module_of(launched(TestTrace(two).add(TraceKind::module_handle, {77, 1}).function(1, 77, "k")), every_kernel) ==
        module_a);
  // A module with a handle has given its functions under that handle.
  CHECK(module_of(launched(TestTrace(two).add(TraceKind::module_handle, {77, 2}).function(1, 1, "k")), every_kernel) ==
        module_a);
  // Loaded later than the function was seen.
  CHECK(module_of(launched(TestTrace().module(1, 0xa).function(1, 1, "k").module(2, 0xb)), every_kernel) == module_a);
}

TEST_CASE("a node of a graph has the parameters of the launch that made it, through clones") {
  TestTrace trace;
  trace.module(1, 0xa).function(1, 1, "k").call(1, 1, test_parameters(1, 2), 0, 1).shape(1, "k");
  trace.add(TraceKind::graph_node, {100, 0, 1}).add(TraceKind::graph_node, {200, 100, 0});
  trace.add(TraceKind::graph_node, {300, 300, 0});  // a circle must end
  trace.run(1, 8, 1000, 200).run(1, 9, 2000, 200).run(1, 9, 2100, 300);
  const Capture capture = joined(trace);
  REQUIRE(capture.launches.size() == 2);
  CHECK(capture.launches[0].graph_node == 200);
  CHECK(capture.launches[0].count == 2);
  CHECK(capture.launches[0].parameters == test_parameters(1, 2));
  CHECK(capture.launches[1].parameters.empty());
}

TEST_CASE("kinds of parameters are limited: the rest stands in one line without parameters") {
  TestTrace trace;
  trace.module(1, 0xa).function(1, 1, "k").shape(1, "k");
  for (std::uint32_t i = 0; i < 100; ++i)
    trace.call(1 + i, 1, test_parameters(0, i)).launch(1 + i, 1000 + i).run(1, 1000 + i, 5000 + 100 * i);
  const Capture capture = joined(trace);
  REQUIRE(capture.launches.size() == 65);
  CHECK(capture.launches.back().parameters.empty());
  CHECK(capture.launches.back().count == 36);
}

TEST_CASE("a launch that was not timed stands with those of its kernel, geometry and range that were") {
  TestTrace trace;
  trace.add(TraceKind::memory, {0x7f0000000000, 0x1000});
  trace.module(1, 0xa).function(1, 1, "k").shape(1, "k");
  trace.call(1, 1, test_parameters(0x7f0000000100, 3)).call(2, 1, test_parameters(0x7f0000000200, 3));
  trace.launch(1, 10).launch(1, 11).launch(2, 12).run(1, 10, 1000);
  const Capture capture = joined(trace);
  REQUIRE(capture.launches.size() == 1);
  CHECK(capture.launches[0].count == 3);
  CHECK(capture.launches[0].durations_ns.size() == 1);
  CHECK(capture.launches[0].stream == 7);
}

TEST_CASE("processes are joined one after another") {
  Capture capture;
  CHECK(add_trace(example_trace().text(), every_kernel, capture));
  const std::size_t launches = capture.launches.size(), kernels = capture.kernels.size();
  CHECK(add_trace(example_trace().text(), every_kernel, capture));
  CHECK(capture.processes.size() == 2);
  CHECK(capture.modules.size() == 2);  // the same cubins
  CHECK(capture.launches.size() == 2 * launches);
  CHECK(capture.kernels.at(kernels).process == 1);
  CHECK(launch_of(capture, "kernel_b", 1).tensor_maps.at(0).map == 1);
}

TEST_CASE("a trace that was cut anywhere, or has any byte changed, is read as far as it goes") {
  const TestTrace whole = example_trace();
  const std::string& text = whole.text();
  const std::size_t first_record = whole.starts().at(1);
  const std::string full = capture_lines(joined(whole));
  std::size_t differ = 0;
  for (std::size_t size = 0; size < text.size(); ++size) {
    Capture capture;
    const bool read = add_trace(std::string_view(text).substr(0, size), every_kernel, capture);
    CHECK(read == (size >= first_record));
    if (read) differ += capture_lines(capture) != full;
  }
  CHECK(differ == text.size() - first_record);
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
      std::string changed = text;
      changed[at] = value;
      Capture capture;
      if (!add_trace(changed, every_kernel, capture)) CHECK(at < first_record);
      else CHECK(capture.processes.size() == 1);
    }
}

}  // namespace capture_trace_test
