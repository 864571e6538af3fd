#include "kernel/code/sass/matrix.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "kernel/code/sass/kinds.h"

namespace tilescope {
namespace {

struct NumberFormat {
  std::string_view name;
  std::int64_t bits;
};
constexpr NumberFormat number_formats[] = {
    {"F64", 64}, {"F32", 32}, {"TF32", 32}, {"F16", 16}, {"BF16", 16}, {"E4M3", 8}, {"E5M2", 8}, {"E3M2", 6},
    {"E2M3", 6}, {"E2M1", 4}, {"S32", 32},  {"S8", 8},   {"U8", 8},    {"S4", 4},   {"U4", 4},   {"B1", 1},
};

std::int64_t bits_of(std::string_view name) {
  for (const NumberFormat& format : number_formats)
    if (format.name == name) return format.bits;
  return 0;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty() || value < 0 || value > 1 << 20)
    return std::nullopt;
  return value;
}

// "64x128x16" of a warpgroup, "16816" of a warp: 16 x 8 x 16.
bool read_shape(std::string_view text, MatrixInstruction& matrix) {
  if (const std::vector<std::string> parts = split(text, 'x'); parts.size() == 3) {
    const auto m = whole_number(parts[0]), n = whole_number(parts[1]), k = whole_number(parts[2]);
    if (!m || !n || !k) return false;
    matrix.m = *m, matrix.n = *n, matrix.k = *k, matrix.threads = 128;
    return true;
  }
  const bool tall = text.starts_with("16");
  const std::string_view rest = text.substr(std::min<std::size_t>(tall ? 2 : 1, text.size()));
  if (!(tall || text.starts_with("8")) || !rest.starts_with("8")) return false;
  const auto k = whole_number(rest.substr(1));
  if (!k) return false;
  matrix.m = tall ? 16 : 8, matrix.n = 8, matrix.k = *k;
  return true;
}

struct DefaultFormats {
  std::string_view opcode, operands, result;
};
constexpr DefaultFormats default_formats[] = {
    {"HMMA", "F16", "F16"}, {"HGMMA", "F16", "F16"}, {"IMMA", "S8", "S32"},    {"IGMMA", "S8", "S32"},
    {"DMMA", "F64", "F64"}, {"QMMA", "E4M3", "F32"}, {"QGMMA", "E4M3", "F32"}, {"OMMA", "E2M1", "F32"},
    {"BMMA", "B1", "S32"},  {"BGMMA", "B1", "S32"},
};

}  // namespace

std::int64_t MatrixInstruction::shared_bytes() const {
  constexpr std::int64_t bits_of_byte = 8;
  const std::int64_t a = m * k * bits_a / (sparse ? 2 : 1), b = n * k * bits_b;
  return ((a_from_shared ? a : 0) + (b_from_shared ? b : 0)) / bits_of_byte;
}

std::int64_t MatrixInstruction::registers_of(std::int64_t rows, std::int64_t columns, std::int64_t bits) const {
  constexpr std::int64_t register_bits = 32;
  return std::max<std::int64_t>(1, rows * columns * bits / (register_bits * threads));
}

std::optional<MatrixInstruction> matrix_instruction(const Instruction& instruction) {
  if (opcode_row(instruction.opcode).kind != InstructionKind::matrix || instruction.modifiers.empty())
    return std::nullopt;
  MatrixInstruction matrix{.opcode = instruction.opcode};
  const auto defaults = std::find_if(std::begin(default_formats), std::end(default_formats),
                                     [&](const DefaultFormats& row) { return row.opcode == instruction.opcode; });
  if (defaults == std::end(default_formats)) return std::nullopt;
  bool shaped = false;
  std::vector<std::string> formats;
  for (const std::string& modifier : instruction.modifiers) {
    if (!shaped && read_shape(modifier, matrix)) shaped = true;
    else if (bits_of(modifier) != 0) formats.push_back(modifier);
    else if (modifier == "SP") matrix.sparse = true;
  }
  if (!shaped) return std::nullopt;
  // HMMA names the result, then what the operands are if not F16; IMMA only the operands; QGMMA the result, then both.
  const bool whole = defaults->result == "S32" || defaults->result == "F64";
  matrix.result = defaults->result, matrix.type_a = matrix.type_b = defaults->operands;
  if (!whole && !formats.empty()) matrix.result = formats.front(), formats.erase(formats.begin());
  if (!formats.empty()) matrix.type_a = matrix.type_b = formats.front();
  if (formats.size() > 1) matrix.type_b = formats[1];
  matrix.bits_a = bits_of(matrix.type_a), matrix.bits_b = bits_of(matrix.type_b);
  matrix.result_bits = bits_of(matrix.result);
  if (matrix.threads > 32 && instruction.operands.size() > 1) {
    matrix.b_from_shared = true;
    matrix.a_from_shared = instruction.operands[1].starts_with("gdesc");
  }
  return matrix;
}

}  // namespace tilescope
