#include "records/capture/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "records/capture/trace_events.h"

namespace tilescope::capture {
namespace {

// Of one kernel in one geometry and range; kernels with a counter among their parameters have more kinds.
constexpr std::size_t most_parameter_kinds = 64;

class TraceJoin {
 public:
  TraceJoin(const TraceEvents& events, const HasKernel& has_kernel, Capture& capture)
      : events_(&events),
        has_kernel_(&has_kernel),
        capture_(&capture),
        process_(static_cast<std::int64_t>(capture.processes.size())),
        first_map_(static_cast<std::int64_t>(capture.tensor_maps.size())) {}

  void join();

 private:
  void add_modules_and_maps();
  void add_runs();
  void add_untimed();
  void add_counts();
  std::size_t place_of(const TraceRun& run, std::uint64_t call);
  void add_run(std::size_t launch, const TraceRun& run, bool unnamed);
  std::int64_t kernel_place(CapturedKernel kernel);
  std::int64_t kernel_of(const TraceCall& call);
  std::string module_of(const TraceFunction& function);
  const TraceCall* call_of_node(std::uint64_t node) const;
  std::vector<std::int64_t> addresses_in(const std::string& parameters) const;
  std::vector<MapPlace> maps_in(const std::string& parameters) const;
  std::size_t launch_place(CapturedLaunch launch);
  CapturedLaunch described(const TraceCall& call);
  CapturedLaunch described(const TraceShape& shape);
  void note_timed(const CapturedLaunch& launch);
  void add_place(CapturedLaunch& launch) const;

