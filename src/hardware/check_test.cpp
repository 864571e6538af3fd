#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "hardware/profile.h"

namespace hardware_check_test {

using namespace tilescope;

namespace {

HardwareProfile h200() { return load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml"); }

MemoryLevel& level(HardwareProfile& profile, const std::string& name) {
  for (MemoryLevel& candidate : profile.levels) {
    if (candidate.name() == name) return candidate;
  }
  FAIL("no level " << name);
  return profile.levels.front();
}

std::string listed(const std::set<std::string>& rules) {
  return join(std::vector<std::string>(rules.begin(), rules.end()), ", ");
}

std::string failed_rules(const HardwareProfile& profile) {
  std::set<std::string> rules;
  for (const CheckFinding& finding : check_profile(profile)) {
    if (!finding.ok) rules.insert(finding.rule);
  }
  return listed(rules);
}

struct Row {
  std::string what;
  std::function<void(HardwareProfile&)> spoil;
  std::set<std::string> rules;
};

}  // namespace

TEST_CASE("a profile that contradicts itself violates that rule and no other") {
  const std::vector<Row> rows{
      {"nothing", [](HardwareProfile&) {}, {}},
      {"an id that is not the file name", [](HardwareProfile& p) { p.id = "h200"; }, {"identity"}},
      {"a source nobody uses", [](HardwareProfile& p) { p.sources["Z"] = "unused"; }, {"sources"}},
      {"a source nobody declared", [](HardwareProfile& p) { p.exp2_per_cycle->source = "Z"; }, {"sources"}},
      {"a tensor clock above the boost clock",
       [](HardwareProfile& p) { p.boost_hz->value = 1.8e9; },
       {"clocks", "measured clock", "rate fp32"}},
      {"a sparse peak in place of the dense one",
       [](HardwareProfile& p) { p.datasheet_flop_per_second[Format::fp16].value *= 2; },
       {"rate fp16"}},
      {"tensor rates at the boost clock, 8 % too high",
       [](HardwareProfile& p) { p.tensor_hz = p.boost_hz; },
       {"rate fp16", "rate fp8_e4m3"}},
      {"a rate 1.1 % off",
       [](HardwareProfile& p) { p.datasheet_flop_per_second[Format::fp16].value *= 1.011; },
       {"rate fp16"}},
      {"a rate 0.9 % off", [](HardwareProfile& p) { p.datasheet_flop_per_second[Format::fp16].value *= 1.009; }, {}},
      {"one SM too many, which is within rounding", [](HardwareProfile& p) { p.units.value = 133; }, {}},
      {"the full chip's 144 SMs",
       [](HardwareProfile& p) { p.units.value = 144; },
       {"rate fp16", "rate fp8_e4m3", "rate fp32"}},
      {"a datasheet rate without a rate per cycle",
       [](HardwareProfile& p) { p.tensor_flop_per_cycle.erase(Format::fp8_e4m3); },
       {"rate fp8_e4m3"}},
      {"an fp32 datasheet rate without FLOP per cycle",
       [](HardwareProfile& p) { p.fp32_fma_per_cycle.reset(); },
       {"rate fp32"}},
      {"an instruction path above the peak",
       [](HardwareProfile& p) { p.instruction_flop_per_cycle["mma.sync"][Format::fp16].value = 4097; },
       {"instruction path"}},
      {"an L2 slower than HBM",
       [](HardwareProfile& p) { level(p, "l2").measured_bandwidth_bytes_per_second->value = 4e12; },
       {"bandwidth grows inwards"}},
      {"a measured bandwidth above the datasheet's",
       [](HardwareProfile& p) { level(p, "hbm").measured_bandwidth_bytes_per_second->value = 4.9e12; },
       {"measured bandwidth"}},
      {"no bandwidth at all",
       [](HardwareProfile& p) {
         for (MemoryLevel& any : p.levels) {
           any.bandwidth_bytes_per_second.reset();
           any.measured_bandwidth_bytes_per_second.reset();
           any.bandwidth_bytes_per_cycle.reset();
         }
       },
       {"bandwidth grows inwards"}},
      {"a block that takes the whole shared memory and the reserve",
       [](HardwareProfile& p) { level(p, "smem").capacity_per_block_bytes->value = 228 * 1024; },
       {"shared memory of a block"}},
      {"half a register file", [](HardwareProfile& p) { p.registers_per_unit->value = 32768; }, {"register file"}},
      {"a block larger than the SM",
       [](HardwareProfile& p) { p.max_warps_per_unit->value = 16; },
       {"threads of a block"}},
      {"a line of 100 bytes", [](HardwareProfile& p) { p.line_bytes->value = 100; }, {"sectors of a line"}},
      {"a level without its counter", [](HardwareProfile& p) { level(p, "l2").counters.write.reset(); }, {"counters"}},
      {"a number format without its counter",
       [](HardwareProfile& p) { p.work_counters.erase("tensor_flop.bf16"); },
       {"counters"}},
      {"no counter of exponentials", [](HardwareProfile& p) { p.work_counters.erase("xu"); }, {"counters"}},
      {"CUPTI counters on another vendor's GPU", [](HardwareProfile& p) { p.vendor = "AMD"; }, {"counters"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    HardwareProfile profile = h200();
    row.spoil(profile);
    CHECK(failed_rules(profile) == listed(row.rules));
  }
}

TEST_CASE(
    "a measurement above the limit of the GPU, or one that contradicts another, violates that rule and no other") {
  const auto measured = [](double value) { return Sourced<double>{value, "MB"}; };
  const auto plausible = [&] {
    HardwareProfile profile = h200();
    MeasuredRates& m = profile.measured.emplace();
    m.hbm.read = measured(4.5e12), m.hbm.copy = measured(4.2e12);
    m.l2.read_private = measured(8.9e12), m.l2.read_shared = measured(20e12);
    m.l2.latency_near = measured(270), m.l2.latency_far = measured(450), m.smem.latency = measured(23);
    m.l2.capacity_shared = measured(25 << 20), m.l2.capacity_private = measured(43 << 20);
    m.smem.load = measured(128.3), m.pipes.ffma = measured(126), m.pipes.ex2 = measured(16);
    m.tensor.mma[Format::fp16] = measured(6), m.tensor.wgmma_smem[Format::fp16][128] = measured(64);
    m.tensor.wgmma_register[Format::fp8_e4m3][64] = measured(32);
    m.clock.tensor_load = measured(1.53e9), m.clock.tensor_most = measured(1.8e9), m.clock.most = measured(1.98e9);
    m.clock.mma_most = measured(1.78e9);
    m.launch.interval = measured(1.8e-6), m.launch.interval_from_memory = measured(2.2e-6);
    m.power.idle = measured(115), m.power.busy = measured(126);
    return profile;
  };
  const std::vector<Row> rows{
      {"nothing", [](HardwareProfile&) {}, {}},
      {"no measurement, of which the source then is not used",
       [](HardwareProfile& p) { p.measured.reset(); },
       {"sources"}},
      {"HBM above its published bandwidth",
       [](HardwareProfile& p) { p.measured->hbm.copy->value = 5e12; },
       {"measured hbm copy"}},
      {"L2 slower than HBM",
       [](HardwareProfile& p) { p.measured->l2.read_private->value = 4e12; },
       {"measured bandwidth"}},
      {"far nearer than near",
       [](HardwareProfile& p) { p.measured->l2.latency_far->value = 200; },
       {"measured latency"}},
      {"more L2 than there is",
       [](HardwareProfile& p) { p.measured->l2.capacity_private->value = 70 << 20; },
       {"measured l2 capacity"}},
      {"shared memory beyond its port",
       [](HardwareProfile& p) { p.measured->smem.load->value = 140; },
       {"measured smem load"}},
      {"products faster than the tensor cores",
       [](HardwareProfile& p) { p.measured->tensor.wgmma_smem[Format::fp16][128].value = 60; },
       {"measured tensor"}},
      {"more exponentials than lanes", [](HardwareProfile& p) { p.measured->pipes.ex2->value = 17; }, {"measured ex2"}},
      {"more multiply-adds than lanes",
       [](HardwareProfile& p) { p.measured->pipes.ffma->value = 130; },
       {"measured ffma"}},
      {"products that raise the clock",
       [](HardwareProfile& p) { p.measured->clock.mma_most->value = 2.1e9; },
       {"measured clock of mma"}},
      {"a launch that is sooner where its data has to come from memory",
       [](HardwareProfile& p) { p.measured->launch.interval_from_memory->value = 1.5e-6; },
       {"measured launch"}},
      {"a load that raises the clock",
       [](HardwareProfile& p) { p.measured->clock.tensor_load->value = 1.9e9; },
       {"measured clock"}},
      {"idle at more than the board's power",
       [](HardwareProfile& p) { p.measured->power.idle->value = 800; },
       {"measured power"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    HardwareProfile profile = plausible();
    row.spoil(profile);
    CHECK(failed_rules(profile) == listed(row.rules));
  }
}

TEST_CASE("a rate finding shows the whole calculation") {
  bool seen = false;
  for (const CheckFinding& finding : check_profile(h200())) {
    if (finding.rule != "rate fp16") continue;
    seen = true;
    CHECK(finding.profile == "h200_sxm");
    CHECK(finding.message == "132 SM x 1830 MHz x 4096 FLOP/clk = 989.4 TFLOP/s, datasheet 989.4 (+0.00 %)");
  }
  CHECK(seen);
}

}  // namespace hardware_check_test
