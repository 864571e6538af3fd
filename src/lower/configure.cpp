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

std::int64_t whole(const std::optional<Sourced<double>>& bytes) { return bytes ? std::llround(bytes->value) : 0; }

// The capacity of `level` for a unit's copies: one block's share of shared memory, unless the copied unit is the block.
std::int64_t capacity_of(const Lowering& lowering, const MemoryLevel& level) {
  const bool within_block = lowering.copies.scope != Scope::block;
  return within_block && level.capacity_per_block_bytes ? whole(level.capacity_per_block_bytes)
                                                        : whole(level.capacity_bytes);
}

LevelFit fit_level(const Lowering& lowering, const MemoryLevel& level, const std::vector<VariableUse>& uses) {
  LevelFit fit{level.id, capacity_of(lowering, level), 0, 0, {}, 0};
  const ResidentCopies& copies = lowering.copies;
  for (const VariableUse& use : uses) {
    if (use.level != level.id) continue;
    if (use.scope == Scope::block && copies.scope != Scope::block)
      fit.block_bytes = checked_add(fit.block_bytes, use.stored_bytes);
    else
      fit.copy_bytes =
          checked_add(fit.copy_bytes, checked_mul(use.stored_bytes, copies.threads / threads_of(use.scope, lowering)));
  }
  if (copies.scope == Scope::block) fit.copy_bytes = checked_add(fit.copy_bytes, whole(level.reserved_per_block_bytes));
  if (fit.copy_bytes == 0) return fit;
  fit.copies_max = static_cast<double>(fit.capacity_bytes - fit.block_bytes) / static_cast<double>(fit.copy_bytes);
  fit.copies = std::max<std::int64_t>(0, fit.capacity_bytes - fit.block_bytes) / fit.copy_bytes;
  return fit;
}

// A thread gets whole registers, a warp whole allocation units: fewer copies may fit than bytes alone would allow.
RegisterUse round_registers(const Lowering& lowering, LevelFit& fit) {
  const HardwareProfile& hardware = lowering.hardware;
  RegisterUse use;
  use.per_thread = ceil_div(fit.copy_bytes, bytes_per_register * lowering.copies.threads);
  const std::int64_t warp = threads_of(Scope::warp, lowering);
  const std::int64_t unit = hardware.register_allocation_unit
                                ? std::max<std::int64_t>(1, hardware.register_allocation_unit->value / warp)
                                : 1;
  use.allocated = checked_mul(ceil_div(use.per_thread, unit), unit);
  if (hardware.max_registers_per_thread) use.limit = hardware.max_registers_per_thread->value;
  fit.copies = std::min(fit.copies,
                        fit.capacity_bytes / checked_mul(bytes_per_register * lowering.copies.threads, use.allocated));
  return use;
}

// Copies that the unit's thread limits allow; 0 is "not known".
std::int64_t thread_limit(const Lowering& lowering) {
  const HardwareProfile& hardware = lowering.hardware;
  const ResidentCopies& copies = lowering.copies;
  if (copies.scope != Scope::block)
    return hardware.max_threads_per_block ? hardware.max_threads_per_block->value / copies.threads : 0;
  std::int64_t limit = hardware.max_blocks_per_unit ? hardware.max_blocks_per_unit->value : 0;
  if (!hardware.max_warps_per_unit) return limit;
  const std::int64_t by_warps = hardware.max_warps_per_unit->value * threads_of(Scope::warp, lowering) / copies.threads;
  return limit == 0 ? by_warps : std::min(limit, by_warps);
}

}  // namespace

Configuration configure(const Lowering& lowering, const LoweringPlan& plan) {
  Configuration result;
  result.variables = place_variables(lowering, plan);
  const std::int64_t threads = thread_limit(lowering);
  double spare = static_cast<double>(threads);
  if (threads > 0) result.copies = threads, result.limited_by = "threads";
  for (const MemoryLevel& level : lowering.hardware.levels) {
    const auto here = [&](const VariableUse& use) { return use.level == level.id; };
    if (std::none_of(result.variables.begin(), result.variables.end(), here)) continue;
    LevelFit fit = fit_level(lowering, level, result.variables);
    if (level.id == LevelId::reg && fit.copies_max) result.registers = round_registers(lowering, fit);
    // If several levels hold equally many copies, the one with the least spare capacity is the limit.
    const bool limits = fit.copies_max && (result.limited_by.empty() || fit.copies < result.copies ||
                                           (fit.copies == result.copies && *fit.copies_max < spare));
    if (limits) result.copies = fit.copies, result.limited_by = level.name(), spare = *fit.copies_max;
    result.levels.push_back(std::move(fit));
  }
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
