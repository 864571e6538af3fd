// The shipped diagram with one thing wrong at a time, and the exact finding.
#include "diagram/diagram.h"

#include <doctest/doctest.h>

#include <string>

#include "config/field_mutations.h"

using namespace tilescope;
using namespace tilescope::mutation;

namespace {

const std::filesystem::path shipped = std::string(TILESCOPE_SOURCE_DIR) + "/models/diagrams/attention.yaml";

Probe attention() {
  return Probe(tree_of_file(shipped), [](const std::filesystem::path& file) { load_diagram(file); });
}

const std::string axis_list = "known: b, k, r, q, x, d, e";
const std::string array_list = "known: Q, K, V, S, P, O, L";

// The finding about `path` when its value becomes `text`.
void refused(const std::string& path, const std::string& text, const std::string& message) {
  const Probe probe = attention();
  CAPTURE(path);
  probe.expect_replaced(path, text, message);
}

}  // namespace

TEST_CASE("the attention diagram has seven axes, seven arrays and three operators") {
  const Diagram diagram = load_diagram(shipped);
  CHECK(diagram.name == "attention");
  CHECK(diagram.axes.size() == 7);
  CHECK(diagram.arrays.size() == 7);
  REQUIRE(diagram.operators.size() == 3);
  CHECK(diagram.operators[1].kind == OperatorKind::softmax);
  REQUIRE(diagram.operators[1].along.has_value());
  CHECK(diagram.axes[index(*diagram.operators[1].along)].name == "x");
  REQUIRE(diagram.guard.has_value());
  CHECK(diagram.axes[index(diagram.guard->query)].name == "q");
  CHECK(diagram.axes_of(diagram.operators[0]).size() == 6);  // all but e
}

TEST_CASE("every field of a diagram that is wrong, missing, given twice or misspelt is one finding at its place") {
  const std::vector<Rule> rules{{"schema", "'tilescope/diagram/1'"},
                                {"diagram", "text"},
                                {"summary", "text"},
                                {"axes", "a map"},
                                {"axes.*", "a map", Need::free},
                                {"axes.*.size", "one of batch, heads_kv, group, q_len, kv_len, d_qk, d_v"},
                                {"arrays", "a map"},
                                {"arrays.*", "a map", Need::free},
                                {"arrays.*.axes", "a list"},
                                {"arrays.*.axes[*]", "text"},
                                {"arrays.*.role", "one of input, interior, output"},
                                {"arrays.*.dtype", "text"},
                                {"operators", "a list"},
                                {"operators[*]", "a map"},
                                {"operators[*].name", "text"},
                                {"operators[*].kind", "one of contraction, softmax, pointwise, reduction"},
                                {"operators[*].along", "text"},
                                {"operators[*].inputs", "a list"},
                                {"operators[*].inputs[*]", "text"},
                                {"operators[*].outputs", "a list"},
                                {"operators[*].outputs[*]", "text"},
                                {"guard", "a map", Need::optional},
                                {"guard.query", "text"},
                                {"guard.key", "text"}};
  check_fields(attention(), rules);
}

TEST_CASE("a diagram that names an axis it does not have is told which it has") {
  refused("arrays.Q.axes[1]", "zz", "'zz' is not an axis of this diagram; " + axis_list);
  refused("operators[1].along", "-1", "'-1' is not an axis of this diagram; " + axis_list);
  refused("guard.query", "kv_len", "'kv_len' is not an axis of this diagram; " + axis_list);
}

TEST_CASE("a near miss of an axis, array, extent, role or kind is suggested") {
  refused("guard.query", "qq", "'qq' is not an axis of this diagram; did you mean 'q'?");
  refused("operators[0].inputs[0]", "QQ", "'QQ' is not an array of this diagram; did you mean 'Q'?");
  refused("axes.x.size", "kv_length",
          "expected one of batch, heads_kv, group, q_len, kv_len, d_qk, d_v, found 'kv_length'; did you mean 'kv_len'?");
  refused("arrays.S.role", "interor", "expected one of input, interior, output, found 'interor'; did you mean 'interior'?");
  refused("operators[1].kind", "softmacks", "expected one of contraction, softmax, pointwise, reduction, found 'softmacks'; did you mean 'softmax'?");
}

TEST_CASE("a diagram that names an array it does not have is told which it has") {
  refused("operators[0].inputs[1]", "-1", "'-1' is not an array of this diagram; " + array_list);
  refused("operators[2].outputs[0]", "Output", "'Output' is not an array of this diagram; " + array_list);
}

