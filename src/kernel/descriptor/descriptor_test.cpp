// Tests every kernel descriptor with one error at a time against the exact finding.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "diagram/mask.h"
#include "kernel/descriptor/descriptor_probes.h"

using namespace tilescope;
using namespace tilescope::mutation;

namespace {

// The files of models/implementations and the descriptor of every kernel folder.
std::vector<std::filesystem::path> descriptors() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models" / "implementations"))
    files.push_back(entry.path());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "kernels"))
    if (entry.path().filename().string().ends_with("kernel.yaml")) files.push_back(entry.path());
  // Small files first: most of their fields are also in the large ones.
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return std::pair(file_size(a), a) < std::pair(file_size(b), b); });
  return files;
}

// Keeps the first two variants, because all variants have the same fields. Where a code.json beside the file has them
// and what they are for, one stands in their place.
Tree shortened(Tree tree) {
  for (const auto& [key, text] : {std::pair{"dtypes", "[fp16]"},
                                  {"head_dims", "[64]"},
                                  {"variants", "- {head_dim: 64, tile_q: 64, tile_kv: 64, warps: 4}"}}) {
    const auto is_key = [&](const Tree& section) { return section.key == key; };
    if (std::none_of(tree.children.begin(), tree.children.end(), is_key))
      tree.children.push_back(tree_of(key, Document::parse(text, key).root()));
  }
  for (Tree& section : tree.children)
    if (section.key == "variants" && section.children.size() > 2) section.children.resize(2);
  return tree;
}

std::vector<Rule> rules(const Tree& tree) {
  std::string names;  // names of islands in the order of the schedule: "one of qk, softmax, pv"
  for (const Tree& section : tree.children) {
    if (section.key != "islands") continue;
    for (std::size_t i = 0; i < section.children.size(); ++i)  // if an island has several implementations, the first
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
          {"masks[*]", "one of " + join(kind_names<MaskKind>(), ", ")},
          {"limits", "a map", Need::optional},
          {"limits.head_dim", "an integer from 1 to 4096", Need::optional},
          {"limits.q_len", "an integer from 1 to 1099511627776", Need::optional},
          {"limits.kv_len", "an integer from 1 to 1099511627776", Need::optional},
          {"limits.compute_capability", "a number from 1 to 99", Need::optional},
          {"shapes", "a list", Need::optional},
          {"shapes[*]", "a map"},
          {"shapes[*].when", "text"},
          {"shapes[*].otherwise", "text"},
          {"shapes[*].kernel", "text", Need::optional},
          {"host_splits", "a map", Need::free},
          {"host_splits.rows", "an integer from 1 to 4096"},
          {"host_splits.keys", "a map"},
          {"host_splits.keys.*", "an integer from 1 to 4096", Need::free},
          {"host_splits.blocks_per_sm", "an integer from 1 to 64"},
          {"host_splits.most", "an integer from 1 to 4096"},
          {"host_splits.full", "a number from 0 to 1"},
          {"host_splits.near_best", "a number from 0 to 1"},
          {"host_splits.packs_one_query", "true or false", Need::optional},
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
          {"variants[*].dtypes", "a list", Need::free},  // may be the only difference between two variants
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
          {"variants[*].local.stored_after", "a list", Need::optional},
          {"variants[*].local.stored_after[*]", "a number from 0 to 1048576"},
          {"variants[*].local.loaded_after", "a list", Need::optional},
          {"variants[*].local.loaded_after[*]", "a number from 0 to 1048576"},
          {"variants[*].local.*", "a number from 0 to 1048576", Need::optional},
          {"variants[*].waits_each", "true or false", Need::optional},
          {"variants[*].pipelined", "true or false", Need::optional},
          {"variants[*].warp_clocks", "a map", Need::optional},
          {"variants[*].warp_clocks.*", "an integer from 1 to 1048576"}};
}

}  // namespace

TEST_CASE("each wrong, missing, duplicate or misspelt field of a descriptor gives one finding at its place") {
  REQUIRE(descriptors().size() >= 2);
  std::set<std::string> seen;
  for (const std::filesystem::path& file : descriptors()) {
    CAPTURE(file);
    const Tree tree = shortened(tree_of_file(file));
    check_new_fields(probe_of(tree), rules(tree), seen);
  }
}

TEST_CASE("fields that no shipped descriptor has are read equally strictly") {
  const Tree tree = everything_tree();
  check_fields(probe_of(tree), rules(tree));
}
