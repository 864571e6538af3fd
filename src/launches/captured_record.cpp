#include "launches/captured_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "import/recognise.h"
#include "kernel/describe/description.h"

namespace tilescope::launches {
namespace {

using capture::CapturedKernel;
using capture::CapturedLaunch;
using capture::CountedLaunch;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Metrics that need two passes on a chip, as sums of what one pass counts. A part that the chip lacks is none.
struct MetricSum {
  const char* total;
  std::vector<const char*> needed, others;
};
const std::vector<MetricSum>& metric_sums() {
  static const std::vector<MetricSum> sums{
      {"sm__ops_path_tensor_src_fp16.sum",
       {"sm__ops_path_tensor_op_hgmma_src_fp16.sum", "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum"},
       {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum"}},
  };
  return sums;
}

void add_metric_sums(std::map<std::string, double>& counters) {
  for (const MetricSum& sum : metric_sums()) {
    const auto has = [&](const char* metric) { return counters.contains(metric); };
    if (has(sum.total) || !std::all_of(sum.needed.begin(), sum.needed.end(), has)) continue;
    double total = 0;
    for (const char* metric : sum.needed) total += counters[metric];
    for (const char* metric : sum.others) total += has(metric) ? counters[metric] : 0;
    counters[sum.total] = total;
  }
}

validate::MeasuredLaunch island_of(const CapturedGroup& group) {
  const CapturedLaunch& first = *group.launches.front();
  const CapturedKernel& kernel = group.capture->kernels[static_cast<std::size_t>(first.kernel)];
  validate::MeasuredLaunch island;
  island.name = capture::short_kernel_name(kernel.symbol);
  island.launch.grid = first.grid, island.launch.block = first.block;
  island.launch.registers_per_thread = kernel.registers;
  island.launch.static_smem = kernel.static_shared_bytes, island.launch.dynamic_smem = first.dynamic_shared_bytes;
  island.launch.local_bytes_per_thread = kernel.local_bytes;
  for (const CapturedLaunch* launch : group.launches)
    for (const CountedLaunch& counted : launch->counted)
      for (const auto& [metric, value] : counted.values) island.samples[metric].push_back(value);
  for (const auto& [metric, values] : island.samples) island.counters[metric] = median_of(values);
  add_metric_sums(island.counters);
  std::erase_if(island.samples, [](const auto& entry) { return entry.second.size() < 2; });
  return island;
}

// Cold when the L2 was read through before every counted launch.
validate::Caches caches_of(const CapturedGroup& group) {
  bool cold = false, warm = false;
  for (const CapturedLaunch* launch : group.launches)
    for (const CountedLaunch& counted : launch->counted) (counted.read_through_bytes > 0 ? cold : warm) = true;
  return cold && !warm ? validate::Caches::cold : warm && !cold ? validate::Caches::warm : validate::Caches::unknown;
}

validate::Environment environment_of_capture(const CapturedGroup& group, const std::string& hardware) {
  const CapturedLaunch& first = *group.launches.front();
  const CapturedKernel& kernel = group.capture->kernels[static_cast<std::size_t>(first.kernel)];
  const capture::CapturedProcess& process = group.capture->processes[static_cast<std::size_t>(kernel.process)];
  validate::Environment environment;
  environment.hardware = hardware, environment.tool = "tilescope capture";
  environment.driver = process.driver, environment.cupti = process.cupti, environment.date = process.started;
  if (const capture::CapturedDevice* device = device_of_launch(*group.capture, first))
    environment.gpu = device->name, environment.l2_bytes = device->l2_bytes;
  return environment;
}

}  // namespace

const capture::CapturedDevice* device_of_launch(const capture::Capture& found, const CapturedLaunch& launch) {
  const CapturedKernel& kernel = found.kernels[static_cast<std::size_t>(launch.kernel)];
  const auto& devices = found.processes[static_cast<std::size_t>(kernel.process)].devices;
  const auto device = std::find_if(devices.begin(), devices.end(), [&](const capture::CapturedDevice& each) {
    return each.ordinal == launch.device.value_or(0);
  });
  return device != devices.end() ? &*device : nullptr;
}

validate::Record captured_record(const CapturedGroup& group, const validate::MeasurePoint& point,
                                 const std::string& hardware, const std::string& from) {
  validate::Record record;
  record.experiment = "captured", record.point = point;
  record.environment = environment_of_capture(group, hardware);
  record.islands.push_back(island_of(group));
  record.counters = record.islands.front().counters;
  for (const CapturedLaunch* launch : group.launches)
    for (const std::int64_t duration : launch->durations_ns)
      record.program_seconds.push_back(1e-9 * static_cast<double>(duration));
  record.source = validate::ImportSource{.file = from, .launches = "", .caches = caches_of(group), .sm_hz = 0};
  return record;
}

validate::MeasurePoint described_point(const AttentionFacts& facts, const Workload& workload, const std::string& mask,
                                       const std::filesystem::path& descriptor) {
  validate::MeasurePoint point;
  point.kernel = descriptor.string(), point.mask = mask;
  point.workload = {workload.batch,  workload.heads_q, workload.heads_kv, workload.q_len,
                    workload.kv_len, workload.d_qk,    workload.d_v};
  if (const auto format = parse_format(operand_format(facts.operands))) point.dtype = *format;
  if (const auto loaded = parse_format(operand_format(facts.loaded_as))) point.dtypes["kv"] = Dtype{*loaded};
  return point;
}

void set_described_formats(const std::string& dtypes, validate::MeasurePoint& point) {
  if (dtypes.size() < 2) return;
  std::string text = dtypes.substr(1, dtypes.size() - 2);
  std::erase_if(text, [](char c) { return c == '{' || c == '}' || c == '"' || c == ' '; });
  for (const std::string& entry : split(text, ',')) {
    const std::size_t colon = entry.find(':');
    const bool alone = text == entry && parse_dtype(entry);
    const std::string key = alone ? "all" : entry.substr(0, colon);
    const auto dtype = parse_dtype(alone ? entry : colon == std::string::npos ? "" : entry.substr(colon + 1));
    if (!dtype) continue;
    if (key == "all") point.dtype = dtype->format, point.dtypes.clear();
    else point.dtypes.insert_or_assign(key, *dtype);
  }
}

std::string hardware_of_launch(const capture::Capture& found, const CapturedLaunch& launch, const std::string& from,
                               const std::optional<std::string>& asked) {
  imported::ToolDevice gpu;
  if (const capture::CapturedDevice* device = device_of_launch(found, launch)) {
    gpu.name = device->name, gpu.compute_capability = device->compute_capability;
    gpu.units = device->multiprocessors, gpu.memory_bytes = device->memory_bytes;
  }
  const HardwareProfile profile = imported::hardware_of(gpu, from, asked);
  const bool own_file = asked && (asked->find('/') != std::string::npos || asked->ends_with(".yaml"));
  return own_file ? *asked : profile.id;
}

}  // namespace tilescope::launches
