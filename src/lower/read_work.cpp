// Operations and matrix products of an iteration, each with the rate of the pipe it runs on.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "lower/read_parts.h"

namespace tilescope::lower {
namespace {

const std::vector<std::string> pipes{"tensor", "exp2", "fma", "alu", "smem"};

// The units in which an amount may be given on a pipe. An FMA lane's multiply-add is 1 count and 2 FLOP.
bool takes(const std::string& pipe, AmountUnit unit) {
  if (unit == AmountUnit::bytes) return pipe == "smem";
  if (unit == AmountUnit::flop) return pipe == "tensor" || pipe == "fma";
  return pipe == "exp2" || pipe == "fma" || pipe == "alu";
}

// Finds which of flop, count and values is given. False after a finding.
bool read_amount(const Node& node, const ReadState& state, PipeOperation& operation) {
  constexpr std::array<std::pair<const char*, AmountUnit>, 3> keys{
      {{"flop", AmountUnit::flop}, {"count", AmountUnit::count}, {"values", AmountUnit::bytes}}};
  int given = 0;
  const char* last = "";
  for (const auto& [key, unit] : keys)
    if (const auto amount = node.find(key)) {
      operation.amount = read_product(*amount, state);
      operation.unit = unit, last = key, ++given;
    }
  if (given != 1) {
    node.report("needs exactly one of flop, count, values");
    return false;
  }
  if (!is_one_of(node["pipe"], pipes)) return false;
  if (takes(operation.pipe, operation.unit)) return true;
  const char* wanted = operation.pipe == "smem"     ? "values"
                       : operation.pipe == "tensor" ? "flop"
                       : operation.pipe == "fma"    ? "flop or count"
                                                    : "count";
  node.report(fmt::format("an operation on pipe '{}' is given as {}, found '{}'", operation.pipe, wanted, last));
  return false;
}

PipeOperation read_operation(const Node& node, const ReadState& state) {
  node.only({"name", "pipe", "dtype", "flop", "count", "values", "array", "rate"});
  PipeOperation operation;
  operation.name = node["name"].text();
  operation.pipe = node["pipe"].one_of(pipes);
  if (!read_amount(node, state, operation)) return operation;
  std::string array;
  if (operation.unit == AmountUnit::bytes) operation.bits = read_array(node["array"], state, array);
  else if (const auto extra = node.find("array")) extra->report("only 'values' belong to an array; remove this key");
  Rate rate = read_rate(node, state, operation);
  operation.rate = rate.per_clock, operation.rate_source = std::move(rate.source);
  return operation;
}

MatmulOperand read_operand(const Node& node, const ReadState& state) {
  node.only({"array", "level"});
  MatmulOperand operand;
  operand.bits = read_array(node["array"], state, operand.array);
  operand.level = read_level(node["level"]);
  return operand;
}

Matmul read_matmul(const Node& node, const ReadState& state) {
  node.only({"name", "m", "n", "k", "dtype", "a", "b"});
  Matmul matmul;
  matmul.name = node["name"].text();
  matmul.m = read_factor(node["m"], state), matmul.n = read_factor(node["n"], state),
  matmul.k = read_factor(node["k"], state);
  const Node dtype = node["dtype"];
  Rate rate = tensor_rate(dtype, state, dtype.exists() ? read_format(dtype) : std::nullopt);
  matmul.rate = rate.per_clock, matmul.rate_source = std::move(rate.source);
  matmul.a = read_operand(node["a"], state), matmul.b = read_operand(node["b"], state);
  return matmul;
}

}  // namespace

void read_work(const Node& node, ReadState& state) {
  node.only({"rows", "operations", "mma", "matmuls"});
  state.lowering.work_rows = read_size_name(node["rows"], state);
  if (const auto operations = node.find("operations"))
    for (const Node& item : operations->items()) state.lowering.operations.push_back(read_operation(item, state));
  const auto matmuls = node.find("matmuls");
  if (const auto mma = node.find("mma")) {
    mma->only({"m", "n", "ctas"});
    state.lowering.mma = {read_factor((*mma)["m"], state), read_factor((*mma)["n"], state),
                          read_factor((*mma)["ctas"], state)};
  } else if (matmuls) {
    node.report("matrix products need their instruction's tile 'mma: {m, n, ctas}'");
  }
  if (!matmuls) return;
  for (const Node& item : matmuls->items()) state.lowering.matmuls.push_back(read_matmul(item, state));
  const auto in_smem = [](const Matmul& matmul) {
    return matmul.a.level == LevelId::smem || matmul.b.level == LevelId::smem;
  };
  if (std::any_of(state.lowering.matmuls.begin(), state.lowering.matmuls.end(), in_smem))
    state.lowering.smem_bytes_per_clock = smem_rate(*matmuls, state).per_clock;
}

}  // namespace tilescope::lower
