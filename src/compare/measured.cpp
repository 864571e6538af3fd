// What a record says of each quantity of the model: counters through the profile's metric names and scales.
#include <algorithm>
#include <cmath>
#include <set>

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

std::optional<double> spread_of(std::vector<double> samples) {
  constexpr std::size_t fewest = 5;
  if (samples.size() < fewest) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  const std::size_t quarter = samples.size() / 4;
  return (samples[samples.size() - 1 - quarter] - samples[quarter]) / median(samples);
}

// FLOP in every format that the model says the kernel computes in; formats that share a counter are counted once.
std::optional<double> tensor_flop(const validate::Record& record, const HardwareProfile& hardware,
                                  const Prediction& prediction) {
  double total = 0;
  std::set<std::string> read_already;
  for (std::size_t i = 0; i < format_count; ++i) {
    if (prediction.work.tensor_flop_in[i] == 0) continue;
    const std::string key = "tensor_flop." + to_string(static_cast<Format>(static_cast<int>(i)));
    const auto value = work(record.counters, hardware, key);
    if (!value) return std::nullopt;
    if (read_already.insert(hardware.work_counters.at(key).metric).second) total += *value;
  }
  return total;
}

// Register traffic has no counter: executed instructions by type times operand widths (see add_register_traffic).
struct RegisterTraffic {
  double read = 0, write = 0;
};
std::optional<RegisterTraffic> register_traffic(const validate::Record& record, const HardwareProfile& hardware,
                                                const Plan& plan) {
  RegisterTraffic total;
  static constexpr std::array<double, arithmetic_pipes> operands{1, 3, 2, 2};
  for (std::size_t i = 0; i < arithmetic_pipes; ++i) {
    const auto count = work(record.counters, hardware, to_string(static_cast<Pipe>(i)));
    if (!count) return std::nullopt;
    total.read += *count * 4 * operands[i];
    total.write += *count * 4;
  }
  for (const IslandImplementation& island : plan.kernel.islands) {
    if (!island.uses_tensor_cores()) continue;
    const auto other_shape = [](const ProductImplementation& product) { return product.mma || product.computes_in; };
    if (island.path().warpgroup || island.computes_in ||
        std::any_of(island.products.begin(), island.products.end(), other_shape))
      return std::nullopt;
    const auto flop = work(record.counters, hardware, "tensor_flop." + to_string(record.point.dtype));
    const auto fragments = work(record.counters, hardware, "smem_ldsm_bytes");
    if (!flop || !fragments) return std::nullopt;
    const double m = static_cast<double>(island.mma.m), n = static_cast<double>(island.mma.n),
                 k = static_cast<double>(island.mma.k);
    const double instructions = *flop / (2 * m * n * k), width = bits(record.point.dtype) / 8.0;
    total.read += instructions * ((m * k + k * n) * width + 4 * m * n);
    total.write += instructions * 4 * m * n + *fragments;
    break;  // the counters hold all islands; one instruction shape serves them
  }
  return total;
}

// All that threads and matrix instructions do in shared memory: operands by ldmatrix or wgmma and plain loads out,
// cp.async, plain stores and stmatrix in. cp.async is counted by instruction, 16 bytes a lane, because its byte counter
// leaves out some of the zeros that fill ragged tiles. Absent counters of instructions that the kernel does not have
// are none.
struct SmemTraffic {
  std::optional<double> read, write, operands;
};
SmemTraffic smem_traffic(const validate::Record& record, const HardwareProfile& hardware, const Plan& plan) {
  constexpr double bytes_per_copy = 16 * 32;
  const auto& islands = plan.kernel.islands;
  const bool wide =
      std::any_of(islands.begin(), islands.end(), [](const auto& island) { return island.path().warpgroup; });
  const auto counter = [&](const char* key) { return work(record.counters, hardware, key); };
  const auto ldsm = counter("smem_ldsm_bytes"), gmma = counter("smem_gmma_bytes"), loads = counter("smem_load_bytes");
  const auto copies = counter("ldgsts_instructions"), stores = counter("smem_store_bytes");
  SmemTraffic traffic;
  if (ldsm && (gmma || !wide)) traffic.operands = *ldsm + gmma.value_or(0);
  if (traffic.operands && loads) traffic.read = *traffic.operands + *loads;
  if (copies && stores) traffic.write = *copies * bytes_per_copy + *stores + counter("smem_stsm_bytes").value_or(0);
  return traffic;
}

}  // namespace

