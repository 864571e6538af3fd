// Hardware counters through CUPTI. No CUPTI types, so that the CUDA-free part of the program may include it; CMake
// picks counters_cupti.cpp + counter_session.cpp or counters_none.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::validate {

// ---- Host part: needs CUPTI's libraries but neither a driver nor a GPU. ----

// What collecting a set of metrics on one chip requires.
struct CounterPlan {
  std::vector<std::string> unknown;  // names the chip does not have, in the order given
  int passes = 0;                    // runs of the work needed for the known metrics; 0 if there are none
};

// Version of the CUPTI library in use ("13.0.1"); nullopt: this program was built without CUPTI.
std::optional<std::string> cupti_version();

// CUPTI chip names ("GH100") in CUPTI's order; empty when built without CUPTI.
std::vector<std::string> supported_chips();

// Resolves each name separately, because CUPTI rejects a whole list for one unknown name, and counts the passes of the
// known ones. nullopt: built without CUPTI, or CUPTI does not support the chip. Throws DeviceError when CUPTI fails.
std::optional<CounterPlan> plan_counters(const std::string& chip, const std::vector<std::string>& metrics);

// ---- Device part. ----

enum class Readiness { ready, not_built, no_driver, no_device, not_permitted, failed };

struct Preflight {
  Readiness readiness = Readiness::not_built;
  std::string message;  // one line: the problem and its remedy; for `ready`, the GPU
};

// Whether counters can be read here: driver, device, permission. Creates the CUDA context as a side effect.
Preflight preflight();

// Throws DeviceError with preflight's line unless it is `ready`.
void require_counters();

// CUPTI's name of the current device's chip ("GH100"). Throws DeviceError.
std::string current_chip();

// One stretch of work to count. Each pass runs `before` (not counted: flush the caches, set inputs), then `work`.
// `work` must do the same each time. Both may leave work on any stream; the session waits for it.
struct CounterRange {
  std::string name;  // unique in a session
  std::function<void()> before, work;
};

// Begins and ends the counted ranges of a pass. Both wait for all work of the device.
class RangeMarker {
 public:
  virtual ~RangeMarker() = default;
  virtual void push(const std::string& range) = 0;
  virtual void pop() = 0;
};

struct CounterResult {
  std::map<std::string, std::map<std::string, double>> values;  // by range, then metric
  std::vector<std::string> unavailable;                         // metrics this chip lacks, in the order asked for
  int passes = 0;
};

// A set of metrics on the current device, to be collected over any number of ranges.
class CounterSession {
 public:
  // Throws DeviceError when counters cannot be read here (see preflight).
  explicit CounterSession(const std::vector<std::string>& metrics);
  ~CounterSession();
  CounterSession(CounterSession&&) noexcept;
  CounterSession& operator=(CounterSession&&) noexcept;

  // User ranges, user replay: runs all ranges once a pass. Throws DeviceError on a CUPTI failure or a dropped range.
  CounterResult collect(const std::vector<CounterRange>& ranges);
  // For ranges that begin and end inside other code. Calls `pass` once per pass; each call must mark every one of
  // `ranges` once and do the same work.
  CounterResult collect(const std::vector<std::string>& ranges, const std::function<void(RangeMarker&)>& pass);
  int passes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope::validate
