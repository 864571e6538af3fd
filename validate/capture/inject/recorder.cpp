#include "validate/capture/inject/recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "validate/capture/inject/driver.h"
#include "validate/capture/inject/hash.h"

namespace tilescope::capture {
namespace {

struct ThreadState {
  RangeStack ranges;
  std::uint32_t last_module = 0;
  std::uint64_t call = 0;             // the launch that this thread is inside of
  bool captured = false;              // into a graph: it does not run
  std::string parameters;             // of that launch
  std::vector<std::uint64_t> hidden;  // addresses among them
  // Copies of entries of the recorder's tables, by a part of their hash, so that a launch takes no lock for them.
  std::uint64_t epoch = 0;
  std::array<std::pair<CUfunction, const KnownFunction*>, 64> functions{};
  std::array<std::pair<std::uint64_t, std::uint64_t>, 256> calls{};
  std::array<std::pair<std::uint64_t, std::uint64_t>, 64> range_ids{};  // by key of the path
};
thread_local ThreadState thread;

// In the order in which the function takes them.
void copy_parameters(const KnownFunction& function, const LaunchArguments& arguments, std::string& bytes) {
  bytes.assign(function.parameter_bytes, '\0');
  if (arguments.parameters != nullptr) {
    for (std::size_t i = 0; i < function.parameters.size(); ++i)
      if (arguments.parameters[i] != nullptr)
        std::memcpy(bytes.data() + function.parameters[i].first, arguments.parameters[i],
                    function.parameters[i].second);
  } else if (arguments.extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t size = 0;
    for (void** at = arguments.extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
      else if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<std::size_t*>(at[1]);
      else break;
    }
    if (buffer != nullptr) std::memcpy(bytes.data(), buffer, std::min(size, bytes.size()));
  }
}

std::string file_text(const char* path, std::size_t most) {
  std::string text;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  text.resize(most);
  const ssize_t got = ::read(file, text.data(), most);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(file);
  return text;
}

// Complete or absent: written under another name first.
void write_cubin(const std::string& directory, const std::string& name, std::string_view content) {
  const std::string path = directory + "/cubins/" + name + ".cubin";
  if (::access(path.c_str(), F_OK) == 0) return;
  const std::string partial = path + "." + std::to_string(::getpid());
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::write(file, content.data() + done, content.size() - done);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  ::close(file);
  if (done == content.size()) ::rename(partial.c_str(), path.c_str());
  else ::unlink(partial.c_str());
}

}  // namespace

Recorder& Recorder::instance() {
  static Recorder& recorder = *new Recorder;
  return recorder;
}

bool Recorder::open(const std::string& directory) {
  directory_ = directory;
  return writer_.open(directory + "/traces");
}

void Recorder::process(std::uint64_t cupti_version) {
  int driver_version = 0;
  if (driver().version != nullptr) driver().version(&driver_version);
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  writer_.put(TraceKind::process,
              {trace_version, static_cast<std::uint64_t>(::getpid()), static_cast<std::uint64_t>(::getppid()),
               static_cast<std::uint64_t>(now.count()), cupti_version, static_cast<std::uint64_t>(driver_version)},
              file_text("/proc/self/cmdline", 16384));
}

void Recorder::devices() {
  int count = 0;
  if (driver().device_count(&count) != CUDA_SUCCESS) return;
  for (int device = 0; device < count; ++device) {
    const auto attribute = [device](CUdevice_attribute name) {
      int value = 0;
      driver().device_attribute(&value, name, device);
      return static_cast<std::uint64_t>(value);
    };
    char name[256] = {};
    std::size_t memory = 0;
    driver().device_name(name, sizeof(name) - 1, device);
    driver().device_memory(&memory, device);
    writer_.put(
        TraceKind::device,
        {static_cast<std::uint64_t>(device), attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
         attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
         attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), memory},
        name);
  }
}

void Recorder::module_loaded(const CUpti_ModuleResourceData& module) {
  if (!active()) return;
  const std::string_view cubin(module.pCubin, module.pCubin != nullptr ? module.cubinSize : 0);
  if (cubin.size() < 16384 && cubin.find(own_kernel) != std::string_view::npos) return;
  const std::uint64_t high = hash_of(cubin, 1), low = hash_of(cubin, 2);
  char name[33] = {};
  std::snprintf(name, sizeof(name), "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  if (!cubin.empty()) write_cubin(directory_, name, cubin);
  writer_.put(TraceKind::module, {module.moduleId, cubin.size(), high, low});
  thread.last_module = module.moduleId;
}

void Recorder::module_unloading(const CUpti_ModuleResourceData& module) {
  writer_.put(TraceKind::module_unload, {module.moduleId});
  const std::lock_guard lock(mutex_);
  functions_.clear();  // the driver may give its handles again
  calls_.clear();
  ++epoch_;
}

void Recorder::module_opened(CUmodule module) {
  if (thread.last_module == 0) return;
  writer_.put(TraceKind::module_handle, {reinterpret_cast<std::uint64_t>(module), thread.last_module});
}

const KnownFunction& Recorder::function(CUfunction handle) {
  auto& copy = thread.functions[(reinterpret_cast<std::uintptr_t>(handle) >> 4) % thread.functions.size()];
  if (copy.first == handle) return *copy.second;
  const KnownFunction* known = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = functions_.find(handle); found != functions_.end()) known = found->second;
  }
  if (known == nullptr) known = &new_function(handle);
  copy = {handle, known};
  return *known;
}

