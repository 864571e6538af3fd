// For tests of descriptors: those that are shipped, to be made wrong in one place.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "config/field_mutations.h"
#include "kernel/descriptor/descriptor.h"

namespace tilescope::descriptor_probes {

using namespace mutation;

inline const std::filesystem::path root = TILESCOPE_SOURCE_DIR;

inline Probe probe_of(const Tree& tree) {
  return Probe(tree, [](const std::filesystem::path& file) { load_descriptor(file, root / "models"); });
}
inline Probe assumed(const std::string& name) {
  return probe_of(tree_of_file(root / "models" / "implementations" / (name + ".yaml")));
}
inline Probe kernel(const std::string& name) { return probe_of(tree_of_file(root / "kernels" / name / "kernel.yaml")); }

inline void refused(const Probe& probe, const std::string& path, const std::string& text, const std::string& message) {
  CAPTURE(path);
  probe.expect_replaced(path, text, message);
}

// A kernel that no one wrote, with every key that a descriptor may have.
inline const char* const everything = R"(schema: tilescope/kernel/1
kernel: everything
schedule: split-kv
diagram: attention_paged
summary: every key
dtypes: [bf16, {all: fp16, kv: "int4:g32:b2"}]
head_dims: [64]
masks: [none, block-sparse]
limits: {head_dim: 128, q_len: 16, kv_len: 65536, compute_capability: 9.0}
packed_rows: true
whole_tile_parts: true
layout: [batch, length, arrays, heads, dim]
free: [splits]
islands:
  - name: partial
    stores_log_sum_exp: true
    writes_masked_rows: true
    tensor_path: wgmma
    mma: {m: 64, n: 64, k: 16}
    computes_in: fp16
    products:
      scores: {rows_of: K, grid: {rows: 1, columns: 2, depth: 1}, mma: {m: 64, n: 8, k: 16}, fetches: {Q: 2, K: 0},
          parts: 2, repeats: 2}
    direct: [Table]
    loads_every_step: [Q]
    through_smem: [P, O_part]
    loads_by: tma
    row_replication: 4
    stages: 3
    stages_of: {V: 2}
    output_through_smem: true
    persistent: true
    block_order: [kv, q, heads, batch]
    falling: {q: always, kv: causal}
    overlap: ping-pong
  - name: combine
    tensor_path: none
    block_order: [q, heads, batch]
code:
  sizes: {pages: {of: kv_len, per: 64}}
  padded_rows: {K: 8}
  facts:
    - launch: partial
      row_store: 16
      row_load: 8
      loaded_by_threads: [V]
      transposes: [V]
      reductions: [O_part]
      zeroes: [L_part]
      stores_by: tma
      row_multiple: 1
      computes_multiples: {d: 32}
      computes_sizes: {e: [64, 128]}
      warps: 12
      registers: 168
      registers_of: {x: {2048: 27, 4096: 32}}
      smem_extra_bytes: 1024
      stops_at_last_key: 32
      narrow_scores: {rows: 64, keys: 64}
      own_last_tile: 64
      mask_entry_bytes: 1
      sections: {when: causal, order: [heads, q], arrays: [K, V], l2_share: 0.5, equal: true, smaller: first}
      loads_in_product: true
      loads_early: [V]
      loads_first: [Q]
      work:
        xu: {per_score: 1, per_row_step: 1, per_row: 2, per_output_step: 0, per_output: 1, per_element: {Q: 1},
            per_element_step: {K: 2}}
        alu: {per_score: 1, per_masked_score: 4, per_padded_score: 2, per_thread_step: 50}
        conversion: {per_score: 0.5}
        shuffle: {per_row_step: 2}
        shared: {per_element_step: {Q: 0.375}}
        others: {per_score: 12.7}
    - launch: combine
      steps: {most: 4}
      row_threads: {columns: 8}
      existing_rows: true
    - launch: combine
      steps: {least: 5}
      row_threads: {columns: 1, multiple: 128}
      step_lanes: 32
      sector_reads: {L_part: 2}
      early_launch: true
  variants:
    - {head_dim: 64, v_head_dim: 64, tile_q: 16, tile_kv: 64, tile_pack: 4, warps: 12, stages: 2, dtypes: [bf16],
        consumer_warps: 8,
       consumer_registers: 232, producer_registers: 40, registers_hold: [Q], l1_reads: [Q], smem_bytes: 65536,
       smem_extra_bytes: 256, spills: true, waits_each: true, pipelined: true,
       local: {frame: 144, stored_step: 56, loaded_step: 60, stored: 20, loaded: 32, waits: 3, least_l1: true,
               stored_after: [56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
               loaded_after: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60]}}
)";

inline Tree everything_tree() { return tree_of("", Document::parse(everything, "everything.yaml").root()); }

}  // namespace tilescope::descriptor_probes
