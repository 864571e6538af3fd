// Every kernel descriptor with one thing wrong at a time, and the exact finding.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "config/field_mutations.h"
#include "predict/prediction.h"

using namespace tilescope;
using namespace tilescope::mutation;

namespace {

const std::filesystem::path root = TILESCOPE_SOURCE_DIR;

Probe probe_of(const Tree& tree) {
  return Probe(tree, [](const std::filesystem::path& file) { load_descriptor(file, root / "models"); });
}
Probe assumed(const std::string& name) {
  return probe_of(tree_of_file(root / "models" / "implementations" / (name + ".yaml")));
}
Probe kernel(const std::string& name) { return probe_of(tree_of_file(root / "kernels" / name / "kernel.yaml")); }

// models/implementations and every kernel folder's descriptor.
std::vector<std::filesystem::path> descriptors() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models" / "implementations"))
    files.push_back(entry.path());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "kernels"))
    if (entry.path().filename().string().ends_with("kernel.yaml")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// The first variants are enough: their fields are all alike.
Tree shortened(Tree tree) {
  for (Tree& section : tree.children)
    if (section.key == "variants" && section.children.size() > 2) section.children.resize(2);
  return tree;
}

std::vector<Rule> rules(const Tree& tree) {
  std::string names;  // of the islands, as the schedule orders them: "one of qk, softmax, pv"
  for (const Tree& section : tree.children) {
    if (section.key != "islands") continue;
    for (std::size_t i = 0; i < section.children.size(); ++i)  // of several implementations of an island, the first
      if (const auto& name = section.children[i].children[0].value;
          i == 0 || name != section.children[i - 1].children[0].value)
        names += (names.empty() ? "one of " : ", ") + name;
  }
  const auto schedule = std::find_if(tree.children.begin(), tree.children.end(),
                                     [](const Tree& child) { return child.key == "schedule"; });
  std::vector<std::string> names_of_parameters;
  for (const Parameter& parameter : find_schedule(schedule->value, root / "models").parameters)
    names_of_parameters.push_back(parameter.name);
  const std::string parameters = tilescope::join(names_of_parameters, ", "), rate = "a number from 0 to 1000";
  return {{"schema", "'tilescope/kernel/1'"},
          {"kernel", "text"},
          {"schedule", "one of " + tilescope::join(shipped_names(root / "models" / "schedules"), ", ")},
          {"summary", "text"},
          {"dtypes", "a list"},
          {"diagram", "one of " + tilescope::join(shipped_names(root / "models" / "diagrams"), ", "), Need::free},
          {"sizes", "a map", Need::optional},
          {"sizes.*", "a map", Need::free},
          {"sizes.*.of", "one of " + tilescope::join(kind_names<Extent>(), ", ")},
          {"sizes.*.per", "an integer from 1 to 1048576"},
          {"dtypes[*]", "text"},
          {"dtypes[*].all", "text", Need::free},
          {"dtypes[*].*", "text", Need::free},
          {"head_dims", "a list"},
          {"head_dims[*]", "an integer from 1 to 4096"},
          {"masks", "a list"},
          {"masks[*]", "one of none, causal, window, block-sparse"},
          {"limits", "a map", Need::optional},
          {"limits.head_dim", "an integer from 1 to 4096", Need::optional},
          {"limits.q_len", "an integer from 1 to 1099511627776", Need::optional},
          {"limits.kv_len", "an integer from 1 to 1099511627776", Need::optional},
          {"limits.compute_capability", "a number from 1 to 99", Need::optional},
          {"padded_rows", "a map", Need::optional},
          {"padded_rows.*", "an integer from 1 to 4096", Need::free},
          {"packed_rows", "true or false", Need::optional},
          {"whole_tile_parts", "true or false", Need::optional},
          {"free", "a list", Need::optional},
          {"free[*]", "one of " + parameters},
          {"islands", "a list"},
          {"islands[*]", "a map"},
          {"islands[*].name", names},
          {"islands[*].stores_log_sum_exp", "true or false", Need::optional},
          {"islands[*].writes_masked_rows", "true or false", Need::optional},
          {"islands[*].row_store", "an integer from 1 to 1024", Need::optional},
          {"islands[*].row_load", "an integer from 1 to 1024", Need::optional},
          {"islands[*].row_multiple", "an integer from 1 to 1048576", Need::optional},
          {"islands[*].computes_multiples", "a map", Need::optional},
          {"islands[*].computes_multiples.*", "an integer from 1 to 4096", Need::free},
          {"islands[*].computes_sizes", "a map", Need::optional},
          {"islands[*].computes_sizes.*", "a list", Need::free},
          {"islands[*].computes_sizes.*[*]", "an integer from 1 to 1048576", Need::free},
          {"islands[*].special_parts", "an integer from 1 to 1048576", Need::optional},
          {"islands[*].warps", "an integer from 1 to 32", Need::optional},
          {"islands[*].registers", "an integer from 1 to 255", Need::optional},
          {"islands[*].registers_of", "a map", Need::optional},
          {"islands[*].registers_of.*", "a map", Need::free},
          {"islands[*].registers_of.*.*", "an integer from 1 to 255", Need::free},
          {"islands[*].tensor_path", "one of tensor, mma.sync, wgmma, fma, none"},
          {"islands[*].mma", "a map", Need::free},
          {"islands[*].mma.m", "an integer from 1 to 1024"},
          {"islands[*].mma.n", "an integer from 1 to 1024"},
          {"islands[*].mma.k", "an integer from 1 to 1024"},
          {"islands[*].computes_in", "text", Need::optional},
          {"islands[*].products", "a map", Need::optional},
          {"islands[*].products.*", "a map", Need::free},
          {"islands[*].products.*.rows_of", "text", Need::optional},
          {"islands[*].products.*.grid", "a map", Need::optional},
          {"islands[*].products.*.grid.*", "an integer from 1 to 64", Need::optional},
          {"islands[*].products.*.registers", "a list", Need::optional},
          {"islands[*].products.*.registers[*]", "text"},
          {"islands[*].products.*.mma", "a map", Need::optional},
          {"islands[*].products.*.mma.*", "an integer from 1 to 1024"},
          {"islands[*].products.*.computes_in", "text", Need::optional},
          {"islands[*].products.*.fetches", "a map", Need::optional},
          {"islands[*].products.*.fetches.*", "an integer from 1 to 64", Need::free},
          {"islands[*].products.*.parts", "an integer from 1 to 64", Need::optional},
          {"islands[*].direct", "a list", Need::optional},
          {"islands[*].direct[*]", "text"},
          {"islands[*].loads_every_step", "a list", Need::optional},
          {"islands[*].loads_every_step[*]", "text"},
          {"islands[*].loaded_by_threads", "a list", Need::optional},
          {"islands[*].loaded_by_threads[*]", "text"},
          {"islands[*].through_smem", "a list", Need::optional},
          {"islands[*].through_smem[*]", "text"},
          {"islands[*].transposes", "a list", Need::optional},
          {"islands[*].transposes[*]", "text"},
          {"islands[*].reductions", "a list", Need::optional},
          {"islands[*].reductions[*]", "text"},
          {"islands[*].zeroes", "a list", Need::optional},
          {"islands[*].zeroes[*]", "text"},
          {"islands[*].loads_by", "one of cp.async, tma, ld", Need::optional},
          {"islands[*].stores_by", "one of st, tma", Need::optional},
          {"islands[*].stages_of", "a map", Need::optional},
          {"islands[*].stages_of.*", "an integer from 1 to 64", Need::free},
          {"islands[*].smem_extra_bytes", "an integer from 0 to 1073741824", Need::optional},
          {"islands[*].stops_at_last_key", "an integer from 1 to 4096", Need::optional},
          {"islands[*].narrow_scores", "a map", Need::optional},
          {"islands[*].narrow_scores.rows", "an integer from 1 to 4096"},
          {"islands[*].narrow_scores.keys", "an integer from 1 to 4096"},
          {"islands[*].mask_entry_bytes", "an integer from 1 to 64", Need::optional},
          {"islands[*].persistent", "true or false", Need::optional},
          {"islands[*].row_replication", "an integer from 1 to 1024", Need::optional},
          {"islands[*].steps", "a map", Need::free},
          {"islands[*].steps.least", "an integer from 1 to 1048576", Need::free},
          {"islands[*].steps.most", "an integer from 1 to 1048576", Need::free},
          {"islands[*].row_threads", "a map", Need::optional},
          {"islands[*].row_threads.columns", "an integer from 1 to 4096"},
          {"islands[*].row_threads.multiple", "an integer from 1 to 1024", Need::optional},
          {"islands[*].step_lanes", "an integer from 1 to 1024", Need::optional},
          {"islands[*].existing_rows", "true or false", Need::optional},
          {"islands[*].sector_reads", "a map", Need::optional},
          {"islands[*].sector_reads.*", "an integer from 1 to 64", Need::free},
          {"islands[*].stages", "an integer from 1 to 64", Need::optional},
          {"islands[*].output_through_smem", "true or false", Need::optional},
          {"islands[*].block_order", "a list"},
          {"islands[*].block_order[*]", "one of q, kv, heads, batch"},
          {"islands[*].falling", "a map", Need::optional},
          {"islands[*].falling.*", "one of always, causal", Need::optional},
          {"islands[*].sections", "a map", Need::optional},
          {"islands[*].sections.when", "one of always, causal", Need::optional},
          {"islands[*].sections.order", "a list"},
          {"islands[*].sections.order[*]", "one of q, kv, heads, batch"},
          {"islands[*].sections.arrays", "a list"},
          {"islands[*].sections.arrays[*]", "text"},
          {"islands[*].sections.l2_share", "a number from 0.001 to 1", Need::free},
          {"islands[*].sections.bytes", "an integer from 1 to 1099511627776", Need::free},
          {"islands[*].sections.equal", "true or false", Need::optional},
          {"islands[*].sections.smaller", "one of last, first", Need::optional},
          {"islands[*].overlap", "one of lockstep, free, ping-pong, special-turns", Need::optional},
          {"islands[*].rounds", "a map", Need::optional},
          {"islands[*].rounds.depth", "an integer from 1 to 4096"},
          {"islands[*].rounds.waits", "a map"},
          {"islands[*].rounds.waits.*", "an integer from 1 to 64", Need::free},
          {"islands[*].rounds.waits_of", "a map", Need::optional},
          {"islands[*].rounds.waits_of.*", "a map", Need::free},
          {"islands[*].rounds.waits_of.*.*", "a map", Need::free},
          {"islands[*].rounds.waits_of.*.*.*", "an integer from 1 to 64", Need::free},
          {"islands[*].rounds.shared_waits", "an integer from 0 to 4096", Need::optional},
          {"islands[*].rounds.shared_waits_of", "a map", Need::optional},
          {"islands[*].rounds.shared_waits_of.*", "a map", Need::free},
          {"islands[*].rounds.shared_waits_of.*.*", "an integer from 0 to 4096", Need::free},
          {"islands[*].rounds.bank_waits", "an integer from 0 to 65536", Need::optional},
          {"islands[*].rounds.bank_waits_of", "a map", Need::optional},
          {"islands[*].rounds.bank_waits_of.*", "a map", Need::free},
          {"islands[*].rounds.bank_waits_of.*.*", "an integer from 0 to 65536", Need::free},
          {"islands[*].waits", "a map", Need::optional},
          {"islands[*].waits.loads", "a map"},
          {"islands[*].waits.loads.*", "a map", Need::free},
          {"islands[*].waits.loads.*.*", "an integer from 1 to 4096", Need::optional},
          {"islands[*].waits.shuffles", "an integer from 0 to 4096", Need::optional},
          {"islands[*].waits.barriers", "an integer from 0 to 4096", Need::optional},
          {"islands[*].early_launch", "true or false", Need::optional},
          {"islands[*].stall_clocks", "a number from 1 to 15", Need::optional},
          {"islands[*].loads_in_product", "true or false", Need::optional},
          {"islands[*].loads_first", "a list", Need::optional},
          {"islands[*].loads_first[*]", "text"},
          {"islands[*].work", "a map", Need::optional},
          {"islands[*].work.*", "a map", Need::optional},
          {"islands[*].work.*.per_element", "a map", Need::optional},
          {"islands[*].work.*.per_element.*", rate, Need::free},
          {"islands[*].work.*.per_element_step", "a map", Need::optional},
          {"islands[*].work.*.per_element_step.*", rate, Need::free},
          {"islands[*].work.*.*", rate, Need::optional},
          {"variants", "a list"},
          {"variants[*]", "a map"},
          {"variants[*].head_dim", "an integer from 0 to 4096"},
          {"variants[*].tile_q", "an integer from 1 to 1048576"},
          {"variants[*].tile_kv", "an integer from 1 to 1048576"},
          {"variants[*].warps", "an integer from 1 to 64"},
          {"variants[*].v_head_dim", "an integer from 1 to 4096", Need::optional},
          {"variants[*].tile_*", "an integer from 1 to 1048576", Need::optional},
          {"variants[*].stages", "an integer from 1 to 64", Need::optional},
          {"variants[*].dtypes", "a list", Need::free},  // may be all that tells two variants apart
          {"variants[*].dtypes[*]", "text"},
          {"variants[*].dtypes[*].*", "text", Need::free},
          {"variants[*].consumer_warps", "an integer from 1 to 64", Need::optional},
          {"variants[*].consumer_registers", "an integer from 24 to 255", Need::optional},
          {"variants[*].producer_registers", "an integer from 24 to 255", Need::optional},
          {"variants[*].registers_hold", "a list", Need::optional},
          {"variants[*].registers_hold[*]", "text"},
          {"variants[*].l1_reads", "a list", Need::optional},
          {"variants[*].l1_reads[*]", "text"},
          {"variants[*].smem_bytes", "an integer from 0 to 1073741824", Need::optional},
          {"variants[*].spills", "true or false", Need::optional},
          {"variants[*].local", "a map", Need::optional},
          {"variants[*].local.frame", "an integer from 4 to 1048576"},
          {"variants[*].local.least_l1", "true or false", Need::optional},
          {"variants[*].local.*", "a number from 0 to 1048576", Need::optional},
          {"variants[*].waits_each", "true or false", Need::optional},
          {"variants[*].pipelined", "true or false", Need::optional},
          {"variants[*].warp_clocks", "a map", Need::optional},
          {"variants[*].warp_clocks.*", "an integer from 1 to 1048576"}};
}

void refused(const Probe& probe, const std::string& path, const std::string& text, const std::string& message) {
  CAPTURE(path);
  probe.expect_replaced(path, text, message);
}

}  // namespace

