// Tests descriptors that name something that does not exist, or that omit or repeat something that does.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "kernel/descriptor/descriptor_probes.h"
#include "kernel/descriptor/found.h"

namespace descriptor_names_test {

using namespace tilescope;
using namespace tilescope::descriptor_probes;

TEST_CASE("names inside an island's description are those of the schedule's arrays, operators and formats") {
  const Probe probe = probe_of(everything_tree());
  refused(probe, "dtypes[1].kv", "fp17", "'fp17' is not a dtype; did you mean 'fp16'?");
  const Written without = write(probe.tree(), {"dtypes[1].all", Change::drop});
  CHECK(probe.findings(without.text) == probe.line(without.values.at("dtypes[1]"), "dtypes[1]",
                                                   "lacks 'all', the format of the arrays that it does not name"));
  refused(probe, "islands[0].computes_in", "int4:g32",
          "'int4:g32' is not a number format; known: " + join(dtype_names(), ", "));
  refused(probe, "islands[0].direct[0]", "Tabel",
          "'Tabel' is not an array of diagram 'attention_paged'; did you mean 'Table'?");
  refused(probe, "islands[0].products.scores.rows_of", "V", "'V' is not an operand of 'scores'; known: Q, K");
  refused(probe, "code.variants[0].spills", "false", "contradicts local, which says how much; leave it out");
  refused(probe, "code.variants[0].consumer_warps", "13", "are part of the block's 12 warps, found 13");
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
  renamed("pages:", "page:", "code.sizes.pages",
          "'page' is not a size of diagram 'attention_paged's own; did you mean 'pages'?");
}

namespace {

Probe with_variants() {
  Tree tree = tree_of_file(root / "kernels" / "block_sparse" / "kernel.yaml");
  const char* const variants =
      "- {head_dim: 64, tile_q: 64, tile_kv: 64, warps: 4, registers_hold: [Q]}\n"
      "- {head_dim: 64, tile_q: 128, tile_kv: 64, warps: 4}\n- {head_dim: 64, tile_q: 128, tile_kv: 128, warps: 4}\n"
      "- {head_dim: 128, tile_q: 64, tile_kv: 64, warps: 4}\n";
  tree.children.push_back(tree_of("variants", Document::parse(variants, "variants").root()));
  return probe_of(tree);
}

}  // namespace

TEST_CASE("a descriptor's dtypes and arrays must exist") {
  const Probe fused = with_variants();
  refused(fused, "dtypes[0]", "fp17", "'fp17' is not a dtype; did you mean 'fp16'?");
  refused(fused, "dtypes[1]", "-1", "'-1' is not a dtype; known: " + join(dtype_names(), ", "));
  refused(fused, "variants[0].registers_hold[0]", "query",
          "'query' is not an array of diagram 'attention'; known: Q, K, V, S, P, O, L");
}

TEST_CASE("nothing is listed twice in a descriptor") {
  const Probe fused = with_variants();
  refused(fused, "dtypes[1]", "fp16", "'fp16' is listed twice");
  refused(fused, "head_dims[1]", "64", "'64' is listed twice");
  refused(fused, "masks[1]", "none", "'none' is listed twice");
  refused(fused, "islands[0].block_order[2]", "q", "'q' is listed twice");
  const Written written = write(fused.tree(), {"variants[2].tile_kv", Change::replace, "64"});
  CHECK(fused.findings(written.text) ==
        fused.line(written.values.at("variants[2]"), "variants[2]",
                   "tile 128x64 with 4 warps at head_dim 64 is listed twice; remove one"));
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

TEST_CASE("implementations of one island together cover every number of steps exactly once") {
  const Probe probe = probe_of(everything_tree());
  const auto gap = [&](const std::string& path, const std::string& value, const std::string& message) {
    const Written written = write(probe.tree(), {path, Change::replace, value});
    CHECK(probe.findings(written.text) == probe.line(written.values.at("islands"), "islands", message));
  };
  const std::string some = "must be described once, or once for any number of 'steps', found 2 times";
  gap("code.facts[2].steps.least", "6", "island 'combine' of schedule 'split-kv' " + some);
  gap("code.facts[2].steps.least", "4", "island 'combine' of schedule 'split-kv' " + some);
}

TEST_CASE("a tensor path needs its instruction's shape, and a padded array must exist") {
  const Probe standard = assumed("standard");
  const Written written = write(standard.tree(), {"islands[0].mma", Change::drop});
  CHECK(standard.findings(written.text) ==
        standard.line(written.values.at("islands[0]"), "islands[0]",
                      "a tensor path needs the instruction's shape 'mma: {m, n, k}'"));
  Tree tree = everything_tree();
  const auto child = [](Tree& of, const char* key) -> Tree& {
    return *std::find_if(of.children.begin(), of.children.end(), [&](const Tree& t) { return t.key == key; });
  };
  child(child(tree, "code"), "padded_rows").children[0].key = "Scores";
  const Probe probe = probe_of(tree);
  const std::string found = probe.findings(Mutation{});
  CHECK(found.find("code.padded_rows.Scores: 'Scores' is not an array of diagram 'attention_paged'") !=
        std::string::npos);
}

TEST_CASE("keys that machine code tells are refused in a descriptor with the place where they belong") {
  const std::string end = ": is no key of a descriptor: code or the launch tells it; state it in ";
  const auto found = [&](const std::string& text, const std::string& after, const std::string& more) {
    std::string whole =
        "schema: tilescope/kernel/1\nkernel: k\nschedule: flash2\nsummary: s\ndtypes: []\nhead_dims: []\n"
        "masks: []\nislands:\n  - name: forward\n    tensor_path: none\n    block_order: [q, heads, batch]\n"
        "variants:\n  - {head_dim: 64, tile_q: 64, tile_kv: 64, warps: 4}\n";
    whole.insert(whole.find(after) + after.size(), text);
    return Probe({}, [](const std::filesystem::path& file) { load_descriptor(file, root / "models"); })
               .findings(whole)
               .find(more + end) != std::string::npos;
  };
  for (const std::string& key : found_of_launch())
    CHECK_MESSAGE(found("    " + key + ": 1\n", "batch]\n", "islands[0]." + key), key);
  for (const char* key : {"smem_bytes", "spills", "local", "consumer_registers"})
    CHECK_MESSAGE(found(std::string(", ") + key + ": 1", "warps: 4", std::string("variants[0].") + key), key);
  for (const char* key : {"sizes", "padded_rows", "host_splits"})
    CHECK_MESSAGE(found(std::string(key) + ": {}\n", "summary: s\n", key), key);
}

}  // namespace descriptor_names_test