const KnownFunction& Recorder::new_function(CUfunction handle) {
  // The driver may load the module now and call back, so no lock is held.
  const Driver& cuda = driver();
  CUfunction function = handle;
  int registers = 0;
  if (cuda.function_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS &&
      cuda.kernel_function(&function, reinterpret_cast<CUkernel>(handle)) == CUDA_SUCCESS)
    cuda.function_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  const auto attribute = [&](CUfunction_attribute name) {
    int value = 0;
    cuda.function_attribute(&value, name, function);
    return static_cast<std::uint64_t>(value);
  };
  CUmodule module = nullptr;
  cuda.function_module(&module, function);
  const char* symbol = nullptr;
  cuda.function_name(&symbol, function);
  auto* known = new KnownFunction;
  known->symbol = symbol != nullptr ? symbol : "";
  std::vector<std::uint64_t> words{0,
                                   reinterpret_cast<std::uint64_t>(module),
                                   static_cast<std::uint64_t>(registers),
                                   attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
                                   attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
                                   attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)};
  std::size_t offset = 0, bytes = 0;
  for (std::size_t i = 0; i < 1024 && cuda.parameter_info(function, i, &offset, &bytes) == CUDA_SUCCESS; ++i) {
    if (offset + bytes > 32768) break;
    known->parameters.emplace_back(offset, bytes);
    known->parameter_bytes = std::max(known->parameter_bytes, offset + bytes);
    words.push_back(offset);
    words.push_back(bytes);
  }
  const std::lock_guard lock(mutex_);
  known->id = words[0] = next_function_++;
  writer_.put(TraceKind::function, words, known->symbol);
  return *functions_.insert_or_assign(handle, known).first->second;
}

// Words that are addresses of device memory differ between launches of one shape. The trace names the allocations,
// so that a reader can tell such words. Returns where they are. The caller holds the lock.
std::vector<std::uint32_t> Recorder::note_memory(std::string_view parameters) {
  std::vector<std::uint32_t> found;
  for (std::size_t at = 0; at + 8 <= parameters.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, parameters.data() + at, 8);
    if (!may_be_address(word)) continue;
    const auto next = std::upper_bound(memory_.begin(), memory_.end(), std::pair(word, ~std::uint64_t{0}));
    if (next != memory_.begin() && word < std::prev(next)->first + std::prev(next)->second) {
      found.push_back(static_cast<std::uint32_t>(at));
      continue;
    }
    if (no_memory_.contains(word >> 21)) continue;
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (driver().address_range(&base, &size, word) == CUDA_SUCCESS && memory_.size() < most_entries) {
      memory_.insert(next, {base, size});
      writer_.put(TraceKind::memory, {base, size});
      found.push_back(static_cast<std::uint32_t>(at));
    } else {
      if (no_memory_.size() >= most_entries) no_memory_.clear();
      no_memory_[word >> 21] = true;
    }
  }
  return found;
}

std::uint64_t Recorder::call_of(const LaunchArguments& a) {
  std::call_once(devices_once_, [this] { devices(); });
  if (const std::uint64_t epoch = epoch_; thread.epoch != epoch) {
    thread.functions.fill({});
    thread.calls.fill({});
    thread.epoch = epoch;
  }
  const KnownFunction& known = function(a.function);
  copy_parameters(known, a, thread.parameters);
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (capturing()) driver().stream_capturing(a.stream, &capture);
  std::array<std::uint64_t, 14> words{0,
                                      known.id,
                                      a.grid[0],
                                      a.grid[1],
                                      a.grid[2],
                                      a.block[0],
                                      a.block[1],
                                      a.block[2],
                                      a.cluster[0],
                                      a.cluster[1],
                                      a.cluster[2],
                                      a.dynamic_shared,
                                      range_id(),
                                      capture != CU_STREAM_CAPTURE_STATUS_NONE ? std::uint64_t{1} : 0};
  const std::string_view head(reinterpret_cast<const char*>(words.data()), sizeof(words));
  known.addresses.hide(thread.parameters, thread.hidden);
  const std::uint64_t key = hash_of(thread.parameters, hash_of(head, 3));
  AddressWords::restore(thread.parameters, thread.hidden);
  auto& copy = thread.calls[key % thread.calls.size()];
  if (copy.first != key || copy.second == 0) copy = {key, call_id(known, key, words)};
  thread.call = copy.second;
  thread.captured = words[13] != 0;
  return copy.second;
}