TEST_CASE(
    "every field of every descriptor that is wrong, missing, given twice or misspelt is one finding at its place") {
  REQUIRE(descriptors().size() >= 2);
  for (const std::filesystem::path& file : descriptors()) {
    CAPTURE(file);
    const Tree tree = shortened(tree_of_file(file));
    check_fields(probe_of(tree), rules(tree));
  }
}

// A kernel that no one wrote, with every key that a descriptor may have.
const char* const everything = R"(schema: tilescope/kernel/1
kernel: everything
schedule: split-kv
diagram: attention_paged
sizes: {pages: {of: kv_len, per: 64}}
summary: every key
dtypes: [bf16, {all: fp16, kv: "int4:g32:b2"}]
head_dims: [64, 128]
masks: [none, block-sparse]
limits: {head_dim: 128, q_len: 16, kv_len: 65536, compute_capability: 9.0}
padded_rows: {K: 8}
packed_rows: true
whole_tile_parts: true
free: [splits]
islands:
  - name: partial
    stores_log_sum_exp: true
    writes_masked_rows: true
    row_store: 16
    row_load: 8
    tensor_path: wgmma
    mma: {m: 64, n: 64, k: 16}
    computes_in: fp16
    products:
      scores: {rows_of: K, grid: {rows: 1, columns: 2, depth: 1}, registers: [Q], mma: {m: 64, n: 8, k: 16}, computes_in: fp16, fetches: {Q: 2}, parts: 2}
    direct: [Table]
    loads_every_step: [Q]
    loaded_by_threads: [V]
    through_smem: [P, O_part]
    transposes: [V]
    reductions: [O_part]
    zeroes: [L_part]
    loads_by: tma
    stores_by: tma
    row_replication: 4
    row_multiple: 1
    computes_multiples: {d: 32}
    computes_sizes: {e: [64, 128]}
    special_parts: 16
    warps: 12
    registers: 168
    registers_of: {x: {2048: 27, 4096: 32}}
    stages: 3
    stages_of: {V: 2}
    smem_extra_bytes: 1024
    stops_at_last_key: 32
    narrow_scores: {rows: 64, keys: 64}
    mask_entry_bytes: 1
    output_through_smem: true
    persistent: true
    block_order: [kv, q, heads, batch]
    falling: {q: always, kv: causal}
    sections: {when: causal, order: [heads, q], arrays: [K, V], l2_share: 0.5, equal: true, smaller: first}
    overlap: ping-pong
    rounds: {depth: 32, waits: {Q: 4, K: 3}, shared_waits: 8, bank_waits: 100, waits_of: {K: {d: {64: 5}}}, shared_waits_of: {d: {64: 80, 128: 40}}, bank_waits_of: {d: {128: 40}}}
    stall_clocks: 2.4
    loads_in_product: true
    loads_first: [Q]
    work:
      xu: {per_score: 1, per_row_step: 1, per_row: 2, per_output_step: 0, per_output: 1, per_element: {Q: 1}, per_element_step: {K: 2}}
      alu: {per_score: 1, per_masked_score: 4, per_thread_step: 50, per_unpacked: 0.25}
      conversion: {per_score: 0.5}
      shuffle: {per_row_step: 2}
      shared: {per_element_step: {Q: 0.375}}
      others: {per_score: 12.7}
  - name: combine
    steps: {most: 4}
    tensor_path: none
    row_threads: {columns: 8}
    existing_rows: true
    block_order: [q, heads, batch]
  - name: combine
    steps: {least: 5}
    tensor_path: none
    row_threads: {columns: 1, multiple: 128}
    step_lanes: 32
    sector_reads: {L_part: 2}
    waits: {loads: {L_part: {lanes: 32, group: 4, times: 1}, O_part: {columns: 4}}, shuffles: 10, barriers: 2}
    early_launch: true
    block_order: [q, heads, batch]
