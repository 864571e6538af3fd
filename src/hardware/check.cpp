// Cross-field rules of `hardware check`: facts that must agree with each other when every one of them is right.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/text.h"
#include "hardware/check_measured.h"
#include "hardware/profile.h"

namespace tilescope {
namespace {

constexpr double tolerance = 0.01;  // datasheets round to three digits

class Checker {
 public:
  explicit Checker(const HardwareProfile& profile) : profile_(profile) {}

  std::vector<CheckFinding> run() {
    check_identity();
    check_sources();
    check_clocks();
    check_tensor_rates();
    check_fp32_rate();
    check_bandwidths();
    check_shared_memory();
    check_registers_and_threads();
    check_granularity();
    check_caches();
    check_counters();
    for (CheckFinding& finding : check_measured(profile_)) findings_.push_back(std::move(finding));
    return std::move(findings_);
  }

 private:
  void add(const std::string& rule, bool ok, std::string message) {
    findings_.push_back(CheckFinding{profile_.id, rule, std::move(message), ok});
  }

  void check_identity() {
    const std::string stem = std::filesystem::path(profile_.file).stem().string();
    add("identity", stem == profile_.id, fmt::format("id '{}', file name '{}'", profile_.id, stem));
  }

  template <class Value>
  void use(const std::optional<Sourced<Value>>& field) {
    if (field) used_.insert(field->source);
  }
  template <class Key, class Value>
  void use(const std::map<Key, Sourced<Value>>& fields) {
    for (const auto& [key, field] : fields) used_.insert(field.source);
  }

  void collect_sources() {
    const HardwareProfile& p = profile_;
    used_.insert(p.units.source);
    for (const auto* count :
         {&p.warp_size, &p.schedulers_per_unit, &p.max_warps_per_unit, &p.max_blocks_per_unit, &p.max_threads_per_block,
          &p.registers_per_unit, &p.max_registers_per_thread, &p.register_allocation_unit, &p.sector_bytes,
          &p.line_bytes, &p.l2_partitions, &p.l2_slices, &p.l2_capacity_slices, &p.l2_ways, &p.l2_dirty_ways,
          &p.l2_caches, &p.l2_dealt_blocks, &p.llc_ways}) {
      use(*count);
    }
    if (p.l2_groups) used_.insert(p.l2_groups->source);
    for (const auto* value : {&p.boost_hz, &p.tensor_hz, &p.fp32_fma_per_cycle, &p.exp2_per_cycle,
                              &p.datasheet_fp32_flop_per_second, &p.board_watts, &p.launch_seconds}) {
      use(*value);
    }
    use(p.tensor_flop_per_cycle);
    use(p.datasheet_flop_per_second);
    for (const auto& [path, limits] : p.instruction_flop_per_cycle) use(limits);
    for (const MemoryLevel& level : p.levels) {
      for (const auto* value : {&level.capacity_bytes, &level.capacity_per_block_bytes, &level.reserved_per_block_bytes,
                                &level.bandwidth_bytes_per_second, &level.measured_bandwidth_bytes_per_second,
                                &level.bandwidth_bytes_per_cycle}) {
        use(*value);
      }
    }
    if (!p.measured) return;
    for_each_measured(*p.measured, [this](const std::string&, Dimension, const Sourced<double>& value) {
      used_.insert(value.source);
    });
  }

  void check_sources() {
    collect_sources();
    for (const std::string& id : used_) {
      if (!profile_.sources.contains(id))
        add("sources", false, fmt::format("source '{}' is used but not declared", id));
    }
    for (const auto& [id, text] : profile_.sources) {
      if (!used_.contains(id)) add("sources", false, fmt::format("source '{}' is declared but nothing uses it", id));
    }
    if (findings_.back().rule != "sources") add("sources", true, fmt::format("{} declared, all used", used_.size()));
  }

