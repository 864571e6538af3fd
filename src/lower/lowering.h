// A lowering: the tile choice of a schedule as variables in a GPU's memories and operations on its pipes, all of it
// data (models/lowerings/*.yaml, schema tilescope/lowering/1). From it follow how many warps, warpgroups or blocks fit,
// the clocks a pipe needs and the bound of the pipeline. (Napkin, arXiv 2412.03317, section 5, tables 1-3)
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "hardware/profile.h"

namespace tilescope::lower {

using Sizes = std::map<std::string, std::int64_t>;  // axis sizes and tiles by name, in values

// A size by its name, or a number.
struct SizeFactor {
  std::string size;  // empty: the number
  std::int64_t number = 1;
};
using SizeProduct = std::vector<SizeFactor>;

std::int64_t value_of(const SizeFactor& factor, const Sizes& sizes);
std::int64_t value_of(const SizeProduct& product, const Sizes& sizes);  // throws CountOverflow

// What a size must be a multiple of, and why.
struct SizeDivisor {
  std::string size;
  std::int64_t multiple = 1;
  std::string because;
};

enum class Scope { warp, warpgroup, block };  // innermost first

// The warps, warpgroups or blocks of which an SM holds as many as fit. Each owns `rows` rows of the grouped axis, so N
// copies give g = N * rows.
struct ResidentCopies {
  Scope scope = Scope::warpgroup;
  std::string rows;
  std::int64_t threads = 0;
};

struct Variable {
  std::string name, array;
  SizeProduct shape;
  std::int64_t bits = 0;  // of one value
  LevelId level = LevelId::smem;
  Scope scope = Scope::block;
  std::int64_t buffers = 1;
  std::int64_t streamed = 0;       // times in one iteration that the shape crosses from or to the outermost memory
  std::string shares;              // a variable whose storage this one reuses after that one's last use
  std::vector<std::string> plans;  // empty: in every plan
  std::string source;              // id in Lowering::sources; empty: the file's
};

enum class AmountUnit { flop, count, bytes };

struct PipeOperation {
  std::string name, pipe;  // "tensor", "exp2", "fma", "alu", "smem"
  AmountUnit unit = AmountUnit::flop;
  SizeProduct amount;  // in one iteration of Work::rows rows; values of `bits` bits for AmountUnit::bytes
  std::int64_t bits = 0;
  double rate = 0;  // FLOP, operations or bytes a clock and unit
  std::string rate_source;
};

// An operand of a matrix instruction; only those in shared memory are read from it.
struct MatmulOperand {
  std::string array;
  LevelId level = LevelId::smem;
  std::int64_t bits = 0;
};

// C[m,n] += A[m,k] B[n,k] in instructions of `mma`: whole instruction tiles are executed, and each reads its operands.
struct Matmul {
  std::string name;
  SizeFactor m, n, k;
  MatmulOperand a, b;
  double rate = 0;  // tensor FLOP a clock and unit
  std::string rate_source;
};

// The instruction's tile on one unit. A pair of units (ctas: 2) shares B: each supplies 1 / ctas of its rows.
struct MmaTile {
  SizeFactor m, n, ctas;
};

// Operations in one phase overlap across pipes; phases follow each other. Full overlap is one phase of everything,
// serial is a phase for each operation.
struct PhaseOverlap {
  std::string style = "full";  // "full", "serial", "phases"
  std::vector<std::vector<std::string>> phases;
};

struct LoweringPlan {
  std::string name;
  Sizes sizes;  // the file's, with this plan's own
  PhaseOverlap overlap;
};

struct Lowering {
  std::string name, summary, file, source;
  HardwareProfile hardware;
  std::map<std::string, std::string> sources;
  std::map<std::string, Dtype> dtypes;  // of arrays
  std::vector<SizeDivisor> divisors;
  ResidentCopies copies;
  std::vector<Variable> variables;
  std::string work_rows;  // rows of the grouped axis to which the amounts of one iteration refer
  std::vector<PipeOperation> operations;
  MmaTile mma;
  std::vector<Matmul> matmuls;
  double smem_bytes_per_clock = 0;  // of the hardware; read when a matmul's operand is in shared memory
  std::vector<LoweringPlan> plans;
};

std::string to_string(Scope scope);

// Threads of a warp, a warpgroup (four warps), or the copied block; 0 for a block when something smaller is copied.
std::int64_t threads_of(Scope scope, const Lowering& lowering);

// Reads a lowering and the hardware profile it names (data_directory/hardware). Throws InputError with every finding.
Lowering load_lowering(const std::filesystem::path& file, const std::filesystem::path& data_directory);

}  // namespace tilescope::lower