variants:
  - {head_dim: 64, v_head_dim: 64, tile_q: 16, tile_kv: 64, tile_pack: 4, warps: 12, stages: 2, dtypes: [bf16], consumer_warps: 8,
     consumer_registers: 232, producer_registers: 40, registers_hold: [Q], l1_reads: [Q], smem_bytes: 65536, spills: true, waits_each: true, pipelined: true,
     warp_clocks: {before: 685, step: 719, after: 710},
     local: {frame: 144, stored_step: 56, loaded_step: 60, stored: 20, loaded: 32, waits: 3, least_l1: true}}
)";

Tree everything_tree() { return tree_of("", Document::parse(everything, "everything.yaml").root()); }

TEST_CASE("fields that no shipped descriptor has are read as strictly") {
  const Tree tree = everything_tree();
  check_fields(probe_of(tree), rules(tree));
}

TEST_CASE("names inside an island's description are those of the schedule's arrays, operators and formats") {
  const Probe probe = probe_of(everything_tree());
  refused(probe, "dtypes[1].kv", "fp17", "'fp17' is not a dtype; did you mean 'fp16'?");
  const Written without = write(probe.tree(), {"dtypes[1].all", Change::drop});
  CHECK(probe.findings(without.text) == probe.line(without.values.at("dtypes[1]"), "dtypes[1]",
                                                   "lacks 'all', the format of the arrays that it does not name"));
  refused(probe, "islands[0].computes_in", "int4:g32",
          "'int4:g32' is not a number format; known: fp32, tf32, bf16, fp16, fp8_e4m3, fp8_e5m2, int8, int4");
  refused(probe, "islands[0].direct[0]", "Tabel",
          "'Tabel' is not an array of diagram 'attention_paged'; did you mean 'Table'?");
  refused(probe, "islands[0].products.scores.rows_of", "V", "'V' is not an operand of 'scores'; known: Q, K");
  refused(probe, "islands[0].products.scores.registers[0]", "P", "'P' is not an operand of 'scores'; known: Q, K");
  refused(probe, "variants[0].spills", "false", "contradicts local, which says how much; leave it out");
  refused(probe, "variants[0].consumer_warps", "13", "are part of the block's 12 warps, found 13");
  refused(probe, "free[0]", "split", "expected one of q, kv, pack, splits, found 'split'; did you mean 'splits'?");
  const auto renamed = [&](const std::string& from, const std::string& to, const std::string& path,
                           const std::string& message) {
    Written written = write(probe.tree());
    const Place place = written.values.at(path);
    const std::size_t at = written.text.find(from);
    REQUIRE(at != std::string::npos);
    written.text.replace(at, from.size(), to);
    const std::string own = path.substr(0, path.rfind('.') + 1) + to.substr(0, to.size() - 1);
    CHECK(probe.findings(written.text) == probe.line(place, own, message));
  };
  renamed("scores:", "score:", "islands[0].products.scores",
          "'score' is not a product of island 'partial'; did you mean 'scores'?");
  renamed("pages:", "page:", "sizes.pages",
          "'page' is not a size of diagram 'attention_paged's own; did you mean 'pages'?");
}

