// Tests every kernel descriptor with one error at a time against the exact finding.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "diagram/mask.h"
#include "kernel/descriptor/descriptor_probes.h"

namespace descriptor_test {

using namespace tilescope;
using namespace tilescope::descriptor_probes;

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

// Of the list of head dimensions, those that no variant has.
void drop_unbuilt(Tree& tree) {
  std::set<std::string> built;
  for (const Tree& section : tree.children)
    if (section.key == "variants")
      for (const Tree& variant : section.children)
        for (const Tree& field : variant.children)
          if (field.key == "head_dim") built.insert(field.value);
  for (Tree& section : tree.children)
    if (section.key == "head_dims" && !built.empty() && !built.contains("0"))
      std::erase_if(section.children, [&](const Tree& size) { return !built.contains(size.value); });
}

// Keeps the first two variants, because all variants have the same fields. Where a code.json beside the file has them
// and what they are for, one stands in their place.
Tree shortened(Tree tree) {
  for (const auto& [key, text] : {std::pair{"dtypes", "[fp16]"},
                                  {"head_dims", "[64]"},
                                  {"variants", "- {head_dim: 64, tile_q: 64, tile_kv: 64, warps: 16}"}}) {
    const auto is_key = [&](const Tree& section) { return section.key == key; };
    if (std::none_of(tree.children.begin(), tree.children.end(), is_key))
      tree.children.push_back(tree_of(key, Document::parse(text, key).root()));
  }
  const auto has = [&](const char* key) {
    return std::any_of(tree.children.begin(), tree.children.end(), [&](const Tree& t) { return t.key == key; });
  };
  if (has("shapes") && !has("code"))  // conditions may name the number of parts that the host chooses
    tree.children.push_back(
        tree_of("code", Document::parse("host_splits: {rows: 64, keys: {64: 256}, blocks_per_sm: 2, "
                                        "full: 0.8, near_best: 0.85, most: 128, "
                                        "packs_one_query: true}",
                                        "code")
                            .root()));
  for (Tree& section : tree.children)
    if (section.key == "variants" && section.children.size() > 2) section.children.resize(2);
  drop_unbuilt(tree);
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
          {"code.sizes", "a map", Need::optional},
          {"code.sizes.*", "a map", Need::free},
          {"code.sizes.*.of", "one of " + tilescope::join(kind_names<Extent>(), ", ")},
          {"code.sizes.*.per", "an integer from 1 to 1048576"},
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
          {"code.host_splits", "a map", Need::free},
          {"code.host_splits.rows", "an integer from 1 to 4096"},
          {"code.host_splits.keys", "a map"},
          {"code.host_splits.keys.*", "an integer from 1 to 4096", Need::free},
          {"code.host_splits.blocks_per_sm", "an integer from 1 to 64"},
          {"code.host_splits.most", "an integer from 1 to 4096"},
          {"code.host_splits.full", "a number from 0 to 1"},
          {"code.host_splits.near_best", "a number from 0 to 1"},
          {"code.host_splits.packs_one_query", "true or false", Need::optional},
          {"code.padded_rows", "a map", Need::optional},
          {"code.padded_rows.*", "an integer from 1 to 4096", Need::free},
          {"packed_rows", "true or false", Need::optional},
          {"whole_tile_parts", "true or false", Need::optional},
          {"layout", "a list", Need::optional},
          {"layout[*]", "one of " + join(kind_names<LayoutDimension>(), ", ")},
          {"free", "a list", Need::optional},
          {"free[*]", "one of " + parameters},
          {"islands", "a list"},
          {"islands[*]", "a map"},
          {"islands[*].name", names},
          {"islands[*].stores_log_sum_exp", "true or false", Need::optional},
          {"islands[*].writes_masked_rows", "true or false", Need::optional},
          {"code.facts[*].row_store", "an integer from 1 to 1024", Need::optional},
          {"code.facts[*].row_load", "an integer from 1 to 1024", Need::optional},
          {"code.facts[*].row_multiple", "an integer from 1 to 1048576", Need::optional},
          {"code.facts[*].computes_multiples", "a map", Need::optional},
          {"code.facts[*].computes_multiples.*", "an integer from 1 to 4096", Need::free},
          {"code.facts[*].computes_sizes", "a map", Need::optional},
          {"code.facts[*].computes_sizes.*", "a list", Need::free},
          {"code.facts[*].computes_sizes.*[*]", "an integer from 1 to 1048576", Need::free},
          {"code.facts[*].warps", "an integer from 1 to 32", Need::optional},
          {"code.facts[*].registers", "an integer from 1 to 255", Need::optional},
          {"code.facts[*].registers_of", "a map", Need::optional},
          {"code.facts[*].registers_of.*", "a map", Need::free},
          {"code.facts[*].registers_of.*.*", "an integer from 1 to 255", Need::free},
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
          {"islands[*].products.*.mma", "a map", Need::optional},
          {"islands[*].products.*.mma.*", "an integer from 1 to 1024"},
          {"islands[*].products.*.fetches", "a map", Need::optional},
          {"islands[*].products.*.fetches.*", "an integer from 0 to 64", Need::free},
          {"islands[*].products.*.parts", "an integer from 1 to 64", Need::optional},
          {"islands[*].products.*.repeats", "an integer from 1 to 64", Need::optional},
          {"islands[*].direct", "a list", Need::optional},
          {"islands[*].direct[*]", "text"},
          {"islands[*].loads_every_step", "a list", Need::optional},
          {"islands[*].loads_every_step[*]", "text"},
          {"code.facts[*].loaded_by_threads", "a list", Need::optional},
          {"code.facts[*].loaded_by_threads[*]", "text"},
          {"islands[*].through_smem", "a list", Need::optional},
          {"islands[*].through_smem[*]", "text"},
          {"code.facts[*].transposes", "a list", Need::optional},
          {"code.facts[*].transposes[*]", "text"},
          {"code.facts[*].reductions", "a list", Need::optional},
          {"code.facts[*].reductions[*]", "text"},
          {"code.facts[*].zeroes", "a list", Need::optional},
          {"code.facts[*].zeroes[*]", "text"},
          {"islands[*].loads_by", "one of cp.async, tma, ld", Need::optional},
          {"code.facts[*].stores_by", "one of st, tma", Need::optional},
          {"islands[*].stages_of", "a map", Need::optional},
          {"islands[*].stages_of.*", "an integer from 1 to 64", Need::free},
          {"code.facts[*].smem_extra_bytes", "an integer from 0 to 1073741824", Need::optional},
          {"code.facts[*].stops_at_last_key", "an integer from 1 to 4096", Need::optional},
          {"code.facts[*].own_last_tile", "an integer from 1 to 4096", Need::optional},
          {"code.facts[*].narrow_scores", "a map", Need::optional},
          {"code.facts[*].narrow_scores.rows", "an integer from 1 to 4096"},
          {"code.facts[*].narrow_scores.keys", "an integer from 1 to 4096"},
          {"code.facts[*].mask_entry_bytes", "an integer from 1 to 64", Need::optional},
          {"islands[*].persistent", "true or false", Need::optional},
          {"islands[*].row_replication", "an integer from 1 to 1024", Need::optional},
          {"code.facts[*].steps", "a map", Need::free},
          {"code.facts[*].steps.least", "an integer from 1 to 1048576", Need::free},
          {"code.facts[*].steps.most", "an integer from 1 to 1048576", Need::free},
          {"code.facts[*].row_threads", "a map", Need::optional},
          {"code.facts[*].row_threads.columns", "an integer from 1 to 4096"},
          {"code.facts[*].row_threads.multiple", "an integer from 1 to 1024", Need::optional},
          {"code.facts[*].step_lanes", "an integer from 1 to 1024", Need::optional},
          {"code.facts[*].existing_rows", "true or false", Need::optional},
          {"code.facts[*].sector_reads", "a map", Need::optional},
          {"code.facts[*].sector_reads.*", "an integer from 1 to 64", Need::free},
          {"islands[*].stages", "an integer from 1 to 64", Need::optional},
          {"islands[*].output_through_smem", "true or false", Need::optional},
          {"islands[*].block_order", "a list"},
          {"islands[*].block_order[*]", "one of q, kv, heads, batch"},
          {"islands[*].falling", "a map", Need::optional},
          {"islands[*].falling.*", "one of always, causal", Need::optional},
          {"code.facts[*].sections", "a map", Need::optional},
          {"code.facts[*].sections.when", "one of always, causal", Need::optional},
          {"code.facts[*].sections.order", "a list"},
          {"code.facts[*].sections.order[*]", "one of q, kv, heads, batch"},
          {"code.facts[*].sections.arrays", "a list"},
          {"code.facts[*].sections.arrays[*]", "text"},
          {"code.facts[*].sections.l2_share", "a number from 0.001 to 1", Need::free},
          {"code.facts[*].sections.bytes", "an integer from 1 to 1099511627776", Need::free},
          {"code.facts[*].sections.equal", "true or false", Need::optional},
          {"code.facts[*].sections.smaller", "one of last, first", Need::optional},
          {"islands[*].overlap", "one of " + join(kind_names<Overlap>(), ", "), Need::optional},
          {"code.facts[*].early_launch", "true or false", Need::optional},
          {"code.facts[*].loads_in_product", "true or false", Need::optional},
          {"code.facts[*].loads_early", "a list", Need::optional},
          {"code.facts[*].loads_early[*]", "text"},
          {"code.facts[*].loads_first", "a list", Need::optional},
          {"code.facts[*].loads_first[*]", "text"},
          {"code.facts[*].work", "a map", Need::optional},
          {"code.facts[*].work.*", "a map", Need::optional},
          {"code.facts[*].work.*.per_element", "a map", Need::optional},
          {"code.facts[*].work.*.per_element.*", rate, Need::free},
          {"code.facts[*].work.*.per_element_step", "a map", Need::optional},
          {"code.facts[*].work.*.per_element_step.*", rate, Need::free},
          {"code.facts[*].work.*.*", rate, Need::optional},
          {"code", "a map", Need::free},
          {"code.facts", "a list", Need::optional},
          {"code.facts[*]", "a map"},
          {"code.facts[*].launch", names},
          {"code.variants", "a list", Need::free},
          {"code.variants[*]", "a map"},
          {"code.variants[*].head_dim", "an integer from 0 to 4096"},
          {"code.variants[*].tile_q", "an integer from 1 to 1048576"},
          {"code.variants[*].tile_kv", "an integer from 1 to 1048576"},
          {"code.variants[*].warps", "an integer from 1 to 64"},
          {"code.variants[*].v_head_dim", "an integer from 1 to 4096", Need::optional},
          {"code.variants[*].tile_*", "an integer from 1 to 1048576", Need::optional},
          {"code.variants[*].stages", "an integer from 1 to 64", Need::optional},
          {"code.variants[*].dtypes", "a list", Need::free},
          {"code.variants[*].dtypes[*]", "text"},
          {"code.variants[*].dtypes[*].*", "text", Need::free},
          {"code.variants[*].consumer_warps", "an integer from 1 to 64", Need::optional},
          {"code.variants[*].registers_hold", "a list", Need::optional},
          {"code.variants[*].registers_hold[*]", "text"},
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
          {"code.variants[*].consumer_registers", "an integer from 24 to 255", Need::optional},
          {"code.variants[*].producer_registers", "an integer from 24 to 255", Need::optional},
          {"variants[*].registers_hold", "a list", Need::optional},
          {"variants[*].registers_hold[*]", "text"},
          {"code.variants[*].l1_reads", "a list", Need::optional},
          {"code.variants[*].l1_reads[*]", "text"},
          {"code.variants[*].smem_bytes", "an integer from 0 to 1073741824", Need::optional},
          {"code.variants[*].smem_extra_bytes", "an integer from 0 to 1073741824", Need::optional},
          {"code.variants[*].spills", "true or false", Need::optional},
          {"code.variants[*].local", "a map", Need::optional},
          {"code.variants[*].local.frame", "an integer from 4 to 1048576"},
          {"code.variants[*].local.least_l1", "true or false", Need::optional},
          {"code.variants[*].local.stored_after", "a list", Need::optional},
          {"code.variants[*].local.stored_after[*]", "a number from 0 to 1048576"},
          {"code.variants[*].local.loaded_after", "a list", Need::optional},
          {"code.variants[*].local.loaded_after[*]", "a number from 0 to 1048576"},
          {"code.variants[*].local.*", "a number from 0 to 1048576", Need::optional},
          {"code.variants[*].waits_each", "true or false", Need::optional},
          {"code.variants[*].pipelined", "true or false", Need::optional}};
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
  std::set<std::string> seen;
  check_new_fields(probe_of(tree), rules(tree), seen);
}

}  // namespace descriptor_test
