// Every kernel descriptor with one thing wrong at a time, and the exact finding.
#include "predict/point.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "config/field_mutations.h"

using namespace tilescope;
using namespace tilescope::mutation;

namespace {

const std::filesystem::path root = TILESCOPE_SOURCE_DIR;

Probe probe_of(const Tree& tree) {
  return Probe(tree, [](const std::filesystem::path& file) { load_descriptor(file, root / "models"); });
}
Probe assumed(const std::string& name) { return probe_of(tree_of_file(root / "models" / "implementations" / (name + ".yaml"))); }
Probe kernel(const std::string& name) { return probe_of(tree_of_file(root / "kernels" / name / "kernel.yaml")); }

// models/implementations and every kernel folder's descriptor.
std::vector<std::filesystem::path> descriptors() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models" / "implementations")) files.push_back(entry.path());
  for (const auto& folder : std::filesystem::directory_iterator(root / "kernels"))
    if (std::filesystem::exists(folder.path() / "kernel.yaml")) files.push_back(folder.path() / "kernel.yaml");
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
    for (const Tree& island : section.children) names += (names.empty() ? "one of " : ", ") + island.children[0].value;
  }
  const std::string rate = "a number from 0 to 1000";
  return {{"schema", "'tilescope/kernel/1'"},
          {"kernel", "text"},
          {"schedule", "one of " + tilescope::join(shipped_names(root / "models" / "schedules"), ", ")},
          {"summary", "text"},
          {"dtypes", "a list"},
          {"dtypes[*]", "text"},
          {"head_dims", "a list"},
          {"head_dims[*]", "an integer from 1 to 4096"},
          {"masks", "a list"},
          {"masks[*]", "one of none, causal, window, block-sparse"},
          {"limits", "a map", Need::optional},
          {"limits.head_dim", "an integer from 1 to 4096", Need::optional},
          {"limits.kv_len", "an integer from 1 to 1099511627776", Need::optional},
          {"limits.compute_capability", "a number from 1 to 99", Need::optional},
          {"padded_rows", "a map", Need::optional},
          {"padded_rows.*", "an integer from 1 to 4096", Need::free},
          {"islands", "a list"},
          {"islands[*]", "a map"},
          {"islands[*].name", names},
          {"islands[*].stores_log_sum_exp", "true or false", Need::optional},
          {"islands[*].writes_masked_rows", "true or false", Need::optional},
          {"islands[*].row_store", "an integer from 1 to 1024", Need::optional},
          {"islands[*].row_multiple", "an integer from 1 to 1048576", Need::optional},
          {"islands[*].tensor_path", "one of tensor, mma.sync, wgmma, fma, none"},
          {"islands[*].mma", "a map", Need::free},
          {"islands[*].mma.m", "an integer from 1 to 1024"},
          {"islands[*].mma.n", "an integer from 1 to 1024"},
          {"islands[*].mma.k", "an integer from 1 to 1024"},
          {"islands[*].row_replication", "an integer from 1 to 1024", Need::optional},
          {"islands[*].stages", "an integer from 1 to 64", Need::optional},
          {"islands[*].output_through_smem", "true or false", Need::optional},
          {"islands[*].block_order", "a list"},
          {"islands[*].block_order[*]", "one of q, kv, heads, batch"},
          {"islands[*].warp_grid", "a map", Need::optional},
          {"islands[*].warp_grid.*", "an integer from 1 to 64", Need::optional},
          {"islands[*].work", "a map", Need::optional},
          {"islands[*].work.*", "a map", Need::optional},
          {"islands[*].work.*.*", rate, Need::optional},
          {"variants", "a list"},
          {"variants[*]", "a map"},
          {"variants[*].head_dim", "an integer from 0 to 4096"},
          {"variants[*].tile_q", "an integer from 1 to 1048576"},
          {"variants[*].tile_kv", "an integer from 1 to 1048576"},
          {"variants[*].warps", "an integer from 1 to 64"},
          {"variants[*].registers_hold", "a list", Need::optional},
          {"variants[*].registers_hold[*]", "text"},
          {"variants[*].smem_bytes", "an integer from 0 to 1073741824", Need::optional},
          {"variants[*].spills", "true or false", Need::optional}};
}

void refused(const Probe& probe, const std::string& path, const std::string& text, const std::string& message) {
  CAPTURE(path);
  probe.expect_replaced(path, text, message);
}

}  // namespace

TEST_CASE("every field of every descriptor that is wrong, missing, given twice or misspelt is one finding at its place") {
  REQUIRE(descriptors().size() >= 2);
  for (const std::filesystem::path& file : descriptors()) {
    CAPTURE(file);
    const Tree tree = shortened(tree_of_file(file));
    check_fields(probe_of(tree), rules(tree));
  }
}