TEST_CASE("a descriptor's dtypes and arrays must exist") {
  const Probe fused = kernel("fused_mma");
  refused(fused, "dtypes[0]", "fp17", "'fp17' is not a dtype; did you mean 'fp16'?");
  refused(fused, "dtypes[1]", "-1",
          "'-1' is not a dtype; known: fp32, tf32, bf16, fp16, fp8_e4m3, fp8_e5m2, int8, int4");
  refused(fused, "variants[0].registers_hold[0]", "query",
          "'query' is not an array of diagram 'attention'; known: Q, K, V, S, P, O, L");
}

TEST_CASE("nothing is listed twice in a descriptor") {
  const Probe fused = kernel("fused_mma");
  refused(fused, "dtypes[1]", "fp16", "'fp16' is listed twice");
  refused(fused, "head_dims[1]", "64", "'64' is listed twice");
  refused(fused, "masks[1]", "none", "'none' is listed twice");
  refused(fused, "masks", "[]", "is an empty list; list at least 'none'");
  refused(fused, "islands[0].block_order[2]", "q", "'q' is listed twice");
  const Written written = write(fused.tree(), {"variants[1].tile_kv", Change::replace, "32"});
  CHECK(fused.findings(written.text) ==
        fused.line(written.values.at("variants[1]"), "variants[1]",
                   "tile 64x32 with 4 warps at head_dim 64 is listed twice; remove one"));
}

