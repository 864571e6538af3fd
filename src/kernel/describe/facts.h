// What a descriptor needs of a kernel's machine code: free of any GPU's rates, and small enough to be stored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel/code/cubin.h"
#include "kernel/describe/attention_loop.h"

namespace tilescope {

// Instructions of a thread by what a descriptor calls them: "xu", "ffma", "alu".
using ThreadWork = std::map<std::string, std::int64_t>;

// What the spills of a thread move, in bytes.
struct SpilledBytes {
  std::int64_t stored = 0, loaded = 0;
};

struct AttentionFacts {
  std::string kernel, compute_capability;
  AttentionPass pass = AttentionPass::forward;
  std::int64_t registers = 0, static_smem = 0, local_bytes = 0;
  std::int64_t most_threads = 0;  // of a block; 0: the code does not state them

  // The matrix instruction of the scores, and what one unit (a warp or a warpgroup) does with it in a pass.
  std::string opcode, operands;  // "HGMMA", "BF16"
  std::int64_t m = 0, n = 0, k = 0, operand_bits = 0, unit_threads = 0;
  std::int64_t loaded_bits = 0;  // of K and V as they are loaded; less than operand_bits where the loop unpacks them
  std::int64_t score_parts = 1;  // groups of a quantised key, each with a scale; 1: not quantised
  std::string loaded_as;         // their format then: "E4M3"; empty: that of the operands
  std::int64_t rows = 0, keys = 0, head_dim = 0, v_head_dim = 0;
  bool q_in_smem = false;     // the scores read Q from shared memory in every pass
  bool scores_ahead = false;  // AttentionLoop

  std::vector<std::int64_t> loop_warps;  // warps of a block that run the loop, of those that the code tells apart
  std::optional<std::int64_t> consumer_registers, producer_registers;  // after USETMAXREG
  ThreadWork step, masked_step, once;  // in a pass; in a pass of tiles that a mask cuts (empty: the same); outside
  std::int64_t copied_bytes = 0;       // by a thread in a pass: cp.async
  bool copy_engine = false;            // TMA loads
  std::int64_t barriers = 0;           // of all warps of a block, in a pass
  bool turns = false;                  // named barriers on which some warps arrive and others wait
  bool product_turns = true;           // of `turns`: products stand between waiting for a turn and handing it on,
  bool score_turns = false;            // and so do the exponentials of the scores
  bool persistent = false;             // the loop stands in another loop
  bool stores_log_sum_exp = false;     // a logarithm or four-byte stores beside wider ones, outside the loop
  bool output_through_smem = false;
  bool q_once_in_smem = false;          // some passes of the loop, such as the first, read Q from shared memory
  std::int64_t rows_stored = 0;         // by a warp at once, of a number a row; 0: not found
  bool stores_without_product = false;  // rows that see no key are written too
  bool transposed = false;              // AttentionLoop
  bool p_in_registers = false;          // AttentionLoop
  bool reduces = false;                 // the loop adds to memory
  std::int64_t fetched_bytes = 0;       // by a warp in a pass: K and V as operands, by matrix loads; 0: not known
  bool q_direct = false;                // Q goes from global memory to registers, not through shared memory
  bool copies_out = false;              // the copy engine stores results
  bool rewrites_tiles = false;          // warps transpose loaded tiles in shared memory
  std::string value_operands;           // "BF16": format of the product with V; empty: not stated
  std::string results_as;               // "BF16": format of the results, where conversions behind the products state it
  std::int64_t value_bits = 0;          // of the operands of the product with V; 0: not stated
  // Where products stand in loops inside of the loop over keys, or other warps compute parts (NestedProducts).
  std::int64_t depth_of_pass = 0;     // of the scores' sums, where the launch decides how many passes there are
  std::int64_t value_depth = 0;       // of the values' sums, where they are in a loop inside
  ThreadWork score_pass, value_pass;  // in a pass of the loops inside, where the launch decides their number
  UnitGrid score_grid, value_grid;
  std::int64_t column_units = 1;       // units that share the columns of the values; each has all scores of its rows
  std::int64_t helpers = 0;            // units that add to further columns of the values, with P from shared memory
  bool p_in_smem = false;              // P passes shared memory
  bool sliced = false;                 // the loops inside wait for slices of the operands
  std::vector<std::int64_t> arriving;  // bytes for which a barrier waits in a loop, where V is narrower than K
  std::int64_t passes_of_copy = 0;     // of a loop of gradients for each wait for a copy; 0: not known
  SpilledBytes spilled_step, spilled_once;
  std::int64_t spill_waits = 0;  // times in a pass that a warp waits for a spilled value
  std::string program;           // step_program.h; empty: not known
};

// Where threads copy more columns of values than a unit multiplies P by, which it has in registers, units share them:
// v_head_dim is that of all. Only where the code states the threads of a block.
void share_columns(AttentionFacts& facts);

// The facts of a launch with these head dimensions, where the code leaves them to the launch (`depth_of_pass`).
AttentionFacts with_head_dims(AttentionFacts facts, std::int64_t head_dim, std::int64_t v_head_dim);

struct FoundFacts {
  std::optional<AttentionFacts> facts{};
  std::string missing{};
};
FoundFacts attention_facts(const CubinKernel& kernel, const std::string& compute_capability, const CodeSummary& code);

// One line of JSON, and back. Reading throws InputError that names `file`.
std::string facts_json(const AttentionFacts& facts);
AttentionFacts read_facts(const std::string& json, const std::string& file);

}  // namespace tilescope