  void check_clocks() {
    if (!profile_.boost_hz || !profile_.tensor_hz) return;
    const double boost = profile_.boost_hz->value;
    const double tensor = profile_.tensor_hz->value;
    add("clocks", tensor <= boost,
        fmt::format("tensor clock {}, boost clock {}", with_si(tensor, "Hz"), with_si(boost, "Hz")));
  }

  // units x clock x rate against what the datasheet says.
  void compare_rate(const std::string& name, double clock, double per_cycle, double datasheet) {
    const double computed = static_cast<double>(profile_.units.value) * clock * per_cycle;
    const double off = computed / datasheet - 1;
    add("rate " + name, std::abs(off) <= tolerance,
        fmt::format("{} {} x {:.0f} MHz x {:g} FLOP/clk = {:.1f} TFLOP/s, datasheet {:.1f} ({:+.2f} %)",
                    profile_.units.value, profile_.unit_name, clock / 1e6, per_cycle, computed / 1e12, datasheet / 1e12,
                    off * 100));
  }

  void check_tensor_rates() {
    const auto& clock = profile_.tensor_hz ? profile_.tensor_hz : profile_.boost_hz;
    for (const auto& [format, datasheet] : profile_.datasheet_flop_per_second) {
      const auto rate = profile_.tensor_flop_per_cycle.find(format);
      if (rate == profile_.tensor_flop_per_cycle.end() || !clock) {
        add("rate " + to_string(format), false, "the datasheet has a rate, but the profile lacks FLOP/clk or a clock");
      } else {
        compare_rate(to_string(format), clock->value, rate->second.value, datasheet.value);
      }
    }
    for (const auto& [path, limits] : profile_.instruction_flop_per_cycle) {
      for (const auto& [format, limit] : limits) {
        const auto rate = profile_.tensor_flop_per_cycle.find(format);
        const double peak = rate == profile_.tensor_flop_per_cycle.end() ? 0 : rate->second.value;
        add("instruction path", limit.value <= peak,
            fmt::format("{} {}: {:g} of {:g} FLOP/clk", path, to_string(format), limit.value, peak));
      }
    }
  }

  void check_fp32_rate() {
    if (!profile_.datasheet_fp32_flop_per_second) return;
    if (!profile_.fp32_fma_per_cycle || !profile_.boost_hz) {
      add("rate fp32", false, "the datasheet has a rate, but the profile lacks FLOP/clk or a clock");
      return;
    }
    compare_rate("fp32", profile_.boost_hz->value, 2 * profile_.fp32_fma_per_cycle->value,
                 profile_.datasheet_fp32_flop_per_second->value);
  }

  // Best known whole-device bandwidth of a level in B/s; 0 when the profile has none.
  double bandwidth(const MemoryLevel& level) const {
    double best = 0;
    if (level.bandwidth_bytes_per_second) best = level.bandwidth_bytes_per_second->value;
    if (level.measured_bandwidth_bytes_per_second)
      best = std::max(best, level.measured_bandwidth_bytes_per_second->value);
    if (level.bandwidth_bytes_per_cycle && profile_.boost_hz) {
      const double instances = properties(level.id).per_unit ? static_cast<double>(profile_.units.value) : 1;
      best = std::max(best, level.bandwidth_bytes_per_cycle->value * profile_.boost_hz->value * instances);
    }
    return best;
  }

  void check_bandwidths() {
    double outer = 0;
    bool grows = true;
    std::vector<std::string> shown;
    for (const MemoryLevel& level : profile_.levels) {
      const double inner = bandwidth(level);
      if (inner == 0) continue;
      grows = grows && inner > outer;
      outer = inner;
      shown.push_back(level.name() + " " + with_si(inner, "B/s"));
      const auto& peak = level.bandwidth_bytes_per_second;
      const auto& measured = level.measured_bandwidth_bytes_per_second;
      if (peak && measured) {
        add("measured bandwidth", measured->value <= peak->value,
            fmt::format("{}: {} of {}", level.name(), with_si(measured->value, "B/s"), with_si(peak->value, "B/s")));
      }
    }
    add("bandwidth grows inwards", grows && !shown.empty(), shown.empty() ? "no bandwidth known" : join(shown, " < "));
  }

