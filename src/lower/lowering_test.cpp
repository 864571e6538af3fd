// Changes one value at a time in every shipped lowering and expects the exact finding.
#include "lower/lowering.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/contains.h"
#include "base/text.h"
#include "config/field_mutations.h"
#include "lower/result.h"

namespace lowering_test {

using namespace tilescope;
using namespace tilescope::lower;
using namespace tilescope::mutation;

namespace {

const std::filesystem::path root = TILESCOPE_SOURCE_DIR;
const std::vector<std::string> shipped{"flash2_a100", "flash4_b200_backward", "flash4_b200_forward", "napkin_hopper"};

Tree tree_of_lowering(const std::string& name) {
  return tree_of_file(root / "models" / "lowerings" / (name + ".yaml"));
}
Probe lowering_probe(const Tree& tree) {
  return Probe(tree, [](const std::filesystem::path& file) { run_lowering(file, root); });
}
Probe lowering_probe(const std::string& name) { return lowering_probe(tree_of_lowering(name)); }

Tree& section(Tree& tree, const std::string& key) {
  return *std::find_if(tree.children.begin(), tree.children.end(), [&](const Tree& child) { return child.key == key; });
}
Tree scalar(const std::string& key, const std::string& value) { return {key, value, Kind::scalar, {}}; }

// The entries of a list are similar, so the test keeps the first and the last. It also keeps every variable that shares
// storage or whose storage is shared.
Tree shortened(Tree tree) {
  const auto keep_ends = [](Tree& list) {
    if (list.children.size() > 2) list.children.erase(list.children.begin() + 1, list.children.end() - 1);
  };
  keep_ends(section(tree, "divisors"));
  for (Tree& list : section(tree, "work").children)
    if (list.kind == Kind::list) keep_ends(list);
  std::vector<Tree>& variables = section(tree, "variables").children;
  std::vector<std::string> needed{variables.front().children[0].value, variables.back().children[0].value};
  for (const Tree& variable : variables)
    for (const Tree& field : variable.children)
      if (field.key == "shares") needed.insert(needed.end(), {field.value, variable.children[0].value});
  std::erase_if(variables, [&](const Tree& variable) { return !contains(needed, variable.children[0].value); });
  return tree;
}

std::vector<Rule> rules() {
  const std::string size = "an integer from 1 to 16777216";
  return {{"schema", "'tilescope/lowering/1'"},
          {"lowering", "text"},
          {"hardware", "text"},
          {"summary", "text"},
          {"source", "text"},
          {"sources", "a map"},
          {"sources.*", "text", Need::free},
          {"sizes", "a map"},
          {"sizes.*", size, Need::free},
          {"dtypes", "a map"},
          {"dtypes.*", "text", Need::free},
          {"divisors", "a list", Need::optional},
          {"divisors[*]", "a map"},
          {"divisors[*].size", "text"},
          {"divisors[*].multiple", size, Need::free},
          {"divisors[*].because", "text", Need::free},
          {"divisors[*].coalesced", "text", Need::free},
          {"copies", "a map"},
          {"copies.scope", "one of warp, warpgroup, block"},
          {"copies.rows", "text"},
          {"copies.threads", "an integer from 1 to 1024", Need::free},
          {"variables", "a list"},
          {"variables[*]", "a map"},
          {"variables[*].name", "text"},
          {"variables[*].array", "text"},
          {"variables[*].shape", "a list"},
          {"variables[*].shape[*]", "text"},
          {"variables[*].level", "one of smem, tmem, register"},
          {"variables[*].scope", "one of warp, warpgroup, block"},
          {"variables[*].buffers", "an integer from 1 to 64", Need::optional},
          {"variables[*].streamed", "an integer from 1 to 1024", Need::optional},
          {"variables[*].shares", "text", Need::free},
          {"variables[*].plans", "a list", Need::free},
          {"variables[*].plans[*]", "text"},
          {"variables[*].source", "text", Need::optional},
          {"work", "a map"},
          {"work.rows", "text"},
          {"work.mma", "a map", Need::free},
          {"work.mma.*", "text"},
          {"work.operations", "a list", Need::free},
          {"work.operations[*]", "a map"},
          {"work.operations[*].name", "text"},
          {"work.operations[*].pipe", "one of tensor, exp2, fma, alu, smem"},
          {"work.operations[*].dtype", "text", Need::free},
          {"work.operations[*].flop", "a list", Need::free},
          {"work.operations[*].flop[*]", "text"},
          {"work.operations[*].count", "a list", Need::free},
          {"work.operations[*].count[*]", "text"},
          {"work.operations[*].values", "a list", Need::free},
          {"work.operations[*].values[*]", "text"},
          {"work.operations[*].array", "text", Need::free},
          {"work.operations[*].rate", "text", Need::free},
          {"work.matmuls", "a list", Need::free},
          {"work.matmuls[*]", "a map"},
          {"work.matmuls[*].name", "text"},
          {"work.matmuls[*].m", "text"},
          {"work.matmuls[*].n", "text"},
          {"work.matmuls[*].k", "text"},
          {"work.matmuls[*].dtype", "text"},
          {"work.matmuls[*].*", "a map"},
          {"work.matmuls[*].*.array", "text"},
          {"work.matmuls[*].*.level", "one of smem, tmem, register"},
          {"rates", "a map", Need::free},
          {"rates.*", "a map", Need::free},
          {"rates.*.value", "a compute rate per clock cycle as a positive number and a unit (FLOP/clk, OP/clk)"},
          {"rates.*.source", "text"},
          {"overlap", "a map"},
          {"overlap.style", "one of full, serial, phases"},
          {"overlap.phases", "a list", Need::free},
          {"overlap.phases[*]", "a list"},
          {"overlap.phases[*][*]", "text"},
          {"plans", "a list"},
          {"plans[*]", "a map"},
          {"plans[*].name", "text"},
          {"plans[*].sizes", "a map", Need::free},
          {"plans[*].sizes.*", size, Need::free},
          {"plans[*].overlap", "a map", Need::optional},
          {"plans[*].overlap.style", "one of full, serial, phases"}};
}

// Expects the loader to report `message` at `path` if its text is replaced by `text`.
void refused(const Probe& probe, const std::string& path, const std::string& text, const std::string& message) {
  CAPTURE(path);
  probe.expect_replaced(path, text, message);
}
// Expects a finding at another place than the change.
void found(const Probe& probe, const Mutation& mutation, const std::string& at, const std::string& message,
           bool at_key = false) {
  const Written written = write(probe.tree(), mutation);
  CAPTURE(written.text);
  CHECK(probe.findings(written.text) == probe.line((at_key ? written.keys : written.values).at(at), at, message));
}

Tree with_phases() {
  Tree tree = tree_of_lowering("napkin_hopper");
  Tree& overlap = section(tree, "overlap");
  overlap.children[0].value = "phases";
  const auto phase = [](const std::vector<std::string>& names) {
    Tree list{"", "", Kind::list, {}};
    for (const std::string& name : names) list.children.push_back(scalar("", name));
    return list;
  };
  overlap.children.push_back(
      {"phases",
       "",
       Kind::list,
       {phase({"scores"}), phase({"exponentials", "exponential of the rescaling", "values", "accumulate"})}});
  section(tree, "plans").children[0].children.push_back({"overlap", "", Kind::map, {scalar("style", "serial")}});
  return tree;
}

}  // namespace

// Of the two lowerings that have every kind of section between them.
TEST_CASE("an invalid, missing, duplicate or misspelt field of a lowering is one finding at its place") {
  for (const std::string name : {"napkin_hopper", "flash4_b200_backward"}) {
    CAPTURE(name);
    check_fields(lowering_probe(shortened(tree_of_lowering(name))), rules());
  }
}

TEST_CASE("phases and the overlap of one plan are checked as strictly, and change the bound") {
  const Probe probe = lowering_probe(with_phases());
  check_fields(probe, rules());
  std::ofstream(probe.file()) << write(probe.tree()).text;
  const LoweringResult result = run_lowering(probe.file(), root);
  CHECK(result.plans[0].throughput.bound_clocks == 2 + 4 + 0.0625 + 4 + 0.5);
  CHECK(result.plans[0].throughput.bound_by == "several phases");
  const LoweringResult phased = [&] {
    const Tree tree = with_phases();
    std::ofstream(probe.file()) << write(tree, {"plans[0].overlap", Change::drop}).text;
    return run_lowering(probe.file(), root);
  }();
  CHECK(phased.plans[0].throughput.bound_clocks == 2 + 4.0625);
}

TEST_CASE("names in a lowering must exist") {
  const Probe napkin = lowering_probe("napkin_hopper");
  refused(napkin, "hardware", "h101_sxm", "unknown GPU 'h101_sxm'; did you mean 'h100_sxm'?");
  refused(napkin, "source", "Q", "'Q' is not declared under 'sources'; known: N, R");
  refused(napkin, "dtypes.Q", "fp17", "'fp17' is not a number format; did you mean 'fp16'?");
  refused(napkin, "dtypes.K", "int4:g32", "'int4:g32' is not a number format; known: " + join(dtype_names(), ", "));
  refused(napkin, "copies.rows", "w_k", "'w_k' is not a size; did you mean 'w_q'?");
  refused(napkin, "work.rows", "t", "'t' is not a size; did you mean 't_q'?");
  refused(napkin, "variables[0].array", "Z", "'Z' is not an array of 'dtypes'; known: K, O, Q, S, V, state");
  refused(napkin, "work.operations[0].flop[1]", "s_y", "'s_y' is not a size; did you mean 's_x'?");
  refused(napkin, "work.operations[4].rate", "fp16_fmma", "'fp16_fmma' is not under 'rates'; did you mean 'fp16_fma'?");
  refused(napkin, "rates.fp16_fma.source", "M", "'M' is not declared under 'sources'; known: N, R");
  refused(napkin, "divisors[0].size", "w_z", "'w_z' is not a size; did you mean 'w_q'?");
  const Probe a100 = lowering_probe("flash2_a100");
  refused(a100, "variables[2].plans[0]", "rows15", "'rows15' is not a plan; did you mean 'rows16'?");
  refused(a100, "variables[4].shares", "SS", "'SS' is not a variable; did you mean 'S'?");
}

TEST_CASE("a factor is a size or a plain number") {
  const Probe napkin = lowering_probe("napkin_hopper");
  for (const std::string text : {"0", "-1", "010", "1.5", "16777217", "99999999999999999999"})
    refused(napkin, "work.operations[0].flop[0]", text,
            fmt::format("expected an integer from 1 to 16777216, found '{}'", text));
  refused(napkin, "work.operations[0].flop", "[]", "is an empty list; write [1] for one");
  refused(napkin, "work.operations[0].flop", "[1, 1, 1, 1, 1, 1, 1, 1, 1]", "has 9 factors; at most 8 make sense");
  CHECK(napkin.findings(Mutation{"work.operations[4].flop", Change::replace, "[d, d, d, d]"}) ==
        "");  // 2^28 FLOP are accepted
}

TEST_CASE("the rate of an operation is stated by the hardware profile or by the file") {
  const Probe napkin = lowering_probe("napkin_hopper");
  found(napkin, {"work.operations[4].rate", Change::drop}, "work.operations[4]",
        "h100_sxm has no rate for pipe 'fma' in fp16; give 'rate' with a source under 'rates'");
  refused(napkin, "work.operations[0].dtype", "int4",
          "h100_sxm has no rate for tensor int4; give 'rate' with a source under 'rates'");
  refused(napkin, "work.operations[0].dtype", "fp9", "'fp9' is not a number format; did you mean 'fp32'?");
  found(napkin, {"work.operations[1].pipe", Change::replace, "alu"}, "work.operations[1]",
        "h100_sxm has no rate for pipe 'alu' in fp32; give 'rate' with a source under 'rates'");
  found(napkin, {"work.operations[1].pipe", Change::replace, "tensor"}, "work.operations[1]",
        "an operation on pipe 'tensor' is given as flop, found 'count'");
  found(napkin, {"work.operations[0].flop", Change::drop}, "work.operations[0]",
        "needs exactly one of flop, count, values");
  const Probe backward = lowering_probe("flash4_b200_backward");
  const Written unnamed = write(backward.tree(), {"work.operations[1].array", Change::drop});
  CHECK(backward.findings(unnamed.text) ==
        backward.line(unnamed.values.at("work.operations[1]"), "work.operations[1].array", "is missing; add this key"));
  found(backward, {"work.mma", Change::drop}, "work",
        "matrix products need their instruction's tile 'mma: {m, n, ctas}'");
}

TEST_CASE("a variable is stored in a memory of the hardware, or in registers of threads") {
  const Probe napkin = lowering_probe("napkin_hopper");
  refused(napkin, "variables[0].level", "tmem", "h100_sxm has no capacity for 'tmem'");
  refused(napkin, "variables[4].scope", "block", "registers belong to threads: the scope is warp or warpgroup");
  const Probe a100 = lowering_probe("flash2_a100");
  refused(a100, "variables[0].scope", "warpgroup", "'warpgroup' is larger than the 'warp' that is copied; use block");
  const std::string storage = "' must have its own storage at the same level, in the same scope and plans";
  refused(a100, "variables[4].shares", "K", "'K" + storage);
  refused(a100, "variables[4].shares", "P", "'P" + storage);
  refused(a100, "variables[4].shares", "Q of one step", "'Q of one step" + storage);
  const Probe backward = lowering_probe("flash4_b200_backward");
  refused(backward, "copies.threads", "500", "expected whole warps of 32 threads, found 500");
  Tree odd = tree_of_lowering("flash4_b200_backward");
  section(odd, "copies").children[2].value = "544";
  refused(lowering_probe(odd), "variables[6].scope", "warpgroup",
          "the 544 threads that are copied are no whole warpgroups");
  found(backward, {"copies.threads", Change::drop}, "copies", "copies of scope 'block' need 'threads'");
  Tree tree = tree_of_lowering("napkin_hopper");
  section(tree, "copies").children.push_back(scalar("threads", "128"));
  found(lowering_probe(tree), {}, "copies.threads",
        "only copies of scope 'block' say how many threads they have; remove this key");
}

TEST_CASE("a divisor is a multiple with its reason, or a coalesced array") {
  const Probe napkin = lowering_probe("napkin_hopper");
  const std::string wanted = "needs 'multiple' and 'because', or 'coalesced: ARRAY' alone";
  found(napkin, {"divisors[0].because", Change::drop}, "divisors[0]", wanted);
  found(napkin, {"divisors[0].multiple", Change::drop}, "divisors[0]", wanted);
  found(napkin, {"divisors[4].coalesced", Change::drop}, "divisors[4]", wanted);
  Tree tree = tree_of_lowering("napkin_hopper");
  section(tree, "divisors").children[4].children.push_back(scalar("multiple", "2"));
  found(lowering_probe(tree), {}, "divisors[4]", wanted);
}

TEST_CASE("every operation is in exactly one phase") {
  const Probe probe = lowering_probe(with_phases());
  const std::string at = "overlap.phases";
  found(probe, {"overlap.phases[0]", Change::drop}, at, "'scores' is in no phase");
  found(probe, {"overlap.phases[0][0]", Change::twice}, at, "'scores' is in two phases");
  found(probe, {"overlap.style", Change::replace, "full"}, at,
        "overlap 'full' has no phases; remove this key or write 'style: phases'");
  found(probe, {"overlap.phases", Change::drop}, "overlap", "style 'phases' needs 'phases: [[operation, ...], ...]'");
  const std::string text = probe.findings(Mutation{"overlap.phases[0][0]", Change::replace, "score"});
  CHECK(text.find("'score' is not an operation; did you mean 'scores'?") != std::string::npos);
}

TEST_CASE("names are unique, and a lowering has a plan and work") {
  const Probe a100 = lowering_probe("flash2_a100");
  refused(a100, "variables[1].name", "K", "'K' is listed twice");
  Tree twice = tree_of_lowering("flash4_b200_forward");
  refused(lowering_probe(twice), "plans[1].name", "one_tile", "'one_tile' is listed twice");
  refused(a100, "work.operations[6].name", "scores", "'scores' is listed twice");
  found(a100, {"work.operations", Change::replace, "[]"}, "work", "has no operations and no matmuls");
  refused(lowering_probe("flash4_b200_forward"), "plans", "[]", "is an empty list; give one plan, '[{name: ...}]'");
  found(a100, {"plans[1].sizes.w_q", Change::replace, "0"}, "plans[1].sizes.w_q",
        "expected an integer from 1 to 16777216, found '0'");
  Tree tree = tree_of_lowering("flash2_a100");
  section(tree, "plans").children[1].children[1].children[0].key = "w_k";
  found(lowering_probe(tree), {}, "plans[1].sizes.w_k", "'w_k' is not a size; did you mean 'w_q'?");
  section(tree, "plans").children[1].children[1].children[0].key = "w_q";
  section(tree, "sizes").children[0].key = "9";
  CHECK(lowering_probe(tree).findings(Mutation{}).find("sizes.9: expected a size's name to begin with a letter") !=
        std::string::npos);
}

TEST_CASE("the error for a product of sizes beyond 2^63 names the remedy") {
  Tree tree = tree_of_lowering("napkin_hopper");
  for (Tree& size : section(tree, "sizes").children) size.value = "16777216";
  const Probe probe = lowering_probe(tree);
  CHECK(probe.findings(Mutation{"variables[0].shape", Change::replace, "[d, d, d]"}) ==
        probe.file() + ": error: sizes: a product of sizes exceeds 2^63 - 1; use smaller sizes");
}

}  // namespace lowering_test
