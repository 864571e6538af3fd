// What a record says of each quantity of the model: counters through the profile's metric names and scales.
#include <algorithm>
#include <cmath>

#include "compare/compare.h"

namespace tilescope {
namespace {

using Counters = std::map<std::string, double>;

std::optional<double> read(const Counters& counters, const std::optional<Counter>& counter) {
  if (!counter) return std::nullopt;
  const auto found = counters.find(counter->metric);
  if (found == counters.end()) return std::nullopt;
  return found->second * counter->scale;
}

std::optional<double> work(const Counters& counters, const HardwareProfile& hardware, const std::string& key) {
  const auto counter = hardware.work_counters.find(key);
  return counter == hardware.work_counters.end() ? std::nullopt : read(counters, counter->second);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Register traffic has no counter: executed instructions by type times operand widths (see add_register_traffic).
struct RegisterTraffic {
  double read = 0, write = 0;
};
std::optional<RegisterTraffic> register_traffic(const validate::Record& record, const HardwareProfile& hardware, const Plan& plan) {
  RegisterTraffic total;
  static constexpr std::array<double, pipe_count> operands{1, 3, 2, 2};
  for (std::size_t i = 0; i < pipe_count; ++i) {
    const auto count = work(record.counters, hardware, to_string(static_cast<Pipe>(i)));
    if (!count) return std::nullopt;
    total.read += *count * 4 * operands[i];
    total.write += *count * 4;
  }
  for (const IslandImplementation& island : plan.kernel.islands) {
    if (!island.uses_tensor_cores()) continue;
    const auto flop = work(record.counters, hardware, "tensor_flop." + to_string(record.point.dtype));
    const auto fragments = work(record.counters, hardware, "smem_ldsm_bytes");
    if (!flop || !fragments) return std::nullopt;
    const double m = static_cast<double>(island.mma.m), n = static_cast<double>(island.mma.n), k = static_cast<double>(island.mma.k);
    const double instructions = *flop / (2 * m * n * k), width = bits(record.point.dtype) / 8.0;
    total.read += instructions * ((m * k + k * n) * width + 4 * m * n);
    total.write += instructions * 4 * m * n + *fragments;
    break;  // the counters hold all islands; one instruction shape serves them
  }
  return total;
}

}  // namespace

std::vector<Measured> measured_quantities(const validate::Record& record, const HardwareProfile& hardware, const Plan& plan) {
  std::vector<Measured> found;
  const auto add = [&](const char* quantity, const char* level, const char* direction, std::optional<double> value) {
    if (value) found.push_back({quantity, level, direction, *value});
  };
  const bool tensor = std::any_of(plan.kernel.islands.begin(), plan.kernel.islands.end(), [](const auto& i) { return i.uses_tensor_cores(); });
  if (tensor) add("tensor_flop", "", "", work(record.counters, hardware, "tensor_flop." + to_string(record.point.dtype)));
  const MemoryLevel* hbm = hardware.level("hbm");
  const MemoryLevel* l2 = hardware.level("l2");
  if (l2) add("traffic", "l2", "read", read(record.counters, l2->counters.read));
  if (l2) add("traffic", "l2", "write", read(record.counters, l2->counters.write));
  if (hbm) add("traffic", "hbm", "read", read(record.counters, hbm->counters.read));
  if (hbm) add("traffic", "hbm", "write", read(record.counters_with_flush, hbm->counters.write));
  // All of shared memory: ldmatrix and plain loads out, cp.async and plain stores in. cp.async is counted by instruction, 16
  // bytes a lane, because its byte counter leaves out some of the zeros that fill ragged tiles.
  constexpr double bytes_per_copy = 16 * 32;
  const auto both = [&](const char* first, double scale, const char* second) -> std::optional<double> {
    const auto a = work(record.counters, hardware, first), b = work(record.counters, hardware, second);
    return a && b ? std::optional(*a * scale + *b) : std::nullopt;
  };
  if (tensor) add("traffic", "smem", "read", both("smem_ldsm_bytes", 1, "smem_load_bytes"));
  if (tensor) add("traffic", "smem", "write", both("ldgsts_instructions", bytes_per_copy, "smem_store_bytes"));
  if (tensor) add("operand_bytes", "smem", "read", work(record.counters, hardware, "smem_ldsm_bytes"));
  for (int i = 0; i < pipe_count; ++i) {
    const std::string pipe = to_string(static_cast<Pipe>(i));
    add(pipe.c_str(), "", "", work(record.counters, hardware, pipe));
  }
  if (const auto registers = register_traffic(record, hardware, plan)) {
    add("traffic", "register", "read", registers->read);
    add("traffic", "register", "write", registers->write);
  }
  if (!record.steady_seconds.empty()) add("seconds", "", "", median(record.steady_seconds));
  if (!record.cold_seconds.empty()) add("seconds_cold", "", "", median(record.cold_seconds));
  return found;
}

}  // namespace tilescope
