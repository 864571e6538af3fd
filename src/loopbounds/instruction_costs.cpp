#include "loopbounds/instruction_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernel/code/sass/kinds.h"
#include "kernel/code/sass/matrix.h"
#include "kernel/code/sass/registers.h"

namespace tilescope {
namespace {

using K = InstructionKind;
using Pipes = decltype(MeasuredRates::pipes);

// Which pipe runs instructions of a kind, and at which measured rate. The first row that fits counts; `opcode` and
// `modifier` may be empty. Kinds without a row are counted at issue alone.
struct PipeRow {
  InstructionKind kind;
  std::string_view opcode, modifier;
  CodePipe pipe;
  MeasuredRates::Value Pipes::*rate;
  const char* name;
};
constexpr PipeRow pipe_rows[] = {
    {K::special, "", "LG2", CodePipe::xu, &Pipes::lg2, "pipes.lg2"},
    {K::special, "", "RCP", CodePipe::xu, &Pipes::rcp, "pipes.rcp"},
    {K::special, "", "", CodePipe::xu, &Pipes::ex2, "pipes.ex2"},
    {K::fp32, "FADD", "", CodePipe::fma, &Pipes::fadd, "pipes.fadd"},
    {K::fp32, "FMUL", "", CodePipe::fma, &Pipes::fmul, "pipes.fmul"},
    {K::fp32, "FFMA", "", CodePipe::fma, &Pipes::ffma, "pipes.ffma"},
    {K::fp16, "", "", CodePipe::fma, &Pipes::ffma, "pipes.ffma"},
    {K::multiply_add, "", "", CodePipe::fma, &Pipes::ffma, "pipes.ffma"},
    {K::integer, "", "", CodePipe::alu, &Pipes::iadd3, "pipes.iadd3"},
    {K::logic, "", "", CodePipe::alu, &Pipes::lop3, "pipes.lop3"},
    {K::compare, "", "", CodePipe::alu, &Pipes::max, "pipes.max"},
    {K::select, "", "", CodePipe::alu, &Pipes::max, "pipes.max"},
    {K::move, "", "", CodePipe::alu, &Pipes::prmt, "pipes.prmt"},
    {K::uniform, "R2UR", "", CodePipe::alu, &Pipes::prmt, "pipes.prmt"},
    {K::system, "CS2R", "", CodePipe::alu, &Pipes::prmt, "pipes.prmt"},
    {K::vote, "VOTE", "", CodePipe::alu, &Pipes::lop3, "pipes.lop3"},
    {K::conversion, "F2FP", "E4M3", CodePipe::alu, &Pipes::cvt_e4m3x2, "pipes.cvt_e4m3x2"},
    {K::conversion, "F2FP", "BF16", CodePipe::alu, &Pipes::cvt_bf16x2, "pipes.cvt_bf16x2"},
    {K::conversion, "F2FP", "F16", CodePipe::alu, &Pipes::cvt_f16x2, "pipes.cvt_f16x2"},
    {K::shuffle, "SHFL", "", CodePipe::shuffle, &Pipes::shuffle, "pipes.shuffle"},
};

struct FormatName {
  std::string_view code;
  Format format;
};
constexpr FormatName format_names[] = {{"F16", Format::fp16},      {"BF16", Format::bf16}, {"E4M3", Format::fp8_e4m3},
                                       {"E5M2", Format::fp8_e4m3}, {"S8", Format::int8},   {"U8", Format::int8}};

std::optional<Format> format_of(const MatrixInstruction& matrix) {
  for (const FormatName& row : format_names)
    if (row.code == matrix.type_a) return row.format;
  return std::nullopt;
}

// The value at `n` on the line through the two measured counts nearest to it.
double along(const MeasuredRates::ByCount& measured, std::int64_t n) {
  auto above = measured.lower_bound(n);
  if (measured.size() == 1)
    return measured.begin()->second.value * static_cast<double>(n) / static_cast<double>(measured.begin()->first);
  if (above == measured.end()) --above;
  if (above == measured.begin()) ++above;
  const auto below = std::prev(above);
  const double slope = (above->second.value - below->second.value) / static_cast<double>(above->first - below->first);
  return std::max(0.0, below->second.value + slope * static_cast<double>(n - below->first));
}

}  // namespace

InstructionCosts::InstructionCosts(const HardwareProfile& hardware)
    : rates_(hardware.measured ? *hardware.measured
                               : throw InputError(Diagnostic{
                                     .path = "--hardware",
                                     .message = fmt::format("{} has no measured rates; 'tilescope hardware measure' on "
                                                            "that GPU adds them",
                                                            hardware.id)})) {
  if (hardware.schedulers_per_unit) schedulers_ = static_cast<double>(hardware.schedulers_per_unit->value);
  if (hardware.warp_size) warp_threads_ = static_cast<double>(hardware.warp_size->value);
  const double rate = value(rates_.pipes.issue, "pipes.issue", schedulers_ * warp_threads_);
  issue_ = std::max(1.0, schedulers_ * warp_threads_ / rate);
}

double InstructionCosts::value(const MeasuredRates::Value& measured, const char* name, double otherwise) const {
  if (measured) return measured->value;
  missing_.insert(name);
  return otherwise;
}

std::optional<PipeClocks> InstructionCosts::matrix_pipe(const Instruction& instruction) const {
  const auto matrix = matrix_instruction(instruction);
  const auto format = matrix ? format_of(*matrix) : std::nullopt;
  if (!format) return std::nullopt;
  const double k_of_rate = matrix->bits_a <= 8 ? 32 : 16;
  const double depth = static_cast<double>(matrix->k) / k_of_rate;
  if (rates_.tensor.mma_k8 && matrix->threads == 32 && matrix->bits_a == 16 &&
      matrix->m * matrix->n * matrix->k == 1024)
    return PipeClocks{CodePipe::tensor, rates_.tensor.mma_k8->value};
  if (matrix->threads > 32) {
    const auto& table = matrix->a_from_shared ? rates_.tensor.wgmma_smem : rates_.tensor.wgmma_register;
    const auto measured = table.find(*format);
    if (measured != table.end() && !measured->second.empty())
      return PipeClocks{CodePipe::tensor, along(measured->second, matrix->n) * depth};
    missing_.insert(matrix->a_from_shared ? "tensor.wgmma_smem" : "tensor.wgmma_register");
    return std::nullopt;
  }
  if (const auto measured = rates_.tensor.mma.find(*format); measured != rates_.tensor.mma.end())
    return PipeClocks{CodePipe::tensor,
                      measured->second.value * depth * static_cast<double>(matrix->m * matrix->n) / 128};
  missing_.insert("tensor.mma");
  return std::nullopt;
}

// Matrix loads and stores move whole rows. Other accesses move 128 bytes a clock to or from registers, also where lanes
// read the same address (validate/tools/sm_rules/loads_beside.cu).
std::optional<PipeClocks> InstructionCosts::shared_pipe(const Instruction& instruction) const {
  constexpr double wide_bytes = 16;  // of a thread in the x4 form that was measured
  const bool load = instruction.opcode == "LDSM", store = instruction.opcode == "STSM";
  if (!load && !store)
    return PipeClocks{CodePipe::shared, schedulers_ * std::max(1.0, bytes_of_thread(instruction) / 4.0)};
  const double clocks =
      load ? value(rates_.smem.ldmatrix, "smem.ldmatrix", 1) : value(rates_.smem.stmatrix, "smem.stmatrix", 1);
  return PipeClocks{CodePipe::shared, schedulers_ * clocks * bytes_of_thread(instruction) / wide_bytes};
}

std::optional<PipeClocks> InstructionCosts::pipe(const Instruction& instruction) const {
  if (instruction.guard.kind == Guard::Kind::never) return std::nullopt;
  const OpcodeRow& opcode = opcode_row(instruction.opcode);
  if (opcode.kind == K::matrix) return matrix_pipe(instruction);
  if (opcode.memory == CodeMemory::shared && (opcode.kind == K::load || opcode.kind == K::store))
    return shared_pipe(instruction);
  for (const PipeRow& row : pipe_rows) {
    if (row.kind != opcode.kind || (!row.opcode.empty() && row.opcode != instruction.opcode)) continue;
    if (!row.modifier.empty() && !instruction.has(row.modifier)) continue;
    const MeasuredRates::Value& rate = rates_.pipes.*row.rate;
    if (rate) return PipeClocks{row.pipe, schedulers_ * warp_threads_ / rate->value};
    missing_.insert(row.name);
    return std::nullopt;
  }
  return std::nullopt;
}

double InstructionCosts::latency(const Instruction& instruction) const {
  const double least = value(rates_.chains.ffma, "chains.ffma", 1);
  const OpcodeRow& row = opcode_row(instruction.opcode);
  constexpr int wide_bytes = 16;
  if (row.kind == K::special) return value(rates_.chains.ex2, "chains.ex2", least);
  if (instruction.opcode == "SHFL") return value(rates_.chains.shuffle, "chains.shuffle", least);
  if (instruction.opcode == "MOVM") return value(rates_.chains.movmatrix, "chains.movmatrix", least);
  if (instruction.opcode == "LDSM") return value(rates_.chains.ldmatrix, "chains.ldmatrix", least);
  if (instruction.opcode == "MEMBAR" && instruction.has("CTA"))  // stores of shared memory before it
    return value(rates_.smem.latency, "smem.latency", least);
  if (instruction.opcode == "LDC") return value(rates_.chains.constant, "chains.constant", least);
  if (row.kind == K::load && row.memory == CodeMemory::shared)
    return bytes_of_thread(instruction) >= wide_bytes ? value(rates_.smem.latency_wide, "smem.latency_wide", least)
                                                      : value(rates_.smem.latency, "smem.latency", least);
  if (row.kind == K::load && row.memory != CodeMemory::constant && row.memory != CodeMemory::tensor)
    return value(rates_.local.latency_l1, "local.latency_l1", least);  // a load from L2 or memory takes longer
  return least;
}

double InstructionCosts::operands_read() const { return value(rates_.chains.operands_read, "chains.operands_read", 1); }

double InstructionCosts::barrier(std::int64_t warps) const {
  const auto& measured = rates_.sync.block_barrier;
  if (!measured.empty()) return along(measured, warps);
  missing_.insert("sync.block_barrier");
  return 0;
}

double InstructionCosts::product_wait() const {
  const auto& whole = rates_.tensor.wgmma_latency;
  const auto busy = rates_.tensor.wgmma_smem.find(Format::fp16);
  if (whole.empty() || busy == rates_.tensor.wgmma_smem.end() || busy->second.empty()) {
    missing_.insert("tensor.wgmma_latency");
    return 0;
  }
  const std::int64_t n = whole.begin()->first;
  return std::max(0.0, whole.begin()->second.value - along(busy->second, n));
}

}  // namespace tilescope
