// A kernel descriptor: how a kernel, ours or anyone's, implements a schedule. Facts of the source or its SASS only;
// never a fitted number. Every key is explained in kernels/DESCRIPTOR.md.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "kernel/descriptor/instance_code.h"
#include "kernel/descriptor/kinds.h"
#include "kernel/descriptor/shapes.h"
#include "schedule/schedule.h"

namespace tilescope {

// Thread operations a kernel executes on one pipe. per_row* are before multiplication by row_replication.
struct WorkRates {
  double per_score = 0;         // each element of the score tile, in every step
  double per_row_step = 0;      // each query row, in every step
  double per_row = 0;           // each query row, once
  double per_output_step = 0;   // each output element, in every step
  double per_output = 0;        // each output element, once
  double per_masked_score = 0;  // each element of the score tiles that the mask cuts
  double per_padded_score = 0;  // each element of the score tile, in every step, where the keys do not fill their tiles
  double per_thread_step = 0;   // each thread that computes, in every step of its block: addresses, loops, barriers
  std::vector<std::pair<std::string, double>> per_element,
      per_element_step;  // of a named array: as its tile moves, in every step
};

struct MmaShape {
  std::int64_t m = 0, n = 0, k = 0;  // n 0: the columns of the product's tile; k of 16-bit operands
};

// How the warps (warpgroups, where an instruction is theirs) share a product: its rows, its columns, parts of its sum.
struct WarpGrid {
  std::int64_t rows = 0, columns = 0, depth = 1;  // 0: as many as there are rows of instructions; what is left
};

// A contraction C = A B of an island, where it differs from the island's defaults.
struct ProductImplementation {
  std::string op, rows_of;  // operator; the input that has the rows of C (A), empty: the first
  WarpGrid grid;
  std::vector<std::string> registers;  // operands that come from registers here though they also lie in shared memory
  std::optional<MmaShape> mma;
  std::optional<Format> computes_in;
  std::map<std::string, std::int64_t> fetches;  // of an operand's tile a step, where the rule would say another number
  std::int64_t parts = 1;                       // of the result's tile, made one after the other: accumulators hold one
  std::int64_t repeats = 1;                     // warps (warpgroups) that each make the same part of the result
};

// Of a block's last tile of keys, each so many rows take scores up to a multiple of so many keys, one at least, that
// holds the last key which one of them sees.
struct NarrowScores {
  std::int64_t rows = 0, keys = 0;  // 0: scores of the whole tile
};

// Blocks come in sections of heads, one section after the other: as many KV heads (with all their query heads) as have
// the listed arrays within a budget, at least one.
struct Sections {
  When when = When::always;
  std::vector<GridDimension> order;  // dimensions inside a section, fastest first; heads is one of them
  std::vector<std::string> arrays;
  double l2_share = 0;  // the budget: this part of the L2, or so many bytes
  std::int64_t bytes = 0;
  bool equal = false;          // sections divide a batch entry's heads into equal parts; else they run over all of them
  bool smaller_first = false;  // the section that has fewer heads than the others comes first, else last
};

// Threads that work on a row together: one each `columns` columns of the output, rounded up to a multiple.
struct RowThreads {
  std::int64_t columns = 0, multiple = 1;  // 0: row_replication says how many lanes repeat a row's operations
};

// Numbers that depend on the size of an axis, as instances of a template are chosen by it: that of the smallest size
// listed that holds the axis, of the largest where none does. axis empty: one number for all.
struct BySize {
  std::string axis;
  std::map<std::int64_t, std::int64_t> numbers;
};

// Steps of an island's stream for which an implementation runs.
struct Steps {
  std::int64_t least = 1, most = 0;  // 0: no limit
  bool hold(std::int64_t steps) const { return steps >= least && (most == 0 || steps <= most); }
};

struct IslandImplementation {
  std::string name;  // an island of the schedule
  Steps steps;       // of several implementations of an island, for which it runs
  bool stores_log_sum_exp = false;
  bool writes_masked_rows = false;  // blocks that see no key still finish their rows and store them
  std::int64_t row_load = 0;   // rows whose stored statistics one load instruction brings back; 0: bytes as they are
  std::int64_t row_store = 0;  // rows whose statistics one store instruction writes; 0: not known, bytes as they are
  TensorPath tensor_path = TensorPath::none;
  MmaShape mma;
  std::optional<Format> computes_in;  // of the matrix instructions; empty: the wider input of each product
  std::vector<ProductImplementation> products;
  std::vector<std::string> direct;  // loaded straight into registers
  std::vector<std::string>
      loads_every_step;  // come from L2 again (results: go there and come back) although the tile has not changed
  std::vector<std::string> loaded_by_threads;  // to shared memory, whatever loads_by says
  std::vector<std::string> through_smem;       // pass through shared memory though no product loads them
  std::vector<std::string> transposes;  // loaded tiles that warps turn over in shared memory before products take them
  std::vector<std::string> reductions;  // results added to in L2 by instructions that return nothing
  std::vector<std::string> zeroes;      // sums of another island that this one sets to zero beforehand
  CopyPath loads_by = CopyPath::cp_async, stores_by = CopyPath::st;
  std::int64_t row_replication = 1;  // lanes that repeat each per-row operation
  RowThreads row_threads;
  std::int64_t step_lanes = 1;  // lanes that take a row's steps side by side, one each, instead of repeating them
  bool existing_rows = false;   // rows of all heads are one axis of the grid: no row of a tile beyond an array's end
  std::map<std::string, std::int64_t> sector_reads;  // values a row that its warps read whole sectors for: times each
  std::int64_t warps = 0;                            // of a block of this island; 0: the variant's
  std::int64_t registers = 0;     // a thread, as the compiler reports; 0: what the variant must hold decides
  BySize registers_of;            // the same, of instances for different sizes
  std::int64_t row_multiple = 1;  // a row of scores that no loop cuts is worked on in multiples of this many
  // Of an axis that no loop of the grid cuts, by name: what threads compute reaches to a multiple of so many, or to the
  // smallest of these sizes that holds it, on zeros past its end.
  std::map<std::string, std::int64_t> computes_multiples;
  std::map<std::string, std::vector<std::int64_t>> computes_sizes;
  std::int64_t stages = 1;                        // copies of each streamed input tile in shared memory
  std::map<std::string, std::int64_t> stages_of;  // arrays with another number of copies
  std::int64_t smem_extra_bytes = 0;              // barriers, alignment, tables
  std::int64_t stops_at_last_key =
      0;  // a block loads keys up to the last that its rows see, and sums to a multiple of this; 0: whole tiles
  NarrowScores narrow_scores;
  std::int64_t own_last_tile = 0;     // so many rows leave out a block's last tiles, where none of them sees a key
  std::int64_t mask_entry_bytes = 0;  // a block's row of a block mask is read from memory, per mask block
  bool output_through_smem = false;
  bool persistent = false;                 // as many blocks as are resident, each loops over tiles
  std::vector<GridDimension> block_order;  // fastest first
  std::map<GridDimension, When> falling;  // dimensions taken from their last tile to their first, by blocks or by steps
  std::optional<Sections> sections;       // block_order, where it holds for sections of heads only
  Overlap overlap = Overlap::lockstep;
  bool early_launch =
      false;  // its blocks are on their units before the island ahead of it has ended, and wait for that
  std::vector<std::string> loads_first;  // that threads load and wait for before their block's first copy
  bool loads_in_product = false;         // each product copies its own operands, none runs ahead of it
  std::vector<std::string> loads_early;  // but for the one with these: their copies start before the work on the scores
  std::array<WorkRates, pipe_count> work{};

