#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "import/recognise.h"
#include "kernel/describe/description.h"
#include "launches/captured_record.h"
#include "launches/captured_sizes.h"
#include "launches/program.h"
#include "launches/stated_sizes.h"
#include "records/capture/summary.h"

namespace tilescope::launches {
namespace {

using capture::Capture;
using capture::CapturedKernel;
using capture::CapturedLaunch;

// Launches that are one row: of one kernel, geometry and set of sizes.
struct CaptureGroup {
  CapturedGroup launches;
  const AttentionFacts* facts = nullptr;  // in this launch; null: none of attention
  const ShownLaunch* shown = nullptr;     // null: not known
  StatedSizes sizes;
};

std::string value_of(const std::vector<DescribedValue>& values, const char* key) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const DescribedValue& value) { return value.key == key; });
  return found != values.end() ? found->value : "";
}

// "128 x 64, 8 warps, 3 stages, wgmma bf16"
std::string recognised_text(const Description& description, const AttentionFacts& facts) {
  std::string text = fmt::format("{} x {}, {} warps", value_of(description.variant, "tile_q"),
                                 value_of(description.variant, "tile_kv"), value_of(description.variant, "warps"));
  if (const std::string stages = value_of(description.variant, "stages"); !stages.empty())
    text += fmt::format(", {} stages", stages);
  return text + fmt::format(", {} {}", value_of(description.island, "tensor_path"), operand_format(facts.operands));
}

std::string file_stem(const std::string& name, std::size_t number) {
  std::string stem;
  for (const char c : name) stem += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("{}_{}", stem, number);
}

class CaptureReader {
 public:
  CaptureReader(const Capture& found, KernelFacts& facts, const std::string& from, const ProgramAsked& asked)
      : found_(&found), facts_(&facts), asked_(&asked) {
    program_.from = from;
  }

  ProgramLaunches read() {
    choose_kernels();
    facts_->read(chosen_);
    read_launches();
    group_launches();
    for (const auto& [key, group] : groups_) add_row(group);
    std::stable_sort(program_.attention.begin(), program_.attention.end(),
                     [](const auto& a, const auto& b) { return a.seconds.value_or(0) > b.seconds.value_or(0); });
    for (const capture::CapturedProcess& process : found_->processes)
      for (const std::string& note : process.notes)
        program_.notes.push_back(fmt::format("process {}: {}", process.pid, note));
    return std::move(program_);
  }

 private:
  const CapturedKernel& kernel_of(const CapturedLaunch& launch) const {
    return found_->kernels[static_cast<std::size_t>(launch.kernel)];
  }

  void choose_kernels() {
    double whole = 0;
    std::set<std::pair<std::string, std::string>> names, wanted;  // module and symbol
    for (const capture::KernelShare& each : capture::kernel_shares(*found_)) {
      whole += each.seconds;
      program_.launches += each.launches;
      const std::pair name{each.module, each.symbol};
      names.insert(name);
      if (each.named_like_attention) named_.insert(name);
      if (worth_reading(each)) wanted.insert(name);
    }
    program_.kernels = static_cast<std::int64_t>(names.size());
    if (whole > 0) program_.seconds = whole;
    for (const CapturedKernel& kernel : found_->kernels)
      if (wanted.contains({kernel.module, kernel.symbol})) chosen_.push_back(&kernel);
  }

  // The facts of the kernel in this launch; null: it is none of attention.
  const AttentionFacts* facts_in(std::size_t place) const {
    const auto found = launched_.find(place);
    return found != launched_.end() ? &found->second : nullptr;
  }

