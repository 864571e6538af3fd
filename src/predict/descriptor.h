// A kernel descriptor: how a kernel, ours or anyone's, implements a schedule. Facts of the source or its SASS only;
// never a fitted number.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "schedule/schedule.h"

namespace tilescope {

// Thread operations a kernel executes on one pipe. per_row* are before multiplication by row_replication.
struct WorkRates {
  double per_score = 0;        // each element of the score tile, in every step
  double per_row_step = 0;     // each query row, in every step
  double per_row = 0;          // each query row, once
  double per_output_step = 0;  // each output element, in every step
  double per_output = 0;       // each output element, once
};

inline constexpr int pipe_count = 4;
enum class Pipe { xu, ffma, fadd, fmul };
std::string to_string(Pipe pipe);

struct MmaShape {
  std::int64_t m = 0, n = 0, k = 0;
};

struct IslandImplementation {
  std::string name;                  // an island of the schedule
  bool stores_log_sum_exp = false;
  bool writes_masked_rows = false;   // blocks that see no key still finish their rows and store them
  std::int64_t row_store = 0;        // rows whose statistics one store instruction writes; 0: not known, bytes as they are
  std::string tensor_path;           // "tensor" (datasheet rate), "mma.sync", "wgmma", "fma", "none"
  MmaShape mma;
  std::int64_t row_replication = 1;  // lanes that repeat each per-row operation
  std::int64_t row_multiple = 1;     // a row of scores that no loop cuts is worked on in multiples of this many
  std::int64_t stages = 1;           // copies of each streamed input tile in shared memory
  bool output_through_smem = false;
  std::vector<std::string> block_order;      // grid dimensions, fastest first: "q", "kv", "heads", "batch"
  std::map<std::string, std::int64_t> warp_grid;  // warps along "q", "kv", "d_v"; empty: all along q
  std::array<WorkRates, pipe_count> work{};

  bool uses_tensor_cores() const { return tensor_path != "fma" && tensor_path != "none"; }
};

// One built template combination.
struct KernelVariant {
  std::int64_t head_dim = 0;  // 0: any
  std::int64_t tile_q = 0, tile_kv = 0, warps = 0;
  std::vector<std::string> registers_hold;  // input arrays whose fragments stay in registers over the stream
  std::int64_t smem_bytes = 0;              // dynamic shared memory the kernel asks for, to check the model's footprint
  bool spills = false;                      // the compiler reports local-memory use

  bool holds(const std::string& array) const;
  // The built size of a parameter of the schedule: `tile_NAME` in the file. 0: the file does not state one.
  std::int64_t tile(std::string_view parameter) const;
};

struct KernelDescriptor {
  std::string name, schedule_name, summary, file;
  std::vector<Dtype> dtypes;             // empty: any
  std::vector<std::int64_t> head_dims;   // empty: any
  std::vector<std::string> masks;        // "none", "causal", "window", "block-sparse"
  std::int64_t largest_head_dim = 0, largest_kv_len = 0;  // 0: no limit of the kernel's own
  double least_compute_capability = 0;                    // oldest GPU generation its machine code runs on; 0: any
  std::map<std::string, std::int64_t> padded_rows;  // arrays whose rows are padded in memory, to a multiple of elements
  std::vector<IslandImplementation> islands;  // in the schedule's order
  std::vector<KernelVariant> variants;   // empty: any tile (an assumed implementation)
};

// Reads a kernel.yaml against the schedule it names. Throws InputError with every finding.
KernelDescriptor load_descriptor(const std::filesystem::path& file, const std::filesystem::path& models_directory);

}  // namespace tilescope