void Recorder::launched(std::uint32_t correlation) {
  if (!thread.captured) writer_.put(TraceKind::launch, {thread.call, correlation});
}

std::uint64_t Recorder::call_id(const KnownFunction& known, std::uint64_t key, std::array<std::uint64_t, 14>& words) {
  const std::lock_guard lock(mutex_);
  if (const auto found = calls_.find(key); found != calls_.end()) return found->second;
  if (calls_.size() >= most_entries) calls_.clear();
  words[0] = calls_[key] = next_call_++;
  known.addresses.add(note_memory(thread.parameters));
  writer_.put(TraceKind::call, words, thread.parameters);
  return words[0];
}

void Recorder::counted(std::uint64_t call, std::uint32_t correlation, std::uint64_t read_through,
                       const std::string& group, const std::vector<std::pair<std::string, double>>& values) {
  std::string text = group + "\n";
  for (const auto& [metric, value] : values) {
    char number[64];
    std::snprintf(number, sizeof(number), " %.17g\n", value);
    text += metric + number;
  }
  writer_.put(TraceKind::counted, {call, correlation, read_through}, text);
}

void Recorder::graph_node(std::uint64_t node, std::uint64_t original) {
  writer_.put(TraceKind::graph_node, {node, original, original == 0 && capturing() ? thread.call : 0});
}

void Recorder::tensor_map(const void* parameters) {
  const auto& p = *static_cast<const cuTensorMapEncodeTiled_params*>(parameters);
  if (p.tensorMap == nullptr || p.tensorRank < 1 || p.tensorRank > 5) return;
  std::array<std::uint64_t, 26> words{0, static_cast<std::uint64_t>(p.tensorDataType), p.tensorRank};
  for (std::size_t i = 0; i < p.tensorRank; ++i) {
    words[3 + i] = p.globalDim[i];
    if (i + 1 < p.tensorRank) words[8 + i] = p.globalStrides[i];
    words[12 + i] = p.boxDim[i];
    words[17 + i] = p.elementStrides[i];
  }
  words[22] = static_cast<std::uint64_t>(p.interleave);
  words[23] = static_cast<std::uint64_t>(p.swizzle);
  words[24] = static_cast<std::uint64_t>(p.l2Promotion);
  words[25] = static_cast<std::uint64_t>(p.oobFill);
  const std::string_view bytes(reinterpret_cast<const char*>(p.tensorMap), tensor_map_bytes);
  const std::lock_guard lock(mutex_);
  if (tensor_maps_.size() >= most_entries) tensor_maps_.clear();
  if (!tensor_maps_.emplace(hash_of(bytes, 4), next_map_).second) return;
  words[0] = next_map_++;
  writer_.put(TraceKind::tensor_map, words, bytes);
}

void Recorder::kernel_ran(const CUpti_ActivityKernel10& k) {
  if (k.name != nullptr && std::string_view(k.name) == own_kernel) return;
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  std::array<std::uint64_t, 15> words{0,
                                      word(k.gridX),
                                      word(k.gridY),
                                      word(k.gridZ),
                                      word(k.blockX),
                                      word(k.blockY),
                                      word(k.blockZ),
                                      word(k.clusterX),
                                      word(k.clusterY),
                                      word(k.clusterZ),
                                      word(k.registersPerThread),
                                      word(k.staticSharedMemory),
                                      word(k.dynamicSharedMemory),
                                      word(k.localMemoryPerThread),
                                      word(k.deviceId)};
  const std::string_view head(reinterpret_cast<const char*>(words.data()), sizeof(words));
  const std::uint64_t key = mixed(hash_of(head, 5), reinterpret_cast<std::uint64_t>(k.name));
  {
    const std::lock_guard lock(mutex_);
    if (shapes_.size() >= most_entries) shapes_.clear();
    const auto [found, added] = shapes_.emplace(key, next_shape_);
    words[0] = found->second;
    if (added) {
      ++next_shape_;
      writer_.put(TraceKind::shape, words, k.name != nullptr ? k.name : "");
    }
  }
  writer_.put(TraceKind::run, {words[0], k.correlationId, k.start, k.end, k.streamId, k.graphId, k.graphNodeId});
}

// Of the path of this thread's ranges.
std::uint64_t Recorder::range_id() {
  const std::uint64_t key = thread.ranges.key();
  if (key == 0) return 0;
  auto& copy = thread.range_ids[key % thread.range_ids.size()];
  if (copy.first == key) return copy.second;
  const std::string path = thread.ranges.path();
  const std::lock_guard lock(mutex_);
  if (ranges_.size() >= most_entries) ranges_.clear();
  const auto [found, added] = ranges_.emplace(path, next_range_);
  if (added) writer_.put(TraceKind::range, {next_range_++}, path);
  copy = {key, found->second};
  return copy.second;
}

int Recorder::push_range(std::string_view name) { return thread.ranges.push(name); }
int Recorder::pop_range() { return thread.ranges.pop(); }

}  // namespace tilescope::capture