  const TensorPathRow& path() const { return properties(tensor_path); }
  const CopyPathRow& load() const { return properties(loads_by); }
  const CopyPathRow& store() const { return properties(stores_by); }
  bool uses_tensor_cores() const { return path().tensor_cores; }
  const ProductImplementation* find_product(std::string_view op) const;  // nullptr: the defaults hold
};

// Formats of the arrays by --dtype key, later ones over earlier ones; key "" is all arrays.
using FormatChoice = std::vector<std::pair<std::string, Dtype>>;
std::string to_string(const FormatChoice& choice);  // "fp16,kv=int4:g32:b2"

// What the compiler keeps in memory for want of registers: bytes of a thread that computes, off the machine code.
inline constexpr int local_ages = 16;
struct LocalMemory {
  std::int64_t frame = 0;                   // as the launch reports; 0: not known
  double stored_step = 0, loaded_step = 0;  // in every step of its block
  double stored = 0, loaded = 0;            // beside them, once a block
  // Of stored_step and loaded_step, by how much of the frame was stored to since the place was: element i for up to
  // (i + 1) / local_ages of it. Empty: not known.
  std::vector<double> stored_after{}, loaded_after{};
  bool least_l1 = false;  // the launch asks for all the shared memory there is
  double waits = 0;       // of a step: loads that a warp waits for one after the other, those in flight together once
};

// One built template combination.
struct KernelVariant {
  std::int64_t head_dim = 0, v_head_dim = 0;  // 0: any; 0: as head_dim
  std::int64_t tile_q = 0, tile_kv = 0, warps = 0;
  std::map<std::string, std::int64_t> other_tiles;              // of the schedule's other parameters
  std::int64_t stages = 0;                                      // 0: the islands' own
  std::vector<FormatChoice> formats;                            // empty: all of the kernel's
  std::int64_t consumer_warps = 0;                              // that compute and hold accumulators; 0: all
  std::int64_t consumer_registers = 0, producer_registers = 0;  // a thread; 0: the hardware's limit
  std::vector<std::string> registers_hold;  // arrays whose fragments stay in registers beside the accumulators
  std::vector<std::string> l1_reads;  // arrays that threads load through L1, where blocks of one unit find each other's
  std::optional<std::int64_t> smem_extra_bytes;  // instead of the launches' own
  std::int64_t smem_bytes = 0;  // dynamic shared memory the kernel asks for, to check the model's footprint
  bool spills = false;          // the compiler reports local-memory use
  LocalMemory local;            // how much, where that is known
  bool waits_each = false;      // the compiler waits for each wgmma by itself before it issues the next
  bool pipelined = false;       // pointwise work of a step runs under its warps' last product of the step before
  InstanceCode code;            // of its machine code, where that is known