  void check_shared_memory() {
    const MemoryLevel* smem = profile_.level(LevelId::smem);
    if (smem == nullptr || !smem->capacity_bytes || !smem->capacity_per_block_bytes) return;
    const double reserved = smem->reserved_per_block_bytes ? smem->reserved_per_block_bytes->value : 0;
    const double block = smem->capacity_per_block_bytes->value;
    add("shared memory of a block", block + reserved <= smem->capacity_bytes->value,
        fmt::format("{} + {} reserved, {} a unit", with_binary(block), with_binary(reserved),
                    with_binary(smem->capacity_bytes->value)));
  }

  void check_registers_and_threads() {
    const MemoryLevel* file = profile_.level(LevelId::reg);
    if (profile_.registers_per_unit && file != nullptr && file->capacity_bytes) {
      const double bytes = static_cast<double>(profile_.registers_per_unit->value) * 4;
      add("register file", bytes == file->capacity_bytes->value,
          fmt::format("{} registers x 4 B = {}, level has {}", profile_.registers_per_unit->value, with_binary(bytes),
                      with_binary(file->capacity_bytes->value)));
    }
    if (profile_.max_threads_per_block && profile_.max_warps_per_unit && profile_.warp_size) {
      const std::int64_t resident = profile_.max_warps_per_unit->value * profile_.warp_size->value;
      add("threads of a block", profile_.max_threads_per_block->value <= resident,
          fmt::format("{} a block, {} a unit", profile_.max_threads_per_block->value, resident));
    }
  }

  void check_granularity() {
    if (!profile_.sector_bytes || !profile_.line_bytes) return;
    const std::int64_t sector = profile_.sector_bytes->value;
    const std::int64_t line = profile_.line_bytes->value;
    add("sectors of a line", sector > 0 && line % sector == 0, fmt::format("{} B lines of {} B sectors", line, sector));
  }

  void check_caches() {
    if (!profile_.l2_caches) return;
    const std::int64_t caches = profile_.l2_caches->value;
    add("units of an L2 cache", profile_.units.value % caches == 0,
        fmt::format("{} {} on {} L2 caches", profile_.units.value, profile_.unit_name, caches));
  }

  void check_counters() {
    if (profile_.vendor != "NVIDIA") {
      const bool none = profile_.work_counters.empty();
      add("counters", none, none ? "none: CUPTI serves NVIDIA only" : "CUPTI counters on a GPU that is not NVIDIA's");
      return;
    }
    std::vector<std::string> missing;
    for (const LevelId id : {LevelId::hbm, LevelId::l2, LevelId::smem}) {
      const MemoryLevel* level = profile_.level(id);
      const std::string name = to_string(id);
      if (level == nullptr || !level->counters.read) missing.push_back(name + " read");
      if (level == nullptr || !level->counters.write) missing.push_back(name + " write");
    }
    for (const auto& [format, rate] : profile_.tensor_flop_per_cycle) {
      if (bits(format) < 8 || properties(format).element != format) continue;  // no counter of its own is known
      const std::string key = "tensor_flop." + to_string(format);
      if (!profile_.work_counters.contains(key)) missing.push_back(key);
    }
    for (const std::string key : {"xu", "ffma", "fadd", "fmul", "instructions", "cycles", "spill_loads", "spill_stores",
                                  "tensor_instructions"}) {
      if (!profile_.work_counters.contains(key)) missing.push_back(key);
    }
    add("counters", missing.empty(),
        missing.empty()
            ? fmt::format("{} work counters, hbm, l2 and smem read and write", profile_.work_counters.size())
            : "missing: " + join(missing, ", "));
  }

  const HardwareProfile& profile_;
  std::set<std::string> used_;
  std::vector<CheckFinding> findings_;
};

}  // namespace

std::vector<CheckFinding> check_profile(const HardwareProfile& profile) { return Checker(profile).run(); }

}  // namespace tilescope
