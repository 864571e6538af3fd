// Clocks of each operation and the bound of the pipeline: per phase the busiest pipe, phases in sequence
// (Napkin, arXiv 2412.03317, section 5, table 3; FlashAttention-4, arXiv 2603.05451, section 3 for shared memory).
#include <algorithm>

#include "base/checked.h"
#include "base/contains.h"
#include "lower/result.h"
#include "predict/point/products.h"
#include "predict/sm/rates.h"

namespace tilescope::lower {
namespace {

struct Entry {
  OperationClocks clocks;
  std::string owner;  // the operation or matmul of the file, as named by overlap phases
};

void add(std::vector<Entry>& entries, const std::string& owner, OperationClocks operation) {
  operation.clocks = static_cast<double>(operation.amount) / operation.rate;
  entries.push_back({std::move(operation), owner});
}

// A product as predictions count it: whole instructions, each of which reads its A and B over all of k.
void add_matmul(std::vector<Entry>& entries, const Lowering& lowering, const Matmul& matmul, const Sizes& sizes) {
  const MmaShape mma{.m = value_of(lowering.mma.m, sizes), .n = value_of(lowering.mma.n, sizes), .k = 1};
  const InstructionGrid grid = instruction_grid(value_of(matmul.m, sizes), value_of(matmul.n, sizes), mma);
  const std::int64_t k = value_of(matmul.k, sizes), tiles = checked_mul(grid.rows, grid.columns);
  const std::int64_t flop = checked_mul(checked_mul(tiles, 2 * mma.m), checked_mul(mma.n, k));
  add(entries, matmul.name, {matmul.name, "tensor", matmul.rate_source, AmountUnit::flop, flop, matmul.rate, 0});
  const std::string source = lowering.hardware.id + " levels.smem.bandwidth_per_cycle";
  const auto read = [&](const MatmulOperand& operand, std::int64_t rows) {
    if (operand.level != LevelId::smem) return;
    const std::int64_t bytes = checked_mul(tiles, ceil_div(checked_mul(checked_mul(rows, k), operand.bits), 8));
    add(entries, matmul.name,
        {matmul.name + " reads " + operand.array, "smem", source, AmountUnit::bytes, bytes,
         lowering.smem_bytes_per_clock, 0});
  };
  read(matmul.a, mma.m);
  read(matmul.b, ceil_div(mma.n, value_of(lowering.mma.ctas, sizes)));  // a pair of units shares B
}

std::vector<Entry> entries_of(const Lowering& lowering, const Sizes& sizes) {
  std::vector<Entry> entries;
  for (const Matmul& matmul : lowering.matmuls) add_matmul(entries, lowering, matmul, sizes);
  for (const PipeOperation& operation : lowering.operations) {
    std::int64_t amount = value_of(operation.amount, sizes);
    if (operation.unit == AmountUnit::bytes) amount = ceil_div(checked_mul(amount, operation.bits), 8);
    add(entries, operation.name,
        {operation.name, operation.pipe, operation.rate_source, operation.unit, amount, operation.rate, 0});
  }
  return entries;
}

// Pipes in the order in which they are first used.
template <class Belongs>
std::vector<PipeClocks> sum_pipes(const std::vector<Entry>& entries, Belongs belongs) {
  std::vector<PipeClocks> pipes;
  for (const Entry& entry : entries) {
    if (!belongs(entry)) continue;
    const auto same = [&](const PipeClocks& pipe) { return pipe.pipe == entry.clocks.pipe; };
    auto pipe = std::find_if(pipes.begin(), pipes.end(), same);
    if (pipe == pipes.end()) pipe = pipes.insert(pipes.end(), {entry.clocks.pipe, 0});
    pipe->clocks += entry.clocks.clocks;
  }
  return pipes;
}

// A phase takes the clocks of its busiest pipe. Equally busy ones are all named.
void add_phase(const std::vector<PipeClocks>& pipes, Throughput& result) {
  double most = 0;
  for (const PipeClocks& pipe : pipes) most = std::max(most, pipe.clocks);
  std::string busiest;
  for (const PipeClocks& pipe : pipes)
    if (pipe.clocks == most) busiest += (busiest.empty() ? "" : " and ") + pipe.pipe;
  result.bound_clocks += most;
  if (result.bound_by.empty()) result.bound_by = busiest;
  else if (!busiest.empty() && result.bound_by != busiest) result.bound_by = "several phases";
}

void bound(const std::vector<Entry>& entries, const PhaseOverlap& overlap, Throughput& result) {
  if (overlap.style == "full") return add_phase(result.pipes, result);
  std::vector<std::vector<std::string>> phases = overlap.phases;
  if (overlap.style == "serial")  // a product's operand reads still go with it
    for (const Entry& entry : entries)
      if (phases.empty() || phases.back().front() != entry.owner) phases.push_back({entry.owner});
  for (const auto& phase : phases)
    add_phase(sum_pipes(entries, [&](const Entry& e) { return contains(phase, e.owner); }), result);
}

}  // namespace

double clock_of(const HardwareProfile& hardware) {
  const auto clock = tensor_clock(hardware);
  return clock ? clock->value : hardware.boost_hz ? hardware.boost_hz->value : 0;
}

Throughput pipeline(const Lowering& lowering, const LoweringPlan& plan) {
  const std::vector<Entry> entries = entries_of(lowering, plan.sizes);
  Throughput result;
  result.rows = plan.sizes.at(lowering.work_rows);
  result.pipes = sum_pipes(entries, [](const Entry&) { return true; });
  for (const Entry& entry : entries) {
    result.operations.push_back(entry.clocks);
    if (entry.clocks.pipe == "tensor") result.tensor_flop = checked_add(result.tensor_flop, entry.clocks.amount);
  }
  bound(entries, plan.overlap, result);
  if (result.bound_clocks > 0)
    result.ideal_flop_per_second = static_cast<double>(result.tensor_flop) / result.bound_clocks *
                                   clock_of(lowering.hardware) * static_cast<double>(lowering.hardware.units.value);
  return result;
}

}  // namespace tilescope::lower
