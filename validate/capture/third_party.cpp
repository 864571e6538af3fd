// The C interface for measuring third-party kernels from a script. The script makes the calls; this library counts,
// times and writes records. Every function returns JSON text that is valid until the next call; {"error": ...} holds
// the error message.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "hardware/profile.h"
#include "records/record_store.h"
#include "validate/capture/launch_watch.h"
#include "validate/measure/counters/counting.h"
#include "validate/measure/cuda_check.h"
#include "validate/measure/timing.h"

namespace {

using namespace tilescope;
using namespace tilescope::validate;
using Json = nlohmann::ordered_json;
using Call = void (*)();

std::string answer;
std::unique_ptr<Experiment> experiment;
std::unique_ptr<Bench> bench;
std::unique_ptr<RecordStore> store;

template <class Function>
const char* answered(const Function& function) {
  try {
    answer = function().dump();
  } catch (const std::exception& error) {
    answer = Json{{"error", error.what()}}.dump();
  }
  return answer.c_str();
}

Json point_json(const MeasurePoint& p) {
  const PointWorkload& w = p.workload;
  return {{"id", point_id(p)},  {"kernel", p.kernel},   {"mask", p.mask},         {"dtype", to_string(p.dtype)},
          {"batch", w.batch},   {"heads_q", w.heads_q}, {"heads_kv", w.heads_kv}, {"q_len", w.q_len},
          {"kv_len", w.kv_len}, {"head_dim", w.d_qk},   {"splits", p.splits}};
}

// Every fact of a launch that this process made is known.
Json launch_json(const WatchedLaunch& launch) {
  const LaunchFacts& f = launch.facts;
  return {{"kernel", launch.kernel},
          {"grid", f.grid},
          {"block", f.block},
          {"registers", f.registers_per_thread.value_or(0)},
          {"static_smem", f.static_smem.value_or(0)},
          {"dynamic_smem", f.dynamic_smem.value_or(0)},
          {"local_bytes", f.local_bytes_per_thread.value_or(0)},
          {"blocks_per_unit", f.blocks_per_unit}};
}

// The experiment's number of warps must equal that of the call's largest block.
void require_warps(const MeasurePoint& point, const std::vector<WatchedLaunch>& launches) {
  std::int64_t warps = 0;
  for (const WatchedLaunch& launch : launches) {
    const auto& block = launch.facts.block;
    warps = std::max(warps, block[0] * block[1] * block[2] / 32);
  }
  if (point.warps != 0 && warps != point.warps)
    throw DeviceError(point_id(point) + ": expected blocks of " + std::to_string(point.warps) +
                      " warps as the experiment states, the call launches " + std::to_string(warps) +
                      "; correct `warps`");
}

// The call's launches, each cold and in a range of its own.
void run_counted(Call call, std::size_t launches, const L2Flush& flush, RangeMarker& marker, const std::string& prefix,
                 bool flush_inside) {
  std::size_t seen = 0;
  const auto before = [&](std::size_t position) {
    if (position >= launches) throw DeviceError("the call launches more kernels than the first time");
    flush.enqueue(nullptr);
    marker.push(range_name(prefix, position));
  };
  const auto after = [&](std::size_t) {
    if (flush_inside) flush.enqueue(nullptr);
    marker.pop();
    ++seen;
  };
  around_launches([call] { call(); }, before, after);
  if (seen != launches) throw DeviceError("the call launches fewer kernels than the first time");
}

Correctness read_correctness(const Json& json) {
  return {.max_error = json.at("max_error"),
          .tolerance = json.at("tolerance"),
          .checked_elements = json.at("checked_elements"),
          .passed = json.at("passed")};
}

Record measure_point(const MeasurePoint& point, Call call, Call timed, const Json& correctness) {
  const std::vector<WatchedLaunch> launches = launches_of([call] { call(); });
  require_warps(point, launches);
  Record record;
  record.experiment = bench->experiment;
  record.environment = bench->environment;
  record.environment.date = utc_now();
  record.point = point;
  record.correctness = read_correctness(correctness);
  kernels::Launch whole;
  whole.enqueue = [timed](void*) { timed(); };
  const Timing timing = time_launches({whole}, bench->flush, bench->cold_repeats, bench->steady_repeats, *bench->nvml);
  record.cold_seconds = timing.cold;
  record.steady_seconds = timing.steady;
  record.clocks = timing.clocks;
  for (const WatchedLaunch& launch : launches) {
    MeasuredLaunch island;
    island.name = short_name(launch.kernel);
    island.launch = launch.facts;
    record.islands.push_back(std::move(island));
  }
  const auto run = [&](RangeMarker& marker, const std::string& prefix, bool flush_inside) {
    run_counted(call, launches.size(), bench->flush, marker, prefix, flush_inside);
  };
  count_islands(*bench, run, record);
  return record;
}

const MeasurePoint& point_at(int index) {
  if (!bench) throw DeviceError("tilescope_open comes first");
  return experiment->points.at(static_cast<std::size_t>(index));
}

}  // namespace

extern "C" {

// Reads the experiment, finds its hardware profile and gets the current device's counters ready: {"points": [...]}.
const char* tilescope_open(const char* data_directory, const char* experiment_file, const char* revision) {
  return answered([&] {
    experiment = std::make_unique<Experiment>(load_experiment(experiment_file));
    const std::filesystem::path profiles = std::filesystem::path(data_directory) / "hardware";
    require_counters();
    bench = std::make_unique<Bench>(make_bench(*experiment, find_profile(experiment->hardware, profiles), revision));
    Json points = Json::array();
    for (const MeasurePoint& point : experiment->points) points.push_back(point_json(point));
    return Json{{"points", points}};
  });
}

// What `call` launches: {"launches": [...]}.
const char* tilescope_launches(Call call) {
  return answered([&] {
    Json list = Json::array();
    for (const WatchedLaunch& launch : launches_of([call] { call(); })) list.push_back(launch_json(launch));
    return Json{{"launches", list}};
  });
}

// Measures a point of the experiment and adds its record to <output>/<experiment>.jsonl: {"file": ..., "counters":
// {...}}. `call` does the work on the default stream; `timed` does the same with as little host work as possible.
const char* tilescope_measure(int index, Call call, Call timed, const char* correctness, const char* output) {
  return answered([&] {
    const MeasurePoint& point = point_at(index);
    const Record record = measure_point(point, call, timed, Json::parse(correctness));
    const std::filesystem::path file = std::filesystem::path(output) / (bench->experiment + ".jsonl");
    if (!store || store->file() != file) store = std::make_unique<RecordStore>(output, bench->experiment);
    store->put(record);
    return Json{{"file", file.string()}, {"counters", record.counters}, {"steady", record.steady_seconds}};
  });
}

}  // extern "C"