  bool holds(const std::string& array) const;
  bool reads_through_l1(const std::string& array) const;
  // The built size of a parameter of the schedule: `tile_NAME` in the file. 0: the file does not state one.
  std::int64_t tile(std::string_view parameter) const;
};

// A size of the diagram's own that counts groups of `per` elements of an extent.
struct CountedSize {
  Extent of = Extent::kv_len;
  std::int64_t per = 1;
};

struct KernelDescriptor {
  std::string name, schedule_name, diagram_name, summary, file;  // diagram_name empty: the schedule's own
  std::map<std::string, CountedSize> sizes;
  std::vector<FormatChoice> formats;    // empty: any
  std::vector<Dtype> dtypes;            // the formats for all arrays of these, each once; empty: any
  std::vector<std::int64_t> head_dims;  // empty: any
  std::vector<MaskKind> masks;
  std::int64_t largest_head_dim = 0, largest_q_len = 0, largest_kv_len = 0;  // 0: no limit of the kernel's own
  std::vector<ShapeRule> shapes;                    // of calls for which its software launches it; empty: all
  std::optional<HostSplits> host_splits;            // empty: what is free is searched for
  double least_compute_capability = 0;              // oldest GPU generation its machine code runs on; 0: any
  std::map<std::string, std::int64_t> padded_rows;  // arrays whose rows are padded in memory, to a multiple of elements
  std::vector<LayoutDimension> layout;              // of arrays with heads and rows; empty: batch, heads, length, dim
  bool packed_rows = false;                         // query heads of a KV head and their queries are one axis of rows
  bool whole_tile_parts = false;                    // a split cuts parts of whole tiles
  std::vector<std::string> free;                    // parameters of the schedule that the host chooses at run time
  std::vector<IslandImplementation>
      islands;  // in the schedule's order; of several of an island, the one of the fewest steps
  std::vector<IslandImplementation> others;  // of islands that have several, for more steps
  std::vector<KernelVariant> variants;       // empty: any tile (an assumed implementation)
  std::string program;                       // that code, where the descriptor itself has it
  std::vector<LaunchCode> launch_codes;      // of islands without products, where their machine code is known

  bool is_free(std::string_view parameter) const;
};

// Reads a kernel.yaml against the schedule it names. Throws InputError with every finding.
KernelDescriptor load_descriptor(const std::filesystem::path& file, const std::filesystem::path& models_directory);

}  // namespace tilescope