TEST_CASE("fields that no shipped descriptor has are read as strictly") {
  Tree tree = shortened(tree_of_file(root / "kernels" / "fused_mma" / "kernel.yaml"));
  const auto section = [&](const std::string& key) -> Tree& {
    return *std::find_if(tree.children.begin(), tree.children.end(), [&](const Tree& child) { return child.key == key; });
  };
  const auto scalar = [](const std::string& key, const std::string& value) { return Tree{key, value, Kind::scalar, {}}; };
  section("islands").children[0].children.push_back(
      {"warp_grid", "", Kind::map, {scalar("q", "2"), scalar("kv", "2"), scalar("d_v", "1")}});
  section("variants").children[0].children.push_back(scalar("spills", "true"));
  check_fields(probe_of(tree), rules(tree));
}

TEST_CASE("a descriptor's dtypes and arrays must exist") {
  const Probe fused = kernel("fused_mma");
  refused(fused, "dtypes[0]", "fp17", "'fp17' is not a dtype; did you mean 'fp16'?");
  refused(fused, "dtypes[1]", "-1", "'-1' is not a dtype; known: fp32, tf32, bf16, fp16, fp8_e4m3, fp8_e5m2, int8, int4");
  refused(fused, "variants[0].registers_hold[0]", "query", "'query' is not an array of diagram 'attention'; known: Q, K, V, S, P, O, L");
}

TEST_CASE("nothing is listed twice in a descriptor") {
  const Probe fused = kernel("fused_mma");
  refused(fused, "dtypes[1]", "fp16", "'fp16' is listed twice");
  refused(fused, "head_dims[1]", "64", "'64' is listed twice");
  refused(fused, "masks[1]", "none", "'none' is listed twice");
  refused(fused, "masks", "[]", "is an empty list; list at least 'none'");
  refused(fused, "islands[0].block_order[2]", "q", "'q' is listed twice");
  const Written written = write(fused.tree(), {"variants[1].tile_kv", Change::replace, "32"});
  CHECK(fused.findings(written.text) == fused.line(written.values.at("variants[1]"), "variants[1]",
                                                   "tile 64x32 with 4 warps at head_dim 64 is listed twice; remove one"));
}

TEST_CASE("each island of the schedule is described exactly once") {
  const Probe standard = assumed("standard");
  const auto found = [&](const Mutation& mutation, const std::string& message) {
    const Written written = write(standard.tree(), mutation);
    CHECK(standard.findings(written.text) == standard.line(written.values.at("islands"), "islands", message));
  };
  found({"islands[1]", Change::drop}, "island 'softmax' of schedule 'standard' must be described once, found 0 times");
  found({"islands[2]", Change::twice}, "island 'pv' of schedule 'standard' must be described once, found 2 times");
  refused(standard, "islands[0].name", "softmacks", "expected one of qk, softmax, pv, found 'softmacks'; did you mean 'softmax'?");
}

TEST_CASE("a tensor path needs its instruction's shape, and a padded array must exist") {
  const Probe standard = assumed("standard");
  const Written written = write(standard.tree(), {"islands[0].mma", Change::drop});
  CHECK(standard.findings(written.text) == standard.line(written.values.at("islands[0]"), "islands[0]",
                                                         "a tensor path needs the instruction's shape 'mma: {m, n, k}'"));
  Tree tree = tree_of_file(root / "kernels" / "reference" / "kernel.yaml");
  const auto padded = std::find_if(tree.children.begin(), tree.children.end(), [](const Tree& t) { return t.key == "padded_rows"; });
  REQUIRE(padded != tree.children.end());
  padded->children[0].key = "Scores";
  const Probe reference = probe_of(tree);
  const Place place = write(tree).values.at("padded_rows.Scores");
  CHECK(reference.findings(Mutation{}) ==
        reference.line(place, "padded_rows.Scores", "'Scores' is not an array of diagram 'attention'; known: Q, K, V, S, P, O, L"));
}

TEST_CASE("a variant is found by its head_dim, its tiles and its warps, and a size that its file does not state matches any") {
  const Plan fused = load_plan_for_kernel("fused_mma", TILESCOPE_SOURCE_DIR);
  Point point = default_point(fused);
  point.workload.d_qk = 128, point.warps = 8;
  point.tiles = {128, 64, 1};
  REQUIRE(selected_variant(fused, point) != nullptr);
  CHECK(selected_variant(fused, point)->head_dim == 128);
  CHECK(selected_variant(fused, point)->tile("kv") == 64);
  CHECK(selected_variant(fused, point)->tile("pack") == 0);
  point.tiles[2] = 4;
  CHECK(selected_variant(fused, point) != nullptr);
  point.tiles[0] = 999;
  CHECK(selected_variant(fused, point) == nullptr);
  for (const KernelVariant& variant : fused.kernel.variants) {
    point.workload.d_qk = variant.head_dim;
    take_variant(point, fused.schedule, variant);
    CHECK(selected_variant(fused, point) == &variant);
  }
}
