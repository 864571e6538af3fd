#include "import/formats/torch_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "import/formats/calls_of_launches.h"
#include "import/formats/json_events.h"
#include "import/formats/packed_input.h"

namespace tilescope::imported {
namespace {

using Json = nlohmann::json;

const Json nothing = Json::object();

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A finite number, also one that is written as text; nullopt: none.
std::optional<double> number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// An integer from 0 to 2^53; nullopt: none.
std::optional<std::int64_t> count_of(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (!(number >= 0 && number < 9e15) || number != std::floor(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> count_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : count_of(*found);
}

std::optional<std::array<std::int64_t, 3>> extent_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->size() != 3) return std::nullopt;
  std::array<std::int64_t, 3> extent{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = count_of((*found)[i]);
    if (!value || *value < 1) return std::nullopt;
    extent[i] = *value;
  }
  return extent;
}

const Json& arguments_of(const Json& event) {
  const auto found = event.find("args");
  return found != event.end() && found->is_object() ? *found : nothing;
}

// Names the thread of an event; ids are numbers or texts.
std::string thread_of(const Json& event) {
  std::string name;
  for (const char* key : {"pid", "tid"})
    if (const auto found = event.find(key); found != event.end() && (found->is_number() || found->is_string()))
      name += found->dump(-1, ' ', false, Json::error_handler_t::replace) + " ";
  return name;
}

ToolOperator operator_of(const Json& event) {
  const Json& arguments = arguments_of(event);
  ToolOperator call{.name = text_at(event, "name"), .dims = {}, .types = {}, .values = {}};
  constexpr std::size_t most_arguments = 64;
  if (const auto dims = arguments.find("Input Dims"); dims != arguments.end() && dims->is_array())
    for (const Json& each : *dims) {
      std::vector<std::int64_t> sizes;
      if (each.is_array() && each.size() <= 8)
        for (const Json& size : each) sizes.push_back(count_of(size).value_or(0));
      if (call.dims.size() < most_arguments) call.dims.push_back(std::move(sizes));
    }
  const auto texts = [&](const char* key, std::vector<std::string>& into) {
    const auto list = arguments.find(key);
    if (list == arguments.end() || !list->is_array()) return;
    for (const Json& each : *list)
      if (into.size() < most_arguments) into.push_back(each.is_string() ? each.get<std::string>() : "");
  };
  texts("Input type", call.types), texts("Concrete Inputs", call.values);
  return call;
}

class TraceReader {
 public:
  TraceReader(ToolFile& file, const OperatorTable& table) : file_(&file), table_(&table) {}

  void take(const std::string& key, const Json& value) {
    if (key == "traceEvents") take_event(value);
    else if (key == "deviceProperties") take_devices(value);
    else if (key == "cuda_runtime_version") file_->cuda = version(value);
    else if (key == "cupti_version") file_->cupti = value.is_number() ? value.dump() : "";
  }

  void finish() {
    std::stable_sort(launches_.begin(), launches_.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    link_calls(spans_, starts_, launches_, *file_);
    if (without_time_ > 0) file_->notes.push_back(fmt::format("{} kernels without times are left out", without_time_));
  }

 private:
  static std::string version(const Json& value) {  // 13020 is 13.2
    const auto number = count_of(value);
    return number ? fmt::format("{}.{}", *number / 1000, *number % 1000 / 10) : "";
  }

  void take_event(const Json& event) {
    if (!event.is_object() || text_at(event, "ph") != "X") return;
    std::string category = text_at(event, "cat");
    std::transform(category.begin(), category.end(), category.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto start = number_at(event, "ts"), duration = number_at(event, "dur");
    if (!start || !duration || *duration < 0) {
      without_time_ += category == "kernel";
      return;
    }
    if (category == "kernel") take_kernel(event, *start, *duration);
    else if (category == "cpu_op" || category == "operator") take_operator(event, *start, *duration);
    else if (category == "cuda_runtime" || category == "cuda_driver" || category == "runtime")
      take_launch_call(event, *start);
  }

  void take_kernel(const Json& event, double start, double duration) {
    const Json& arguments = arguments_of(event);
    TimedLaunch timed{.launch = {}, .start = start, .correlation = count_at(arguments, "correlation")};
    ToolLaunch& launch = timed.launch;
    launch.id = timed.correlation ? std::to_string(*timed.correlation) : fmt::format("at {:.3f}", start);
    launch.name = text_at(event, "name");
    launch.grid = extent_at(arguments, "grid"), launch.block = extent_at(arguments, "block");
    launch.registers = count_at(arguments, "registers per thread");
    launch.total_smem = count_at(arguments, "shared memory");
    launch.device = count_at(arguments, "device").value_or(0);
    launch.seconds = duration * 1e-6;
    launches_.push_back(std::move(timed));
  }

  void take_operator(const Json& event, double start, double duration) {
    const auto rank = table_->rank(text_at(event, "name"));
    if (!rank) return;
    spans_[thread_of(event)].push_back({start, start + duration, file_->operators.size(), *rank});
    file_->operators.push_back(operator_of(event));
  }

  void take_launch_call(const Json& event, double start) {
    if (const auto correlation = count_at(arguments_of(event), "correlation"))
      starts_.emplace(*correlation, LaunchCall{thread_of(event), start});
  }

  void take_devices(const Json& list) {
    if (!list.is_array()) return;
    for (const Json& each : list) {
      if (!each.is_object()) continue;
      ToolDevice device;
      device.name = text_at(each, "name");
      const auto major = count_at(each, "computeMajor"), minor = count_at(each, "computeMinor");
      if (major && minor) device.compute_capability = fmt::format("{}.{}", *major, *minor);
      device.units = count_at(each, "numSms").value_or(0);
      device.memory_bytes = count_at(each, "totalGlobalMem").value_or(0);
      file_->devices[count_at(each, "id").value_or(0)] = device;
    }
  }

  ToolFile* file_;
  const OperatorTable* table_;
  std::vector<TimedLaunch> launches_;
  Spans spans_;
  LaunchCalls starts_;
  std::size_t without_time_ = 0;
};

}  // namespace

ToolFile read_torch_trace(const std::filesystem::path& path, const OperatorTable& table) {
  ToolFile file;
  file.path = path.string(), file.form = ToolForm::torch_trace;
  PackedInput input(path);
  TraceReader reader(file, table);
  read_json_events(input, file.path, "traceEvents",
                   [&](const std::string& key, const Json& value) { reader.take(key, value); });
  reader.finish();
  if (file.launches.empty())
    throw InputError(Diagnostic{
        .file = file.path,
        .message = "has no kernel of a GPU; profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"});
  const bool no_shapes =
      !file.operators.empty() && std::all_of(file.operators.begin(), file.operators.end(),
                                             [](const ToolOperator& each) { return each.dims.empty(); });
  if (no_shapes) file.notes.emplace_back("the trace has no shapes: profile with record_shapes=True, or give --point");
  return file;
}

}  // namespace tilescope::imported
