#include "kernel/describe/description.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "kernel/describe/backward/backward_tile.h"
#include "kernel/describe/block_tile.h"
#include "kernel/describe/described_part.h"
#include "kernel/describe/grid/described_order.h"
#include "kernel/describe/nested/nested_description.h"
#include "kernel/describe/step_program.h"
#include "kernel/describe/work_rates.h"
#include "kernel/descriptor/found.h"

namespace tilescope {
namespace {

const char* turns_at(const AttentionFacts& facts) {
  return !facts.score_turns ? "ping-pong" : facts.product_turns ? "ping-pong-both" : "ping-pong-scores";
}

constexpr std::int64_t widest_instruction = 256;
constexpr std::int64_t lanes_of_row = 4,
                       lanes_of_column = 8;  // of an accumulator (PTX ISA, fragments of mma and wgmma)

// The formats of K and V where they are those of a quantised cache, or differ from each other.
std::string mixed_formats(const AttentionFacts& facts, const BlockTile& tile) {
  const std::string dtype = operand_format(facts.operands), values = operand_format(facts.value_operands);
  if (tile.key_bits != 0 && tile.scale_bytes != 0 && !dtype.empty())
    return fmt::format("[{{all: {}, kv: \"int{}:g{}:b{}\"}}]", dtype, tile.key_bits, facts.head_dim / facts.score_parts,
                       tile.scale_bytes);
  if (!dtype.empty() && !values.empty() && values != dtype)
    return fmt::format("[{{all: {}, q: {}, k: {}}}]", values, dtype, dtype);
  return "";
}

void add_head_dim(const char* key, std::string value, const DescribeInput& input, DescribedPart& part) {
  if (input.head_dims_from == ValueSource::code)
    part.add(key, std::move(value), ValueSource::code, "depth of the scores' sums");
  else part.add(key, std::move(value), input.head_dims_from, "passes of the loop that sums over it");
}

void describe_whole(const DescribeInput& input, const BlockTile& tile, Description& out) {
  const AttentionFacts& facts = input.facts;
  DescribedPart part{out.kernel};
  if (const std::string mixed = mixed_formats(facts, tile); !mixed.empty())
    part.add("dtypes", mixed, tile.key_bits != 0 ? ValueSource::launch : ValueSource::code,
             tile.key_bits != 0 ? "bytes copied and held of a step, and sums of scores in groups"
                                : "operands of the two products");
  else if (const std::string dtype = operand_format(facts.operands), loaded = operand_format(facts.loaded_as);
           !loaded.empty())
    part.add("dtypes", fmt::format("[{{all: {}, kv: {}}}]", dtype, loaded), ValueSource::code,
             "operands of " + facts.opcode + ", unpacked in the loop");
  else if (const std::string results = operand_format(facts.results_as);
           !dtype.empty() && !results.empty() && facts.operand_bits == 8)
    part.add("dtypes", fmt::format("[{{all: {}, o: {}}}]", dtype, results), ValueSource::code,
             "operands of " + facts.opcode + ", and conversions behind the products");
  else if (!dtype.empty()) part.add("dtypes", "[" + dtype + "]", ValueSource::code, "operands of " + facts.opcode);
  else out.missing.push_back({"dtypes", "no format of attention has the operands of " + facts.opcode});
  if (tile.values_in_keys)
    part.add("diagram", "mla_absorbed", ValueSource::code,
             fmt::format("{} bytes arrive for a step, the keys alone: the values are columns of them",
                         facts.arriving.front()));
  add_head_dim("head_dims", fmt::format("[{}]", facts.head_dim), input, part);
  part.add("masks", "[" + input.mask + "]", input.sizes_from, "the mask of the launch");
  part.add("limits", "{compute_capability: " + facts.compute_capability + "}", ValueSource::elf, "target of the code");
}

// Units that share the columns of the values compute all scores of their rows each.
void describe_shared_columns(const AttentionFacts& facts, const BlockTile& tile, bool narrow, DescribedPart& part) {
  const std::int64_t rows = tile.tile_q / facts.rows;
  const std::string mma =
      narrow ? fmt::format(", mma: {{m: {}, n: {}, k: {}}}", facts.m, facts.n, facts.k * facts.operand_bits / 16) : "";
  const std::string repeats = tile.along_columns > 1 ? fmt::format(", repeats: {}", tile.along_columns) : "";
  part.add("products",
           fmt::format("{{scores: {{grid: {{rows: {}, columns: {}}}{}{}}}, values: {{grid: {{rows: {}, columns: {}, "
                       "depth: {}}}}}}}",
                       rows, tile.along_keys, mma, repeats, rows, tile.along_columns, tile.along_keys),
           ValueSource::code,
           tile.along_columns > 1
               ? "a step copies more columns of V than a unit multiplies by; each unit has all scores"
               : "shape of " + facts.opcode);
}

// Units that share the keys of a step: each has all rows, and a part of the sum over keys. Transposed, an instruction's
// rows are keys or columns of V, and its columns rows of Q.
void describe_products(const AttentionFacts& facts, const BlockTile& tile, DescribedPart& part) {
  if (facts.score_grid.rows > 0) return describe_nested_products(facts, part);
  const std::int64_t wide_n = std::min<std::int64_t>(facts.keys, widest_instruction);
  const bool narrow = facts.unit_threads > warp_lanes && facts.n != wide_n;
  if (tile.along_columns > 1 || narrow) return describe_shared_columns(facts, tile, narrow, part);
  if (tile.along_keys == 1 && !facts.transposed) return;
  const std::int64_t rows = tile.tile_q / facts.rows;
  const auto grid = [&](std::int64_t along_rows, std::int64_t along_columns) {
    return facts.transposed ? fmt::format("rows: {}, columns: {}", along_columns, along_rows)
                            : fmt::format("rows: {}, columns: {}", along_rows, along_columns);
  };
  part.add("products",
           fmt::format("{{scores: {{{}grid: {{{}}}}}, values: {{{}grid: {{{}, depth: {}}}}}}}",
                       facts.transposed ? "rows_of: K, " : "", grid(rows, tile.along_keys),
                       facts.transposed ? "rows_of: V, " : "", grid(rows, 1), tile.along_keys),
           ValueSource::code,
           facts.transposed ? "the instructions' columns are rows of Q"
                            : "how much a step copies beside what a unit multiplies");
}

// 8-bit warpgroup instructions take V only with keys along its rows.
void describe_transposed(const AttentionFacts& facts, const BlockTile& tile, DescribedPart& part) {
  if (!facts.rewrites_tiles) return;
  part.add("transposes", "[V]", ValueSource::code, "LDSM and STSM in a loop without products");
  if (tile.stages > 0)
    part.add("stages_of", fmt::format("{{V: {}}}", 2 * tile.stages), ValueSource::code, "V and its transpose");
}

void describe_launch(const DescribeInput& input, const BlockTile& tile, Description& out) {
  const AttentionFacts& facts = input.facts;
  DescribedPart part{out.island};
  const bool warpgroup = facts.unit_threads > warp_lanes;
  const std::int64_t depth = facts.k * facts.operand_bits / 16;  // the descriptor's k is that of 16-bit operands
  part.add("tensor_path", warpgroup ? "wgmma" : "mma.sync", ValueSource::code, facts.opcode);
  part.add("mma",
           warpgroup ? fmt::format("{{m: {}, n: columns, k: {}}}", facts.m, depth)
                     : fmt::format("{{m: {}, n: {}, k: {}}}", facts.m, facts.n, depth),
           ValueSource::code, "shape of " + facts.opcode);
  const std::int64_t units_of_row = tile.along_keys * tile.along_columns;
  const char* share = facts.transposed ? "lanes that have parts of a column of an accumulator, which is a row of Q"
                                       : "lanes that have parts of a row of an accumulator";
  part.add("row_replication", (facts.transposed ? lanes_of_column : lanes_of_row) * units_of_row, ValueSource::code,
           units_of_row == 1
               ? std::string(share)
               : fmt::format("{}, in each of {} {}s", share, units_of_row, warpgroup ? "warpgroup" : "warp"));
  describe_products(facts, tile, part);
  if (facts.q_direct) part.add("direct", "[Q]", ValueSource::code, "no load from shared memory stands before the loop");
  part.yes("stores_log_sum_exp", facts.stores_log_sum_exp, "a logarithm, or narrow stores beside wide ones");
  if (facts.rows_stored > 0 && facts.pass == AttentionPass::forward)
    part.add("row_store", facts.rows_stored, ValueSource::code, "threads of a warp that reach the narrow stores");
  part.yes("writes_masked_rows", facts.stores_without_product, "a way to the stores without a matrix product");
  if (facts.value_bits == 8)
    part.add("computes_in", operand_format(facts.operands), ValueSource::code, "both products have 8-bit operands");
  part.add("loads_by",
           facts.copy_engine        ? "tma"
           : facts.copied_bytes > 0 ? "cp.async"
                                    : "ld",
           ValueSource::code, "how K and V reach shared memory");
  if (facts.copies_out) part.add("stores_by", "tma", ValueSource::code, "UTMASTG");
  if (facts.p_in_smem)
    part.add("through_smem", "[P]", ValueSource::code, "the values' left operand is in shared memory");
  if (tile.q_every_step)
    part.add("loads_every_step", "[Q]", ValueSource::code,
             fmt::format("a thread copies {} bytes in a step, Q among them", facts.copied_bytes));
  part.yes("loads_in_product", facts.sliced, "the loops of the products wait for copies");
  describe_transposed(facts, tile, part);
  part.yes("output_through_smem", facts.output_through_smem, "stores to shared memory and loads outside the loop");
  if (tile.extra_smem > 0)
    part.add("smem_extra_bytes", tile.extra_smem, ValueSource::launch, "shared memory beside whole tiles");
  part.yes("persistent", facts.persistent && facts.pass == AttentionPass::forward,
           "the loop over keys stands in a loop over tiles");
  if (facts.registers > 0 && !facts.consumer_registers)
    part.add("registers", facts.registers, ValueSource::elf, "registers of a thread");
  part.add("overlap",
           facts.turns          ? turns_at(facts)
           : facts.barriers > 0 ? "lockstep"
                                : "free",
           ValueSource::code, fmt::format("{} barriers in a step", facts.barriers));
  if (facts.pass == AttentionPass::forward_queries)
    part.add("loads_every_step", "[Q, O, m, l]", ValueSource::code, "a loop over queries inside of one over keys"),
        part.add("through_smem", "[O]", ValueSource::code, "results of earlier keys are added to in shared memory");
  if (tile.q_stages > 0)
    part.add("stages_of", fmt::format("{{Q: {}}}", tile.q_stages), ValueSource::launch, "tiles of Q beside one of O");
  describe_order(input, tile, out);
  const LaunchSizes& sizes = input.sizes;
  if (sizes.own_last_tile && input.mask != "none")
    part.add("own_last_tile", facts.rows, ValueSource::launch, "how often each warpgroup computes a product");
  if (sizes.falling || sizes.q_falling)
    part.add("falling",
             fmt::format("{{{}}}", sizes.falling && sizes.q_falling ? "q: always, kv: always"
                                   : sizes.falling                  ? "kv: always"
                                                                    : "q: always"),
             ValueSource::launch, "the addresses that blocks read, one after the other");
}

std::string held_in_registers(const AttentionFacts& facts) {
  std::string held = facts.q_in_smem ? "" : "Q";
  if (facts.scores_ahead) held += held.empty() ? "P" : ", P";
  return "[" + held + "]";
}

// Spills: every byte goes to the L2, loads may hit the L1 (DESCRIPTOR.md, Spilled registers).
std::string local_memory(const AttentionFacts& f) {
  return fmt::format("{{frame: {}, stored_step: {}, loaded_step: {}, stored: {}, loaded: {}, waits: {}}}",
                     f.local_bytes, f.spilled_step.stored, f.spilled_step.loaded, f.spilled_once.stored,
                     f.spilled_once.loaded, f.spill_waits);
}

void describe_variant(const DescribeInput& input, const BlockTile& tile, Description& out) {
  const AttentionFacts& facts = input.facts;
  DescribedPart part{out.variant};
  add_head_dim("head_dim", fmt::format("{}", facts.head_dim), input, part);
  if (facts.v_head_dim != facts.head_dim)
    part.add("v_head_dim", facts.v_head_dim, ValueSource::code, "columns of the values");
  part.add("tile_q", tile.tile_q, ValueSource::code,
           fmt::format("{} rows a {}", facts.rows, facts.unit_threads > warp_lanes ? "warpgroup" : "warp"));
  part.add("tile_kv", tile.tile_kv, ValueSource::code,
           fmt::format("depth of the values' sums, {} x {}", facts.keys, tile.along_keys));
  part.add_warps(input, tile, "tiles of K and V", "the loop over keys");
  if (facts.pass == AttentionPass::forward)
    part.add("registers_hold", held_in_registers(facts), ValueSource::code, "operands that no step loads");
  if (facts.q_direct)
    part.add("l1_reads", "[Q]", ValueSource::code, "loads of Q before the loop that do not pass the L1 by");
  const bool spills =
      facts.spilled_step.stored + facts.spilled_step.loaded + facts.spilled_once.stored + facts.spilled_once.loaded > 0;
  part.yes("pipelined", facts.scores_ahead && facts.unit_threads > warp_lanes,
           "the next scores are issued before the exponentials of a step");
  part.yes("spills", spills, fmt::format("{} bytes of local memory", facts.local_bytes));
  if (spills) part.add("local", local_memory(facts), ValueSource::code, "loads and stores of local memory");
}

void describe_sizes(const DescribeInput& input, Description& out) {
  for (const std::string& open : input.sizes.unknown) {
    const std::size_t colon = open.find(": ");
    out.missing.push_back({open.substr(0, colon), open.substr(colon + 2)});
  }
  if (!input.workload || input.sizes_from == ValueSource::given) return;
  const Workload& w = *input.workload;
  DescribedPart part{out.launch};
  const char* reason = input.sizes.folded ? "entries and heads are one index of the grid, here all heads"
                                          : "which bytes blocks read, and the integers among the parameters";
  for (const auto& [key, value] : {std::pair{"batch", w.batch},
                                   {"heads_q", w.heads_q},
                                   {"heads_kv", w.heads_kv},
                                   {"q_len", w.q_len},
                                   {"kv_len", w.kv_len}})
    part.add(key, value, input.sizes_from, reason);
  part.add("mask", input.mask, input.sizes_from, "how many steps of keys each block takes");
}

// What the launch that merges parts reads and writes follows from the schedule.
constexpr const char* merging_island =
    "  - name: combine\n    tensor_path: none\n    direct: [O_part, L_part]\n    block_order: [q, heads, batch]\n";

// What a file says around the launch that the code is of.
struct Frame {
  const char *schedule = "flash2", *launch = "forward";
  std::string before{}, after{};
};

Frame frame_of(const Description& description) {
  constexpr const char* preprocess =
      "  - name: preprocess\n    tensor_path: none\n    block_order: [q, heads, batch]\n";
  constexpr const char* convert =
      "  - name: convert\n    tensor_path: none\n    output_through_smem: true\n    block_order: [q, heads, batch]\n";
  constexpr const char* keys = "  - name: dkv\n    tensor_path: none\n    block_order: [kv, heads, batch]\n";
  constexpr const char* queries = "  - name: dq\n    tensor_path: none\n    block_order: [q, heads, batch]\n";
  switch (description.pass) {
    case AttentionPass::forward_queries:
      return {.schedule = "flash1"};
    case AttentionPass::backward:
      return {"flash2-backward", "main", preprocess, convert};
    case AttentionPass::backward_keys:
      return {"flash2-backward-split", "dkv", preprocess, queries};
    case AttentionPass::backward_queries:
      return {"flash2-backward-split", "dq", std::string(preprocess) + keys};
    default:
      return description.is_part ? Frame{"split-kv", "partial", "", merging_island} : Frame{};
  }
}

std::string line(const DescribedValue& value, std::string_view indent) {
  return fmt::format("{}{}: {}  # {}: {}\n", indent, value.key, value.value, to_string(value.from), value.reason);
}

// The lines of a block scalar.
std::string indented(const std::string& lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size() - 1);
    text += "    " + lines.substr(at, end + 1 - at);
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string operand_format(const std::string& operands) {
  if (operands == "F16") return "fp16";
  if (operands == "BF16") return "bf16";
  if (operands == "E4M3") return "fp8_e4m3";
  if (operands == "E5M2") return "fp8_e5m2";
  return "";
}

std::string Description::launch_name() const { return frame_of(*this).launch; }

std::string Description::yaml() const {
  const Frame frame = frame_of(*this);
  std::string text = fmt::format(
      "schema: tilescope/kernel/1\nkernel: {}\nschedule: {}\nsummary: from machine code, by tilescope describe\n", name,
      frame.schedule);
  for (const DescribedValue& value : kernel) text += line(value, "");
  text += fmt::format("islands:\n{}  - name: {}\n", frame.before, frame.launch);
  for (const DescribedValue& value : island)
    if (!contains(found_of_launch(), value.key)) text += line(value, "    ");
  text += frame.after;
  text += fmt::format("code:\n  facts:\n    - launch: {}\n", frame.launch);
  for (const DescribedValue& value : island)
    if (contains(found_of_launch(), value.key)) text += line(value, "      ");
  if (!work.empty()) text += "      work:\n";
  for (const DescribedValue& value : work) text += line(value, "        ");
  text += "  variants:\n";
  for (std::size_t i = 0; i < variant.size(); ++i) text += line(variant[i], i == 0 ? "    - " : "      ");
  if (!program.empty()) text += "  program: |\n" + indented(program);
  for (const DescribedValue& value : launch) text += "# launch: " + line(value, "");
  for (const MissingValue& value : missing) text += fmt::format("# missing: {}: {}\n", value.key, value.reason);
  return text;
}

void add_launch_sizes(const LaunchSizes& sizes, bool tensor_maps, DescribeInput& input) {
  input.sizes = sizes;
  if (!sizes.batch || !sizes.heads_q || !sizes.heads_kv || !sizes.q_len || !sizes.kv_len || sizes.mask.empty()) return;
  input.workload = Workload{.batch = *sizes.batch,
                            .heads_q = *sizes.heads_q,
                            .heads_kv = *sizes.heads_kv,
                            .q_len = *sizes.q_len,
                            .kv_len = *sizes.kv_len,
                            .d_qk = input.facts.head_dim,
                            .d_v = input.facts.v_head_dim};
  input.mask = sizes.mask.substr(0, sizes.mask.find(':'));
  input.sizes_from = tensor_maps ? ValueSource::tensor_map : ValueSource::launch;
}

Description describe_kernel(const DescribeInput& given) {
  Description description{.name = given.name,
                          .pass = AttentionPass::forward,
                          .kernel = {},
                          .island = {},
                          .work = {},
                          .variant = {},
                          .launch = {},
                          .missing = {},
                          .program = {}};
  DescribeInput input = with_launched_dims(given, description.missing);
  describe_sizes(input, description);
  const BlockTile tile = block_tile(input.facts, input.launch, description.missing);
  if (tile.tile_q == 0) return description;
  if (input.facts.pass != AttentionPass::forward && input.facts.pass != AttentionPass::forward_queries) {
    Description backward = describe_backward(input, tile);
    backward.launch = std::move(description.launch);
    backward.missing.insert(backward.missing.begin(), description.missing.begin(), description.missing.end());
    return backward;
  }
  add_value_passes(tile, input.facts);
  describe_whole(input, tile, description);
  describe_launch(input, tile, description);
  describe_variant(input, tile, description);
  description.pass = input.facts.pass;
  description.work = work_rates(input.facts, tile.along_columns);
  if (!has_open_passes(input.facts.program)) description.program = input.facts.program;
  return description;
}

}  // namespace tilescope
