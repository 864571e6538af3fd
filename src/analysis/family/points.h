// Quantities of a record and of its prediction under common names.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "analysis/family/model.h"
#include "compare/compare.h"
#include "compare/third_party.h"
#include "hardware/profile.h"

namespace tilescope::analysis {

// A column of the table: its name here, its title, and what the comparison calls it.
struct FamilyQuantity {
  const char *name, *title, *quantity, *level, *direction;
};
inline constexpr FamilyQuantity family_quantities[] = {
    {"tensor_flop", "tensor FLOP", "tensor_flop", "", ""},
    {"l2_read_bytes", "L2 → SM", "traffic", "l2", "read"},
    {"l2_write_bytes", "SM → L2", "traffic", "l2", "write"},
    {"smem_operand_bytes", "shared-memory operands", "operand_bytes", "smem", "read"},
    {"hbm_read_bytes", "HBM read", "traffic", "hbm", "read"},
    {"hbm_write_bytes", "HBM write", "traffic", "hbm", "write"},
};

// One record with what the ladder compares. A quantity that was not predicted or not counted is absent, never zero.
struct FamilyPoint {
  const ComparedPoint* compared = nullptr;
  std::map<std::string, double> predicted, measured;  // the names above, and hbm_bytes, xu, fma (operations)
  double seconds = 0;                                 // median of the back-to-back runs
  double kv_bytes = 0;                                // of the inputs that have the keys' axis, scales included
  std::string workload;                               // equal for records that ask the same question
  std::string step;                                   // kernel and formats; fp16 and bf16 count as one

  const validate::MeasurePoint& point() const { return compared->record.point; }
  const Plan& plan() const { return compared->plan; }
  const Prediction& prediction() const { return compared->prediction; }
  bool third_party() const { return is_third_party(compared->plan); }
};

FamilyPoint family_point(const ComparedPoint& compared, const HardwareProfile& hardware);

// Why the prediction or the record of a point does not have a quantity; empty: both have it.
std::string why_absent(const FamilyPoint& point, const HardwareProfile& hardware, const FamilyQuantity& quantity);

// Empty: no such name.
std::optional<double> find(const std::map<std::string, double>& values, const std::string& name);

// One row a kernel: its representative point beside the errors over all its records.
std::vector<FamilyRow> family_rows(const std::vector<FamilyPoint>& points, const Comparison& comparison,
                                   const HardwareProfile& hardware);

// One ladder for each workload that at least two kernels, or one kernel in two formats, were measured on. The longest
// ladders first, then those with most work.
std::vector<Ladder> family_ladders(const std::vector<FamilyPoint>& points, const HardwareProfile& hardware);

}  // namespace tilescope::analysis
