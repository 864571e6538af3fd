// Helpers for calls of CUPTI: parameter structs with their size set, and error codes turned into exceptions.
#pragma once

#include <cupti_profiler_host.h>
#include <cupti_result.h>
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"

namespace tilescope::validate {

inline std::string describe(CUptiResult result) {
  const char* text = nullptr;
  return cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != nullptr
             ? std::string(text)
             : fmt::format("CUPTI error {}", static_cast<int>(result));
}

inline void check(CUptiResult result, const char* call) {
  if (result != CUPTI_SUCCESS) throw DeviceError(fmt::format("{} failed: {}", call, describe(result)));
}

// A zeroed CUPTI parameter struct; CUPTI wants its size as of the header compiled with.
template <class Params>
Params sized(std::size_t struct_size) {
  Params params{};
  params.structSize = struct_size;
  return params;
}

#define TILESCOPE_PARAMS(type) (::tilescope::validate::sized<type>(type##_STRUCT_SIZE))
#define TILESCOPE_CUPTI(call, params) (::tilescope::validate::check(call(&(params)), #call))

// CUPTI's host-side object for one chip: resolves metrics, schedules them into passes, evaluates counter data.
class CuptiHost {
 public:
  // availability: the device's image of permitted counters; empty for a chip that is not in this machine.
  explicit CuptiHost(const std::string& chip, const std::vector<std::uint8_t>& availability = {});
  ~CuptiHost();
  CuptiHost(const CuptiHost&) = delete;
  CuptiHost& operator=(const CuptiHost&) = delete;

  CUpti_Profiler_Host_Object* get() const { return object_; }
  // false: the chip lacks one of them. Add all metrics of a session in one call: CUPTI 13.0 schedules each call's
  // metrics into passes of their own, and the values of `*_sass_*` metrics added by several calls come out wrong.
  bool add(const std::vector<std::string>& metrics);
  std::vector<std::uint8_t> config_image() const;
  static int passes_of(std::vector<std::uint8_t>& config_image);

 private:
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

// Checks each metric separately, because CUPTI rejects a whole list for one unknown name. Duplicates are dropped.
struct SortedMetrics {
  std::vector<std::string> known, unknown;
};
SortedMetrics sort_metrics(const std::string& chip, const std::vector<std::string>& metrics,
                           const std::vector<std::uint8_t>& availability);

}  // namespace tilescope::validate
