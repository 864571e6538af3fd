// The configuration table and N_max = (M_max - M_block) / M_copy of each memory (Napkin, arXiv
// 2412.03317, section 5, tables 1 and 2).
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/contains.h"
#include "lower/result.h"

namespace tilescope::lower {
namespace {

constexpr std::int64_t bytes_per_register = 4;

bool in_plan(const Variable& variable, const LoweringPlan& plan) {
  return variable.plans.empty() || contains(variable.plans, plan.name);
}

std::int64_t bytes_of(const Variable& variable, const Sizes& sizes) {
  return ceil_div(checked_mul(value_of(variable.shape, sizes), variable.bits), 8);
}

std::vector<VariableUse> place_variables(const Lowering& lowering, const LoweringPlan& plan) {
  std::vector<VariableUse> uses;
  for (const Variable& variable : lowering.variables) {
    if (!in_plan(variable, plan)) continue;
    const std::int64_t bytes = checked_mul(bytes_of(variable, plan.sizes), variable.buffers);
    uses.push_back(
        {variable.name, variable.level, variable.scope, bytes, variable.shares.empty() ? bytes : 0, variable.shares});
  }
  for (const VariableUse& guest : uses)
    for (VariableUse& owner : uses)
      if (!guest.shares.empty() && owner.name == guest.shares)
        owner.stored_bytes = std::max(owner.stored_bytes, guest.bytes);
  return uses;
}

Copied copied_of(const Lowering& lowering) {
  return lowering.copies.scope == Scope::block ? Copied::blocks : Copied::parts_of_a_block;
}

LevelFit fit_variables(const Lowering& lowering, const MemoryLevel& level, const std::vector<VariableUse>& uses) {
  std::int64_t of_block = 0, of_copy = 0;
  const ResidentCopies& copies = lowering.copies;
  for (const VariableUse& use : uses) {
    if (use.level != level.id) continue;
    if (use.scope == Scope::block && copies.scope != Scope::block) of_block = checked_add(of_block, use.stored_bytes);
    else
      of_copy = checked_add(of_copy, checked_mul(use.stored_bytes, copies.threads / threads_of(use.scope, lowering)));
  }
  return fit_level(level, copied_of(lowering), of_block, of_copy);
}

// A thread gets whole registers, a warp whole allocation units: fewer copies may fit than bytes alone would allow.
RegisterUse round_registers(const Lowering& lowering, LevelFit& fit) {
  const HardwareProfile& hardware = lowering.hardware;
  const std::int64_t bytes = checked_mul(bytes_per_register, lowering.copies.threads);
  RegisterUse use;
  use.per_thread = ceil_div(fit.copy_bytes, bytes);
  use.allocated = allocated_registers(hardware, use.per_thread);
  if (hardware.max_registers_per_thread) use.limit = hardware.max_registers_per_thread->value;
  fit.copies = std::min(fit.copies, fit.capacity_bytes / checked_mul(bytes, use.allocated));
  return use;
}

}  // namespace

Configuration configure(const Lowering& lowering, const LoweringPlan& plan) {
  Configuration result;
  result.variables = place_variables(lowering, plan);
  Residency residency(lowering.hardware, copied_of(lowering), lowering.copies.threads);
  for (const MemoryLevel& level : lowering.hardware.levels) {
    const auto here = [&](const VariableUse& use) { return use.level == level.id; };
    if (std::none_of(result.variables.begin(), result.variables.end(), here)) continue;
    LevelFit fit = fit_variables(lowering, level, result.variables);
    if (level.id == LevelId::reg && fit.copies_max) result.registers = round_registers(lowering, fit);
    residency.limit(fit);
    result.levels.push_back(std::move(fit));
  }
  result.copies = residency.copies();
  if (residency.limited()) result.limited_by = residency.limited_by() ? to_string(*residency.limited_by()) : "threads";
  result.group_rows = checked_mul(result.copies, plan.sizes.at(lowering.copies.rows));
  return result;
}

std::int64_t streamed_bytes(const Lowering& lowering, const LoweringPlan& plan) {
  std::int64_t bytes = 0;
  for (const Variable& variable : lowering.variables)
    if (in_plan(variable, plan))
      bytes = checked_add(bytes, checked_mul(bytes_of(variable, plan.sizes), variable.streamed));
  return bytes;
}

}  // namespace tilescope::lower
