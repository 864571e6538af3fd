#include "records/capture/trace_events.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <ctime>
#include <limits>

#include "base/text.h"

namespace tilescope::capture {
namespace {

struct TraceRecord {
  std::vector<std::uint64_t> words;
  std::string_view bytes;

  std::int64_t count(std::size_t at) const {  // a word that a sane trace keeps small
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(words[at], most));
  }
  std::array<std::int64_t, 3> three(std::size_t at) const { return {count(at), count(at + 1), count(at + 2)}; }
  std::vector<std::int64_t> list(std::size_t at, std::size_t size) const {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < size; ++i) values.push_back(count(at + i));
    return values;
  }
};

// Text of a program as it may stand in JSON.
std::string printable(std::string_view text) {
  std::string clean;
  for (const char c : text)
    clean += static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126 ? '?' : c;
  return clean;
}

std::string named(std::initializer_list<const char*> names, std::uint64_t value) {
  return value < names.size() ? names.begin()[value] : fmt::format("{}", value);
}

std::string cuda_version(std::uint64_t number) { return fmt::format("{}.{}", number / 1000, number / 10 % 100); }

std::string cupti_text(std::uint64_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

std::string utc(std::uint64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

std::vector<std::string> pieces(std::string_view text, char separator) {
  std::vector<std::string> list;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    list.push_back(printable(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return list;
}

void read_process(const TraceRecord& r, TraceEvents& events) {
  CapturedProcess& process = events.process;
  process.pid = r.count(1);
  process.parent = r.count(2);
  process.started = utc(r.words[3] % (std::uint64_t{1} << 62));
  process.cupti = cupti_text(r.words[4]);
  process.driver = cuda_version(r.words[5]);
  process.command = pieces(r.bytes, '\0');
}

void read_device(const TraceRecord& r, TraceEvents& events) {
  events.process.devices.push_back({.ordinal = r.count(0),
                                    .name = printable(r.bytes),
                                    .compute_capability = fmt::format("{}.{}", r.words[1], r.words[2]),
                                    .multiprocessors = r.count(3),
                                    .l2_bytes = r.count(4),
                                    .memory_bytes = r.count(5)});
}

void read_module(const TraceRecord& r, TraceEvents& events) {
  events.modules.push_back(
      {.id = r.words[0], .hash = fmt::format("{:016x}{:016x}", r.words[2], r.words[3]), .bytes = r.count(1)});
}

TraceModule* loaded_module(TraceEvents& events, std::uint64_t id) {
  for (auto module = events.modules.rbegin(); module != events.modules.rend(); ++module)
    if (module->id == id && module->loaded) return &*module;
  return nullptr;
}

// Which module a handle of the driver stands for is known where the program loaded it by cuModuleLoad. Otherwise it is
// the last one that was loaded before, is still loaded, has no handle, and has the kernel.
void read_function(const TraceRecord& r, TraceEvents& events, const std::map<std::uint64_t, std::size_t>& handles) {
  TraceFunction function;
  function.module_handle = r.words[1];
  CapturedKernel& kernel = function.kernel;
  kernel.symbol = printable(r.bytes);
  kernel.registers = r.count(2);
  kernel.static_shared_bytes = r.count(3);
  kernel.local_bytes = r.count(4);
  kernel.most_threads = r.count(5);
  for (std::size_t at = 6; at + 1 < r.words.size(); at += 2)
    kernel.parameters.push_back({r.count(at), r.count(at + 1)});
  if (const auto known = handles.find(function.module_handle); known != handles.end()) {
    function.candidates.push_back(known->second);
  } else {
    for (std::size_t i = events.modules.size(); i-- > 0;)
      if (events.modules[i].loaded && !events.modules[i].opened) function.candidates.push_back(i);
  }
  events.functions[r.words[0]] = std::move(function);
}

void read_call(const TraceRecord& r, TraceEvents& events) {
  events.calls[r.words[0]] = {.function = r.words[1],
                              .range = r.words[12],
                              .grid = r.three(2),
                              .block = r.three(5),
                              .cluster = r.three(8),
                              .dynamic_shared_bytes = r.count(11),
                              .captured = r.words[13] != 0,
                              .parameters = std::string(r.bytes)};
}

void read_shape(const TraceRecord& r, TraceEvents& events) {
  events.shapes[r.words[0]] = {.grid = r.three(1),
                               .block = r.three(4),
                               .cluster = r.three(7),
                               .registers = r.count(10),
                               .static_shared_bytes = r.count(11),
                               .dynamic_shared_bytes = r.count(12),
                               .local_bytes = r.count(13),
                               .device = r.count(14),
                               .symbol = printable(r.bytes)};
}

void read_tensor_map(const TraceRecord& r, TraceEvents& events) {
  const std::size_t rank = r.words[2];
  if (rank < 1 || rank > 5 || r.bytes.size() != tensor_map_bytes) return;
  CapturedTensorMap map;
  map.type =
      named({"uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64", "bfloat16",
             "float32_ftz", "tfloat32", "tfloat32_ftz", "4bit_align8", "4bit_align16", "6bit_align16"},
            r.words[1]);
  map.dims = r.list(3, rank);
  map.strides = r.list(8, rank - 1);
  map.box = r.list(12, rank);
  map.element_strides = r.list(17, rank);
  map.interleave = named({"none", "16B", "32B"}, r.words[22]);
  map.swizzle =
      named({"none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"}, r.words[23]);
  map.l2_promotion = named({"none", "64B", "128B", "256B"}, r.words[24]);
  map.fill = named({"zero", "nan"}, r.words[25]);
  events.maps.push_back({std::move(map), std::string(r.bytes)});
}

void read_counted(const TraceRecord& r, TraceEvents& events) {
  TraceCount count{.call = r.words[0], .correlation = r.words[1], .counted = {}};
  count.counted.read_through_bytes = r.count(2);
  const std::vector<std::string> lines = pieces(r.bytes, '\n');
  if (lines.empty() || lines[0].empty()) return;
  count.counted.group = lines[0];
  for (const std::string& line : lines) {
    const std::size_t space = line.find(' ');
    double value = 0;
    if (space == std::string::npos || space == 0) continue;
    const auto parsed = std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    if (parsed.ec == std::errc() && value >= 0 && value <= std::numeric_limits<double>::max())
      count.counted.values[line.substr(0, space)] = value;
  }
  events.counts.push_back(std::move(count));
}

// Reads one kind of record after another; remembers which module each handle of the driver stands for.
class EventReader {
 public:
  explicit EventReader(TraceEvents& events) : events_(&events) {}

  void read(TraceKind kind, const TraceRecord& r) {
    TraceEvents& events = *events_;
    switch (kind) {
      case TraceKind::process:
        return read_process(r, events);
      case TraceKind::device:
        return read_device(r, events);
      case TraceKind::module:
        return read_module(r, events);
      case TraceKind::module_handle:
        return open(r.words[0], r.words[1]);
      case TraceKind::module_unload:
        return unload(r.words[0]);
      case TraceKind::function:
        return read_function(r, events, handles_);
      case TraceKind::call:
        return read_call(r, events);
      case TraceKind::launch:
        events.launches.push_back({r.words[0], r.words[1]});
        return;
      case TraceKind::graph_node:
        events.nodes[r.words[0]] = {r.words[1], r.words[2]};
        return;
      case TraceKind::shape:
        return read_shape(r, events);
      case TraceKind::run:
        events.runs.push_back({r.words[0], r.words[1], r.words[2], r.words[3], r.words[4], r.words[5], r.words[6]});
        return;
      case TraceKind::range:
        events.ranges[r.words[0]] = pieces(r.bytes, range_separator);
        return;
      case TraceKind::tensor_map:
        return read_tensor_map(r, events);
      case TraceKind::memory:
        events.memory[r.words[0]] = r.words[1];
        return;
      case TraceKind::note:
        events.process.notes.push_back(printable(r.bytes));
        return;
      case TraceKind::counted:
        return read_counted(r, events);
      case TraceKind::end:
      case TraceKind::skip:
        return;
    }
  }

 private:
  void open(std::uint64_t handle, std::uint64_t id) {
    TraceModule* module = loaded_module(*events_, id);
    if (module == nullptr) return;
    module->opened = true;
    handles_[handle] = static_cast<std::size_t>(module - events_->modules.data());
  }

  void unload(std::uint64_t id) {
    TraceModule* module = loaded_module(*events_, id);
    if (module == nullptr) return;
    module->loaded = false;
    const auto place = static_cast<std::size_t>(module - events_->modules.data());
    std::erase_if(handles_, [place](const auto& entry) { return entry.second == place; });
  }

  TraceEvents* events_;
  std::map<std::uint64_t, std::size_t> handles_;
};

// The fewest words of each kind of record, in the order of TraceKind.
constexpr std::array<std::size_t, 18> fewest_words{0, 0, 6, 6, 4, 2, 1, 6, 14, 2, 3, 15, 7, 1, 26, 2, 0, 3};

}  // namespace

bool read_events(std::string_view trace, TraceEvents& events) {
  EventReader reader(events);
  bool first = true;
  for (std::size_t at = 0; trace.size() - at >= sizeof(TraceHead);) {
    TraceHead head;
    std::memcpy(&head, trace.data() + at, sizeof(head));
    const auto kind = static_cast<TraceKind>(head.kind);
    if (kind == TraceKind::end) break;
    const bool whole =
        head.kind < fewest_words.size() && head.size() <= trace.size() - at && head.words >= fewest_words[head.kind];
    TraceRecord record;
    if (whole) {
      record.words.resize(head.words);
      if (head.words != 0) std::memcpy(record.words.data(), trace.data() + at + 8, std::size_t{head.words} * 8);
      record.bytes = trace.substr(at + 8 + std::size_t{head.words} * 8, head.bytes);
    }
    if (first && (!whole || kind != TraceKind::process || record.words[0] != trace_version)) return false;
    first = false;
    if (!whole) {
      events.process.notes.push_back(fmt::format("the trace is damaged from byte {} on", at));
      break;
    }
    reader.read(kind, record);
    at += head.size();
  }
  return !first;
}

}  // namespace tilescope::capture