TEST_CASE("an axis or array listed twice is refused at its second place") {
  refused("arrays.Q.axes[4]", "b", "axis appears twice in this array");
  refused("operators[0].inputs[1]", "Q", "'Q' is listed twice");
  refused("operators[1].outputs[1]", "P", "'P' is listed twice");
  refused("operators[2].name", "scores", "operator 'scores' is already described; names must differ");
}

TEST_CASE("an array that is read before it is written is found at the operator") {
  Probe probe = attention();
  Tree tree = probe.tree();
  std::swap(tree.children[5].children[0], tree.children[5].children[1]);  // softmax before scores
  const Probe swapped(tree, [](const std::filesystem::path& file) { load_diagram(file); });
  const Place place = write(tree).values.at("operators[0]");
  CHECK(swapped.findings(Mutation{}) == swapped.line(place, "operators[0]", "reads 'S' before any operator writes it"));
}

TEST_CASE("each array is written exactly as often as its role says") {
  const auto found = [](const std::string& path, const std::string& text, const std::string& message) {
    const Probe probe = attention();
    const Written written = write(probe.tree(), {path, Change::replace, text});
    CHECK(probe.findings(written.text) == probe.line(written.values.at("operators"), "operators", message));
  };
  found("arrays.Q.role", "output", "array 'Q' must be written by one operator, found 0\n" + [] {
    const Probe probe = attention();
    return probe.line(write(probe.tree()).values.at("operators[0]"), "operators[0]", "reads 'Q' before any operator writes it");
  }());
  found("arrays.L.role", "input", "array 'L' must be written by no operator, found 1");
  found("operators[2].outputs[0]", "L", "array 'O' must be written by one operator, found 0\n" + [] {
    const Probe probe = attention();
    const Place place = write(probe.tree()).values.at("operators");
    return probe.line(place, "operators", "array 'L' must be written by one operator, found 2");
  }());
}

TEST_CASE("an operator has the arrays its kind needs") {
  refused("operators[0].inputs", "[]", "is an empty list; name at least one array");
  refused("operators[0].outputs", "[]", "is an empty list; name at least one array");
  refused("arrays.L.axes", "[]", "is an empty list; an array has at least one axis");
  refused("operators[2].outputs", "[O, L]", "a contraction has one output, found 2");
  refused("operators[1].along", "d", "array 'S' has no such axis");
  const Probe probe = attention();
  const Written written = write(probe.tree(), {"guard.key", Change::replace, "q"});
  CHECK(probe.findings(written.text) == probe.line(written.values.at("guard"), "guard", "query and key must be two different axes"));
}

TEST_CASE("a contraction does not go along an axis") {
  const Probe probe = attention();
  Written written = write(probe.tree());
  const Place place = written.keys.at("operators[0].kind");
  std::size_t start = 0;
  for (int line = 1; line < place.line; ++line) start = written.text.find('\n', start) + 1;
  written.text.insert(start, "    along: x\n");
  CHECK(probe.findings(written.text) ==
        probe.line({place.line, 12}, "operators[0].along", "only a softmax has 'along'"));
}

TEST_CASE("a diagram has no more axes and arrays than counting has room for") {
  Tree tree = attention().tree();
  const Tree axis = tree.children[3].children[0], array = tree.children[4].children[0];
  for (int i = 0; i < 33; ++i) {
    if (i < 17) tree.children[3].children.push_back(axis);
    tree.children[3].children.back().key = fmt::format("axis{}", std::min(i, 16));
    tree.children[4].children.push_back(array);
    tree.children[4].children.back().key = fmt::format("array{}", i);
  }
  const Probe probe(tree, [](const std::filesystem::path& file) { load_diagram(file); });
  const Written written = write(tree);
  CHECK(probe.findings(written.text) ==
        probe.line(written.values.at("axes"), "axes", "a diagram may have at most 16 axes, found 24") + "\n" +
            probe.line(written.values.at("arrays"), "arrays", "a diagram may have at most 32 arrays, found 40"));
}

TEST_CASE("a diagram file that is absent or no YAML is named") {
  CHECK_THROWS_WITH_AS(load_diagram("nowhere.yaml"), "nowhere.yaml: error: no such file; check the path", InputError);
  const Probe probe = attention();
  CHECK(probe.findings("") == probe.file() + ": error: is empty; expected a YAML document");
  CHECK(probe.findings("[1]").starts_with(probe.file() + ":1:1: error: expected a map, found a list"));
}
