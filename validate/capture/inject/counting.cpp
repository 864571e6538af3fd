#include "validate/capture/inject/counting.h"

#include "validate/capture/inject/counted_context.h"
#include "validate/capture/inject/driver.h"
#include "validate/capture/inject/hash.h"

namespace tilescope::capture {
namespace {

// The counted launch that this thread is in.
struct PendingCount {
  CountedContext* context = nullptr;
  std::size_t group = 0;
  std::uint64_t read_through = 0;
  std::unique_lock<std::mutex> gate;
};
thread_local PendingCount pending;

}  // namespace

LaunchCounting& LaunchCounting::instance() {
  static LaunchCounting& counting = *new LaunchCounting;
  return counting;
}

void LaunchCounting::switch_on(bool cold) {
  cold_ = cold;
  on_ = true;
}

void LaunchCounting::give_up(const std::string& note) {
  on_ = false;
  Recorder::instance().note(note);
}

// Waiting for the device breaks a stream capture. A collective waits for other processes, and its kernels run beside
// others.
bool LaunchCounting::may_count(const LaunchArguments& arguments) const {
  return !Recorder::instance().capturing() &&
         !Recorder::instance().function(arguments.function).symbol.starts_with("nccl");
}

CountedContext& LaunchCounting::current_context() {
  CUcontext context = nullptr;
  if (driver().current_context(&context) != CUDA_SUCCESS || context == nullptr)
    throw DeviceError("a launch without a current context");
  std::unique_ptr<CountedContext>& counted = contexts_[context];
  if (!counted) counted = std::make_unique<CountedContext>(context);
  return *counted;
}

// nullptr: too many kinds.
std::size_t* LaunchCounting::launches_of_kind(const LaunchArguments& a) {
  const std::uint64_t words[] = {Recorder::instance().function(a.function).id,
                                 a.grid[0],
                                 a.grid[1],
                                 a.grid[2],
                                 a.block[0],
                                 a.block[1],
                                 a.block[2],
                                 a.cluster[0],
                                 a.cluster[1],
                                 a.cluster[2],
                                 a.dynamic_shared};
  const std::uint64_t key = hash_of({reinterpret_cast<const char*>(words), sizeof(words)}, 6);
  if (const auto known = kinds_.find(key); known != kinds_.end()) return &known->second;
  return kinds_.size() < most_kinds ? &kinds_[key] : nullptr;
}

bool LaunchCounting::before(const LaunchArguments& arguments) {
  std::unique_lock gate(gate_);
  if (!on() || !may_count(arguments)) return false;
  try {
    CountedContext& context = current_context();
    std::size_t* launches = launches_of_kind(arguments);
    const std::size_t block = rounds + 1;  // launches of a group, and one that is timed
    if (launches == nullptr || *launches >= block * context.groups() || ++*launches % block == 0) {
      if (++uncounted_ == most_uncounted) context.rest();
      return false;
    }
    uncounted_ = 0;
    const std::size_t group = (*launches - 1) / block;
    const std::uint64_t read_through = cold_ ? context.read_through() : 0;
    context.begin(group);
    pending = {&context, group, read_through, std::move(gate)};
    return true;
  } catch (const DeviceError& error) {
    give_up(std::string("no further counters: ") + error.what());
  }
  return false;
}

void LaunchCounting::after(std::uint64_t call, std::uint32_t correlation) {
  if (pending.context == nullptr) return;
  PendingCount done = std::move(pending);
  pending = {};
  try {
    const std::string& group = done.context->group_name(done.group);
    const auto values = done.context->end(done.group);
    if (values.empty() && empty_groups_.insert(group).second)
      Recorder::instance().note("CUPTI returned no values for metric group " + group);
    Recorder::instance().counted(call, correlation, done.read_through, group, values);
  } catch (const DeviceError& error) {
    give_up(std::string("no further counters: ") + error.what());
  }
}

void LaunchCounting::context_ends(CUcontext context) {
  if (!on()) return;
  const std::lock_guard lock(gate_);
  contexts_.erase(context);
}

}  // namespace tilescope::capture