  void read_launches() {
    std::map<std::size_t, std::optional<Workload>> wanted;
    for (std::size_t i = 0; i < found_->launches.size(); ++i) {
      const CapturedLaunch& launch = found_->launches[i];
      const CapturedKernel& kernel = kernel_of(launch);
      if (std::find(chosen_.begin(), chosen_.end(), &kernel) == chosen_.end()) continue;
      const auto& facts = facts_->of(kernel).facts;
      if (facts) wanted[i] = stated_sizes(*facts, kernel.symbol, launch.ranges, asked_->points).workload;
    }
    facts_->read_launches(*found_, wanted);
    for (const auto& [place, known] : wanted)
      if (const ShownLaunch* shown = facts_->shown(place); shown && shown->stages > 0)
        stages_[stages_key(found_->launches[place])] = shown->stages;
    for (const auto& [place, known] : wanted) {
      const AttentionFacts& facts = *facts_->of(kernel_of(found_->launches[place])).facts;
      const ShownLaunch* shown = facts_->shown(place);
      launched_[place] = shown ? launched_facts(facts, *shown) : facts;
    }
  }

  // Launches of few steps do not show how many tiles of keys the shared memory of all of them holds.
  static std::pair<std::int64_t, std::int64_t> stages_key(const CapturedLaunch& launch) {
    return {launch.kernel, launch.dynamic_shared_bytes};
  }

  // As stated; else as the launch shows them.
  StatedSizes sizes_of(std::size_t place, const CapturedKernel& kernel, const AttentionFacts& facts) const {
    StatedSizes sizes = stated_sizes(facts, kernel.symbol, found_->launches[place].ranges, asked_->points);
    const ShownLaunch* shown = facts_->shown(place);
    if (sizes.workload || shown == nullptr) return sizes;
    DescribeInput input{.name = {}, .facts = facts};
    add_launch_sizes(shown->sizes, shown->tensor_maps, input);
    if (!input.workload) {
      const auto& unknown = shown->sizes.unknown;
      if (!unknown.empty()) sizes.missing += "; " + fmt::format("{}", fmt::join(unknown, "; "));
      return sizes;
    }
    return {.workload = input.workload, .mask = shown->sizes.mask, .from = "launch"};
  }