TEST_CASE("each island of the schedule is described exactly once") {
  const Probe standard = assumed("standard");
  const auto found = [&](const Mutation& mutation, const std::string& message) {
    const Written written = write(standard.tree(), mutation);
    CHECK(standard.findings(written.text) == standard.line(written.values.at("islands"), "islands", message));
  };
  found({"islands[1]", Change::drop},
        "island 'softmax' of schedule 'standard' must be described once, or once for any number of 'steps', found 0 "
        "times");
  found({"islands[2]", Change::twice},
        "island 'pv' of schedule 'standard' must be described once, or once for any number of 'steps', found 2 times");
  refused(standard, "islands[0].name", "softmacks",
          "expected one of qk, softmax, pv, found 'softmacks'; did you mean 'softmax'?");
}

TEST_CASE("implementations of one island share out all numbers of steps, each once") {
  const Probe probe = probe_of(everything_tree());
  const auto gap = [&](const std::string& path, const std::string& value, const std::string& message) {
    const Written written = write(probe.tree(), {path, Change::replace, value});
    CHECK(probe.findings(written.text) == probe.line(written.values.at("islands"), "islands", message));
  };
  const std::string some = "must be described once, or once for any number of 'steps', found 2 times";
  gap("islands[2].steps.least", "6", "island 'combine' of schedule 'split-kv' " + some);
  gap("islands[2].steps.least", "4", "island 'combine' of schedule 'split-kv' " + some);
}

TEST_CASE("a tensor path needs its instruction's shape, and a padded array must exist") {
  const Probe standard = assumed("standard");
  const Written written = write(standard.tree(), {"islands[0].mma", Change::drop});
  CHECK(standard.findings(written.text) ==
        standard.line(written.values.at("islands[0]"), "islands[0]",
                      "a tensor path needs the instruction's shape 'mma: {m, n, k}'"));
  Tree tree = tree_of_file(root / "kernels" / "reference" / "kernel.yaml");
  const auto padded =
      std::find_if(tree.children.begin(), tree.children.end(), [](const Tree& t) { return t.key == "padded_rows"; });
  REQUIRE(padded != tree.children.end());
  padded->children[0].key = "Scores";
  const Probe reference = probe_of(tree);
  const Place place = write(tree).values.at("padded_rows.Scores");
  CHECK(reference.findings(Mutation{}) ==
        reference.line(place, "padded_rows.Scores",
                       "'Scores' is not an array of diagram 'attention'; known: Q, K, V, S, P, O, L"));
}