bool paced_by_host(const validate::Record& record) {
  // Empty kernels in eleven runs of the microbenchmarks (records/*/hardware/run_*.json): by the host, in a process with
  // CUPTI, 3.7 to 6.4 us a launch, and the middle half of 21 samples spreads over 1.5 to 29 % of the median; queued,
  // over 0 to 0.4 %.
  constexpr double slowest_host = 6.4e-6, least_spread = 0.015, surely_longer = 10e-6;
  if (record.steady_seconds.empty() || record.islands.empty()) return false;
  const double run = median(record.steady_seconds), launch = run / static_cast<double>(record.islands.size());
  const bool never_faster = !record.cold_seconds.empty() && run >= median(record.cold_seconds);
  return (launch <= slowest_host && spread_of(record.steady_seconds).value_or(0) >= least_spread) ||
         (launch <= surely_longer && never_faster);
}

std::vector<Measured> measured_quantities(const validate::Record& record, const HardwareProfile& hardware,
                                          const Plan& plan, const Prediction& prediction) {
  std::vector<Measured> found;
  const auto add = [&](const char* quantity, const char* level, const char* direction, std::optional<double> value) {
    if (value) found.push_back({quantity, level, direction, *value, {}});
  };
  const bool tensor = std::any_of(plan.kernel.islands.begin(), plan.kernel.islands.end(),
                                  [](const auto& i) { return i.uses_tensor_cores(); });
  if (tensor) add("tensor_flop", "", "", tensor_flop(record, hardware, prediction));
  const MemoryLevel* hbm = hardware.level(LevelId::hbm);
  const MemoryLevel* l2 = hardware.level(LevelId::l2);
  if (l2) add("traffic", "l2", "read", read(record.counters, l2->counters.read));
  if (l2) add("traffic", "l2", "write", read(record.counters, l2->counters.write));
  // Predicted for caches that hold nothing when the launch begins.
  if (hbm && (!record.source || record.source->caches == validate::Caches::cold))
    add("traffic", "hbm", "read", read(record.counters, hbm->counters.read));
  if (hbm) add("traffic", "hbm", "write", read(record.counters_with_flush, hbm->counters.write));
  if (tensor) {
    const SmemTraffic smem = smem_traffic(record, hardware, plan);
    const bool bulk = prediction.bulk_smem[0] > 0 || prediction.bulk_smem[1] > 0;
    const char* quantity = bulk ? "thread_traffic" : "traffic";
    add(quantity, "smem", "read", smem.read);
    add(quantity, "smem", "write", smem.write);
    add("operand_bytes", "smem", "read", smem.operands);
  }
  for (int i = 0; i < arithmetic_pipes; ++i) {
    const std::string pipe = to_string(static_cast<Pipe>(i));
    add(pipe.c_str(), "", "", work(record.counters, hardware, pipe));
  }
  if (prediction.work.instructions > 0) {
    add("instructions", "", "", work(record.counters, hardware, "instructions"));
    add("alu_instructions", "", "", work(record.counters, hardware, "alu"));
  }
  if (const auto registers = register_traffic(record, hardware, plan)) {
    add("traffic", "register", "read", registers->read);
    add("traffic", "register", "write", registers->write);
  }
  // Elapsed cycles hold the profiler's own 40,000 or so around a kernel; active ones do not.
  const auto active = prediction.time.modelled ? work(record.counters, hardware, "active_cycles") : std::nullopt;
  if (active) add("busy_cycles", "", "", *active / static_cast<double>(hardware.units.value));
  const auto add_time = [&](std::string_view quantity, const std::vector<double>& samples) {
    if (!samples.empty()) found.push_back({std::string(quantity), "", "", median(samples), spread_of(samples)});
  };
  add_time(paced_by_host(record) ? host_seconds_quantity : "seconds", record.steady_seconds);
  add_time("seconds_program", record.program_seconds);
  add_time("seconds_cold", record.cold_seconds);
  return found;
}

}  // namespace tilescope