  void group_launches() {
    for (std::size_t place = 0; place < found_->launches.size(); ++place) {
      const CapturedLaunch& launch = found_->launches[place];
      const CapturedKernel& kernel = kernel_of(launch);
      if (std::find(chosen_.begin(), chosen_.end(), &kernel) == chosen_.end()) continue;
      const AttentionFacts* facts = facts_in(place);
      if (!facts && !named_.contains({kernel.module, kernel.symbol})) continue;
      const StatedSizes sizes = facts ? sizes_of(place, kernel, *facts) : StatedSizes{};
      const Workload w = sizes.workload.value_or(Workload{});
      const std::string key =
          fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", kernel.module, kernel.symbol,
                      fmt::join(launch.grid, ","), fmt::join(launch.block, ","), fmt::join(launch.cluster, ","),
                      launch.dynamic_shared_bytes, sizes.workload.has_value(), w.batch, w.heads_q, w.heads_kv, w.q_len,
                      w.kv_len, w.d_qk, w.d_v, sizes.mask, sizes.missing);
      CaptureGroup& group = groups_[key];
      group.launches.capture = found_;
      group.launches.launches.push_back(&launch);
      // Launches of too many kinds of parameters show nothing.
      if (group.launches.launches.size() == 1 || (!group.shown && facts_->shown(place)))
        group.facts = facts, group.shown = facts_->shown(place);
      group.sizes = sizes;
    }
  }

  // Times of a part of the launches stand for all of them.
  void add_times(const CaptureGroup& group, AttentionLaunches& row) const {
    double sum = 0;
    std::vector<std::int64_t> times;
    for (const CapturedLaunch* launch : group.launches.launches) {
      row.launches += launch->count;
      row.timed += static_cast<std::int64_t>(launch->durations_ns.size());
      row.counted += static_cast<std::int64_t>(launch->counted.size());
      times.insert(times.end(), launch->durations_ns.begin(), launch->durations_ns.end());
    }
    for (const std::int64_t time : times) sum += 1e-9 * static_cast<double>(time);
    std::sort(times.begin(), times.end());
    if (!times.empty()) row.median_seconds = 1e-9 * static_cast<double>(times[times.size() / 2]);
    if (row.timed > 0) row.seconds = sum + static_cast<double>(row.launches - row.timed) * *row.median_seconds;
    if (row.seconds && program_.seconds) row.share = *row.seconds / *program_.seconds;
  }

  void add_row(const CaptureGroup& group) {
    const CapturedLaunch& first = *group.launches.launches.front();
    const CapturedKernel& kernel = kernel_of(first);
    AttentionLaunches row;
    row.kernel = capture::short_kernel_name(kernel.symbol), row.symbol = kernel.symbol;
    row.grid = first.grid, row.block = first.block, row.ranges = first.ranges;
    add_times(group, row);
    if (group.facts == nullptr) row.missing.push_back(fmt::format("not recognised: {}", facts_->of(kernel).missing));
    else describe_row(group, *group.facts, row);
    program_.attention.push_back(std::move(row));
  }

  void describe_row(const CaptureGroup& group, const AttentionFacts& facts, AttentionLaunches& row) {
    const CapturedLaunch& first = *group.launches.launches.front();
    const StatedSizes& sizes = group.sizes;
    const capture::CapturedDevice* device = device_of_launch(*found_, first);
    DescribeInput input{.name = file_stem(row.kernel, ++described_),
                        .facts = facts,
                        .launch = launch_of(first),
                        .l2_bytes = device ? device->l2_bytes : 0,
                        .workload = sizes.workload,
                        .mask = sizes.mask.substr(0, sizes.mask.find(':')),
                        .sizes_from = sizes.from == "launch" ? ValueSource::launch : ValueSource::given};
    if (group.shown) input.sizes = group.shown->sizes;
    if (const auto stages = stages_.find(stages_key(first)); stages != stages_.end())
      input.launch.stages = stages->second;
    if (sizes.workload) input.sizes.unknown.clear();
    const Description description = describe_kernel(input);
    row.recognised = recognised_text(description, facts);
    if (!sizes.workload) {  // the order of blocks follows from the sizes
      row.missing.push_back(sizes.missing);
      return;
    }
    row.sizes_from = sizes.from;
    for (const MissingValue& missing : description.missing)
      if (!missing.of_other_launch) row.missing.push_back(fmt::format("{}: {}", missing.key, missing.reason));
    if (!row.missing.empty()) return;
    row.descriptor = description.yaml();
    row.record = record_of_group(group, facts, description, row.descriptor);
  }

  validate::Record record_of_group(const CaptureGroup& group, const AttentionFacts& facts,
                                   const Description& description, const std::string& descriptor) {
    const std::filesystem::path file = asked_->descriptors / (description.name + ".yaml");
    write_file(file, descriptor);
    const CapturedLaunch& first = *group.launches.launches.front();
    if (program_.hardware.empty())
      program_.hardware = hardware_of_launch(*found_, first, program_.from, asked_->hardware);
    validate::MeasurePoint point = described_point(facts, *group.sizes.workload, group.sizes.mask, file);
    set_described_formats(value_of(description.kernel, "dtypes"), point);
    if (description.is_part) point.splits = description.splits;
    validate::Record record = captured_record(group.launches, point, program_.hardware, program_.from);
    record.islands.front().name = description.launch_name();
    return record;
  }

  const Capture* found_;
  KernelFacts* facts_;
  const ProgramAsked* asked_;
  ProgramLaunches program_;
  std::vector<const CapturedKernel*> chosen_;
  std::set<std::pair<std::string, std::string>> named_;                   // like attention, by module and symbol
  std::map<std::size_t, AttentionFacts> launched_;                        // by place of the launch
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> stages_;  // by kernel and shared memory
  std::map<std::string, CaptureGroup> groups_;
  std::size_t described_ = 0;
};

}  // namespace

bool worth_reading(const capture::KernelShare& kernel) {
  constexpr double least_share = 0.001;
  return kernel.share >= least_share || kernel.timed == 0 || kernel.named_like_attention;
}

ProgramLaunches launches_of_capture(const Capture& found, KernelFacts& facts, const std::string& from,
                                    const ProgramAsked& asked) {
  return CaptureReader(found, facts, from, asked).read();
}

}  // namespace tilescope::launches
