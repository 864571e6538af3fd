#include "hardware/check_measured.h"

#include <fmt/format.h>

#include <string>

#include "base/text.h"

namespace tilescope {
namespace {

constexpr double slack = 1.01;  // a measurement may read so much high
using Value = MeasuredRates::Value;

class MeasuredChecker {
 public:
  explicit MeasuredChecker(const HardwareProfile& profile) : profile_(profile), m_(*profile.measured) {}

  std::vector<CheckFinding> run() {
    check_bandwidths();
    check_capacities();
    check_order("latency", {{"smem", m_.smem.latency}, {"l2 near", m_.l2.latency_near}, {"l2 far", m_.l2.latency_far}});
    check_products();
    check_pipes();
    check_order("clock", {{"tensor load", m_.clock.tensor_load},
                          {"tensor first", m_.clock.tensor_first},
                          {"tensor most", m_.clock.tensor_most},
                          {"most", m_.clock.most},
                          {"boost", profile_.boost_hz}});
    check_order("clock of mma", {{"mma most", m_.clock.mma_most}, {"most", m_.clock.most}});
    check_order("launch", {{"interval", m_.launch.interval}, {"interval from memory", m_.launch.interval_from_memory}});
    check_order("power", {{"idle", m_.power.idle}, {"busy", m_.power.busy}, {"board", profile_.board_watts}});
    return std::move(findings_);
  }

 private:
  // Values that must not fall in this order; absent ones are passed over.
  void check_order(const std::string& what, const std::vector<std::pair<std::string, Value>>& values) {
    std::vector<std::string> shown;
    double last = 0;
    bool ok = true;
    for (const auto& [name, value] : values) {
      if (!value) continue;
      ok = ok && last <= value->value * slack;
      last = value->value;
      shown.push_back(fmt::format("{} {:.4g}", name, value->value));
    }
    if (shown.size() > 1) findings_.push_back({profile_.id, "measured " + what, join(shown, " <= "), ok});
  }

  void check_bandwidths() {
    const MemoryLevel* hbm = profile_.level(LevelId::hbm);
    const Value peak = hbm == nullptr ? Value() : hbm->bandwidth_bytes_per_second;
    for (const auto& [name, value] : {std::pair("read", m_.hbm.read), {"write", m_.hbm.write}, {"copy", m_.hbm.copy}})
      check_order(std::string("hbm ") + name, {{name, value}, {"published", peak}});
    check_order("hbm off lines", {{"read_off_line", m_.hbm.read_off_line}, {"read", m_.hbm.read}});
    check_order(
        "bandwidth",
        {{"hbm read", m_.hbm.read}, {"l2 read_private", m_.l2.read_private}, {"l2 read_shared", m_.l2.read_shared}});
    const MemoryLevel* smem = profile_.level(LevelId::smem);
    const Value port = smem == nullptr ? Value() : smem->bandwidth_bytes_per_cycle;
    check_order("smem load", {{"load", m_.smem.load}, {"bandwidth_per_cycle", port}});
    check_order("smem store", {{"store", m_.smem.store}, {"bandwidth_per_cycle", port}});
  }

  // Bytes that all SMs read lie in every partition, so no more of them fit than of each SM's own.
  void check_capacities() {
    const MemoryLevel* l2 = profile_.level(LevelId::l2);
    check_order("l2 capacity", {{"shared", m_.l2.capacity_shared},
                                {"private", m_.l2.capacity_private},
                                {"capacity", l2 == nullptr ? Value() : l2->capacity_bytes}});
  }

  // FLOP a clock and unit that an interval means, against the tensor cores' rate.
  void check_products() {
    double worst = 0;
    std::string shown;
    const auto compare = [&](const std::string& name, Format format, double flop, const Sourced<double>& interval) {
      const auto rate = profile_.tensor_flop_per_cycle.find(format);
      if (rate == profile_.tensor_flop_per_cycle.end()) return;
      const double share = flop / interval.value / rate->second.value;
      if (share <= worst) return;
      worst = share;
      shown = fmt::format("{} {}: {:.1f} % of {:g} FLOP/clk", name, to_string(format), share * 100, rate->second.value);
    };
    const auto depth = [](Format format) { return 256.0 / bits(format); };  // k of one instruction
    const double schedulers =
        profile_.schedulers_per_unit ? static_cast<double>(profile_.schedulers_per_unit->value) : 4;
    for (const auto& [format, interval] : m_.tensor.mma)
      compare("mma", format, schedulers * 2 * 16 * 8 * depth(format), interval);
    for (const auto* by_format : {&m_.tensor.wgmma_smem, &m_.tensor.wgmma_register})
      for (const auto& [format, by_n] : *by_format)
        for (const auto& [n, interval] : by_n)
          compare(fmt::format("wgmma n{}", n), format, 2.0 * 64 * static_cast<double>(n) * depth(format), interval);
    if (worst > 0) findings_.push_back({profile_.id, "measured tensor", "fastest: " + shown, worst <= slack});
  }

  void check_pipes() {
    check_order("ffma", {{"measured", m_.pipes.ffma}, {"lanes", profile_.fp32_fma_per_cycle}});
    check_order("ex2", {{"measured", m_.pipes.ex2}, {"lanes", profile_.exp2_per_cycle}});
  }

  const HardwareProfile& profile_;
  const MeasuredRates& m_;
  std::vector<CheckFinding> findings_;
};

}  // namespace

std::vector<CheckFinding> check_measured(const HardwareProfile& profile) {
  return profile.measured ? MeasuredChecker(profile).run() : std::vector<CheckFinding>();
}

}  // namespace tilescope