  const TraceEvents* events_;
  const HasKernel* has_kernel_;
  Capture* capture_;
  std::int64_t process_, first_map_;
  std::uint64_t origin_ = 0;  // start of the first run
  std::map<std::string, std::int64_t> kernels_;
  std::map<std::string_view, std::int64_t> maps_;  // by their bytes
  std::set<std::uint64_t> counted_;                // correlations
  bool hooked_ = false;                            // some launches have no number
  // Places of launches by what the trace writes once, so that the text of a key is made once.
  std::map<std::array<std::uint64_t, 4>, std::size_t> places_;  // call, shape, stream, node
  std::unordered_map<std::uint64_t, std::size_t> place_of_call_, place_of_correlation_;
  std::map<std::uint64_t, std::int64_t> kernel_of_function_;
  std::map<std::pair<std::string, std::string>, bool> module_answers_;
  std::map<std::string, std::map<std::string, std::size_t>> launches_;  // by geometry, then by parameters
  std::map<std::string, CapturedLaunch> timed_;  // by kernel, geometry and ranges: where launches with a time ran
};

std::int64_t TraceJoin::kernel_place(CapturedKernel kernel) {
  kernel.process = process_;
  std::string key = fmt::format("{} {} {} {} {}", kernel.symbol, kernel.module, kernel.registers,
                                kernel.static_shared_bytes, kernel.local_bytes);
  const auto [found, added] = kernels_.emplace(std::move(key), static_cast<std::int64_t>(capture_->kernels.size()));
  if (added) capture_->kernels.push_back(std::move(kernel));
  return found->second;
}

std::string TraceJoin::module_of(const TraceFunction& function) {
  for (const std::size_t candidate : function.candidates) {
    const std::string& hash = events_->modules[candidate].hash;
    const auto [answer, added] = module_answers_.emplace(std::pair(hash, function.kernel.symbol), false);
    if (added) answer->second = (*has_kernel_)(hash, function.kernel.symbol);
    if (answer->second) return hash;
  }
  return {};
}

std::int64_t TraceJoin::kernel_of(const TraceCall& call) {
  const auto [known, added] = kernel_of_function_.emplace(call.function, -1);
  if (!added) return known->second;
  const auto function = events_->functions.find(call.function);
  if (function == events_->functions.end()) return -1;
  CapturedKernel kernel = function->second.kernel;
  kernel.module = module_of(function->second);
  return known->second = kernel_place(std::move(kernel));
}

std::vector<std::int64_t> TraceJoin::addresses_in(const std::string& parameters) const {
  std::vector<std::int64_t> offsets;
  for (std::size_t at = 0; at + 8 <= parameters.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, parameters.data() + at, 8);
    const auto next = events_->memory.upper_bound(word);
    if (next != events_->memory.begin() && word - std::prev(next)->first < std::prev(next)->second)
      offsets.push_back(static_cast<std::int64_t>(at));
  }
  return offsets;
}

// Parameters are aligned in the bank of constants, which starts elsewhere: a map stands at any multiple of 8 or 16
// here.
std::vector<MapPlace> TraceJoin::maps_in(const std::string& parameters) const {
  std::vector<MapPlace> places;
  for (std::size_t at = 0; !maps_.empty() && at + tensor_map_bytes <= parameters.size(); at += 8) {
    const auto found = maps_.find(std::string_view(parameters).substr(at, tensor_map_bytes));
    if (found == maps_.end()) continue;
    places.push_back({static_cast<std::int64_t>(at), found->second});
    at += tensor_map_bytes - 8;
  }
  return places;
}

CapturedLaunch TraceJoin::described(const TraceCall& call) {
  CapturedLaunch launch;
  launch.kernel = kernel_of(call);
  launch.grid = call.grid;
  launch.block = call.block;
  launch.cluster = call.cluster;
  launch.dynamic_shared_bytes = call.dynamic_shared_bytes;
  if (const auto range = events_->ranges.find(call.range); range != events_->ranges.end())
    launch.ranges = range->second;
  launch.parameters = call.parameters;
  launch.addresses = addresses_in(call.parameters);
  launch.tensor_maps = maps_in(call.parameters);
  return launch;
}

// A kernel of a call that the library does not watch: what CUPTI's activity record says.
CapturedLaunch TraceJoin::described(const TraceShape& shape) {
  CapturedLaunch launch;
  launch.kernel = kernel_place({.process = process_,
                                .symbol = shape.symbol,
                                .module = "",
                                .registers = shape.registers,
                                .static_shared_bytes = shape.static_shared_bytes,
                                .local_bytes = shape.local_bytes,
                                .most_threads = 0,
                                .parameters = {}});
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.cluster = shape.cluster;
  launch.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  return launch;
}

std::string kernel_and_geometry(const CapturedLaunch& launch) {
  std::string key = fmt::format("{} {} {} {}", launch.kernel, fmt::join(launch.grid, ","), fmt::join(launch.block, ","),
                                launch.dynamic_shared_bytes);
  for (const std::string& range : launch.ranges) key += range_separator + range;
  return key;
}

// A launch without a time runs where those of its kernel, geometry and ranges do that have one.
void TraceJoin::note_timed(const CapturedLaunch& launch) {
  if (launch.graph_node != 0) return;
  const auto [known, added] = timed_.try_emplace(kernel_and_geometry(launch), launch);
  CapturedLaunch& place = known->second;
  if (place.stream != launch.stream) place.stream.reset();
  if (place.device != launch.device) place.device.reset(), place.stream.reset();
}

void TraceJoin::add_place(CapturedLaunch& launch) const {
  const auto known = timed_.find(kernel_and_geometry(launch));
  if (known == timed_.end()) return;
  launch.cluster = known->second.cluster;
  launch.device = known->second.device, launch.stream = known->second.stream;
}

std::size_t TraceJoin::launch_place(CapturedLaunch launch) {
  for (std::int64_t& blocks : launch.cluster) blocks = std::max<std::int64_t>(blocks, 1);
  std::string geometry =
      fmt::format("{} {} {} {} {} {} {} {}", launch.kernel, fmt::join(launch.grid, ","), fmt::join(launch.block, ","),
                  fmt::join(launch.cluster, ","), launch.dynamic_shared_bytes, launch.device.value_or(-1),
                  launch.stream.value_or(-1), launch.graph_node);
  for (const std::string& range : launch.ranges) geometry += range_separator + range;
  std::string parameters = launch.parameters;
  for (const std::int64_t offset : launch.addresses) std::memset(parameters.data() + offset, 0xff, 8);
  for (const MapPlace& place : launch.tensor_maps) {  // a map holds an address
    std::memset(parameters.data() + place.offset, 0xff, tensor_map_bytes);
    const CapturedTensorMap& map = events_->maps[static_cast<std::size_t>(place.map - first_map_)].map;
    parameters += fmt::format("{} {} {} {} {};", place.offset, map.type, fmt::join(map.dims, ","),
                              fmt::join(map.strides, ","), fmt::join(map.box, ","));
  }
  std::map<std::string, std::size_t>& kinds = launches_[geometry];
  const auto known = kinds.find(parameters);
  if (known != kinds.end()) return known->second;
  if (kinds.size() >= most_parameter_kinds) {
    launch.parameters.clear();
    launch.addresses.clear();
    launch.tensor_maps.clear();
    parameters.clear();
    if (const auto rest = kinds.find(parameters); rest != kinds.end()) return rest->second;
  }
  kinds[parameters] = capture_->launches.size();
  capture_->launches.push_back(std::move(launch));
  return capture_->launches.size() - 1;
}

void TraceJoin::add_modules_and_maps() {
  for (const TraceModule& module : events_->modules) {
    const auto same = [&](const CapturedModule& known) { return known.hash == module.hash; };
    if (std::none_of(capture_->modules.begin(), capture_->modules.end(), same))
      capture_->modules.push_back({module.hash, module.bytes});
  }
  for (const TraceMap& map : events_->maps) {
    maps_.emplace(map.bytes, static_cast<std::int64_t>(capture_->tensor_maps.size()));
    capture_->tensor_maps.push_back(map.map);
    capture_->tensor_maps.back().process = process_;
  }
}

// A node of an executable graph is a clone of one that a launch in a stream capture made.
const TraceCall* TraceJoin::call_of_node(std::uint64_t node) const {
  for (int depth = 0; depth < 16; ++depth) {
    const auto found = events_->nodes.find(node);
    if (found == events_->nodes.end()) return nullptr;
    if (const auto call = events_->calls.find(found->second.call); call != events_->calls.end()) return &call->second;
    node = found->second.original;
  }
  return nullptr;
}

// A counted launch has no time: the profiler slows it. `unnamed`: no launch has this run's number; where launches were
// recorded without numbers it is one of those.
void TraceJoin::add_run(std::size_t place, const TraceRun& run, bool unnamed) {
  CapturedLaunch& launch = capture_->launches[place];
  if (!(hooked_ && unnamed)) ++launch.count;
  if (counted_.contains(run.correlation)) return;
  if (run.end < run.start || run.start < origin_ || run.start == 0) return;
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  launch.starts_ns.push_back(static_cast<std::int64_t>(std::min(run.start - origin_, most)));
  launch.durations_ns.push_back(static_cast<std::int64_t>(std::min(run.end - run.start, most)));
}

std::size_t TraceJoin::place_of(const TraceRun& run, std::uint64_t call_id) {
  const auto [place, added] = places_.emplace(std::array{call_id, run.shape, run.stream, run.node}, 0);
  if (!added) return place->second;
  const TraceShape& shape = events_->shapes.at(run.shape);
  const auto found = events_->calls.find(call_id);
  const TraceCall* call = run.node != 0                   ? call_of_node(run.node)
                          : found != events_->calls.end() ? &found->second
                                                          : nullptr;
  CapturedLaunch launch = call != nullptr ? described(*call) : described(shape);
  if (launch.kernel < 0) launch = described(shape);
  launch.cluster = shape.cluster;
  launch.device = shape.device;
  launch.stream = static_cast<std::int64_t>(run.stream & 0xffffffffU);
  launch.graph_node = static_cast<std::int64_t>(run.node & 0x7fffffffffffffffU);
  note_timed(launch);
  return place->second = launch_place(std::move(launch));
}

void TraceJoin::add_runs() {
  std::unordered_map<std::uint64_t, std::uint64_t> call_at;  // by correlation
  for (const TraceLaunch& launch : events_->launches)
    if (launch.correlation != 0) call_at[launch.correlation] = launch.call;
    else hooked_ = true;
  for (const TraceCount& count : events_->counts) counted_.insert(count.correlation);
  std::vector<TraceRun> runs = events_->runs;
  std::sort(runs.begin(), runs.end(), [](const TraceRun& a, const TraceRun& b) { return a.start < b.start; });
  for (const TraceRun& run : runs)
    if (run.start != 0 && (origin_ == 0 || run.start < origin_)) origin_ = run.start;
  // CUPTI 13.0 reports a counted launch twice: also on a stream of its own, which has a lower number.
  std::unordered_map<std::uint64_t, std::uint64_t> stream_of_counted;
  for (const TraceRun& run : runs)
    if (counted_.contains(run.correlation)) {
      std::uint64_t& stream = stream_of_counted[run.correlation];
      stream = std::max(stream, run.stream);
    }
  for (const TraceRun& run : runs) {
    if (!events_->shapes.contains(run.shape)) continue;
    const auto counted = stream_of_counted.find(run.correlation);
    if (counted != stream_of_counted.end() && counted->second != run.stream) continue;
    const auto call = run.node == 0 ? call_at.find(run.correlation) : call_at.end();
    const std::size_t place = place_of(run, call != call_at.end() ? call->second : 0);
    if (call != call_at.end()) {
      place_of_call_.emplace(call->second, place);
      place_of_correlation_.emplace(run.correlation, place);
    }
    add_run(place, run, call == call_at.end() && run.node == 0);
  }
}

// Launches without a time: they were not sampled, or the process ended before CUPTI delivered it.
void TraceJoin::add_untimed() {
  for (const TraceLaunch& launch : events_->launches) {
    if (launch.correlation != 0 && place_of_correlation_.contains(launch.correlation)) continue;
    auto place = place_of_call_.find(launch.call);
    if (place == place_of_call_.end()) {
      const auto call = events_->calls.find(launch.call);
      if (call == events_->calls.end() || kernel_of(call->second) < 0) continue;
      CapturedLaunch untimed = described(call->second);
      add_place(untimed);
      place = place_of_call_.emplace(launch.call, launch_place(std::move(untimed))).first;
    }
    ++capture_->launches[place->second].count;
  }
}

void TraceJoin::add_counts() {
  for (const TraceCount& count : events_->counts) {
    if (count.counted.values.empty()) continue;
    const auto exact = place_of_correlation_.find(count.correlation);
    const auto by_call = place_of_call_.find(count.call);
    if (exact != place_of_correlation_.end()) capture_->launches[exact->second].counted.push_back(count.counted);
    else if (by_call != place_of_call_.end()) capture_->launches[by_call->second].counted.push_back(count.counted);
  }
}

void TraceJoin::join() {
  add_modules_and_maps();
  add_runs();
  add_untimed();
  add_counts();
  capture_->processes.push_back(events_->process);
}

}  // namespace

bool add_trace(std::string_view trace, const HasKernel& has_kernel, Capture& capture) {
  TraceEvents events;
  if (!read_events(trace, events)) return false;
  TraceJoin(events, has_kernel, capture).join();
  return true;
}

}  // namespace tilescope::capture
