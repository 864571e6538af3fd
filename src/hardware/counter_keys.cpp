#include "hardware/counter_keys.h"

#include <map>

namespace tilescope {
namespace {

const std::map<std::string, std::string>& units() {
  static const std::map<std::string, std::string> table{
      {"active_cycles", "clk"},
      {"alu", "inst"},
      {"conversions", "OP"},
      {"cycles", "clk"},
      {"fadd", "OP"},
      {"fadd2", "OP"},
      {"ffma", "OP"},
      {"ffma2", "OP"},
      {"fmul", "OP"},
      {"fmul2", "OP"},
      {"instructions", "inst"},
      {"ldgsts_instructions", "inst"},
      {"ldsm_instructions", "inst"},
      {"smem_gmma_bytes", "B"},
      {"smem_ldgsts_bytes", "B"},
      {"smem_ldsm_bytes", "B"},
      {"smem_load_bytes", "B"},
      {"smem_store_bytes", "B"},
      {"smem_stsm_bytes", "B"},
      {"spill_loads", "inst"},
      {"spill_stores", "inst"},
      {"tensor_flop", "FLOP"},
      {"tensor_instructions", "inst"},
      {"xu", "OP"},
  };
  return table;
}

}  // namespace

std::vector<std::string> work_counter_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, unit] : units()) keys.push_back(key);
  return keys;
}

std::string work_counter_unit(const std::string& key) {
  const auto row = units().find(key);
  return row == units().end() ? std::string() : row->second;
}

}  // namespace tilescope
