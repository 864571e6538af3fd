// The shipped diagram with one thing wrong at a time, and the exact finding.
#include "diagram/diagram.h"

#include <doctest/doctest.h>

#include <ctime>
#include <string>

#include "config/field_mutations.h"

namespace diagram_test {

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

TEST_CASE("an invalid, missing, duplicate or misspelt field of a diagram is one finding at its place") {
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

TEST_CASE("an unknown axis in a diagram is refused with the known ones") {
  refused("arrays.Q.axes[1]", "zz", "'zz' is not an axis of this diagram; " + axis_list);
  refused("operators[1].along", "-1", "'-1' is not an axis of this diagram; " + axis_list);
  refused("guard.query", "kv_len", "'kv_len' is not an axis of this diagram; " + axis_list);
}

TEST_CASE("the error for a misspelt axis, array, extent, role or kind suggests the nearest one") {
  refused("guard.query", "qq", "'qq' is not an axis of this diagram; did you mean 'q'?");
  refused("operators[0].inputs[0]", "QQ", "'QQ' is not an array of this diagram; did you mean 'Q'?");
  refused(
      "axes.x.size", "kv_length",
      "expected one of batch, heads_kv, group, q_len, kv_len, d_qk, d_v, found 'kv_length'; did you mean 'kv_len'?");
  refused("arrays.S.role", "interor",
          "expected one of input, interior, output, found 'interor'; did you mean 'interior'?");
  refused("operators[1].kind", "softmacks",
          "expected one of contraction, softmax, pointwise, reduction, found 'softmacks'; did you mean 'softmax'?");
}

TEST_CASE("an unknown array in a diagram is refused with the known ones") {
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
  found(
      "arrays.Q.role", "output", "array 'Q' must be written by one operator, found 0\n" + [] {
        const Probe probe = attention();
        return probe.line(write(probe.tree()).values.at("operators[0]"), "operators[0]",
                          "reads 'Q' before any operator writes it");
      }());
  found("arrays.L.role", "input", "array 'L' must be written by no operator, found 1");
  found(
      "operators[2].outputs[0]", "L", "array 'O' must be written by one operator, found 0\n" + [] {
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
  CHECK(probe.findings(written.text) ==
        probe.line(written.values.at("guard"), "guard", "query and key must be two different axes"));
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

TEST_CASE("a diagram with more axes or arrays than the counts support is refused") {
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

namespace {

// A diagram of one map, B = f(A), with other axes, arrays or operators.
struct Small {
  std::string sizes = "sizes: {m: 4}", axes = "{a: {size: m}, b: {size: m}, c: {size: q_len}}";
  std::string arrays = "{A: {axes: [a, b], role: input, dtype: q}, B: {axes: [a], role: output, dtype: q}}";
  std::string operators = "[{name: f, kind: reduction, fold: sum, over: [b], expression: A, outputs: [B]}]";
  std::string rest = "";

  std::string text() const {
    return "schema: tilescope/diagram/1\ndiagram: t\nsummary: t\n" + sizes + "\naxes: " + axes + "\narrays: " + arrays +
           "\noperators: " + operators + "\n" + rest;
  }
};

// Its only finding: "line:column: error: ...".
std::string finding(const Small& small) {
  const Probe probe = attention();
  const std::string found = probe.findings(small.text());
  return found.starts_with(probe.file() + ":") ? found.substr(probe.file().size() + 1) : found;
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("the small diagram that the next tests modify has no finding") { CHECK(finding({}) == ""); }

TEST_CASE("an output whose axes differ from those of its operator is a shape mismatch") {
  CHECK(finding({.arrays = "{A: {axes: [a, b], role: input, dtype: q}, B: {axes: [a, c], role: output, dtype: q}}"}) ==
        "7:86: error: operators[0].outputs: 'B' has axes [a, c], operator 'f' yields [a]");
  CHECK(finding({.operators = "[{name: f, kind: pointwise, expression: A * 2, outputs: [B]}]"}) ==
        "7:68: error: operators[0].outputs: 'B' has axes [a], operator 'f' yields [a, b]");
}

TEST_CASE("a cycle of operators is reported with its path") {
  CHECK(finding({.arrays = "{A: {axes: [a], role: input, dtype: q}, X: {axes: [a], role: interior, dtype: q}, Y: "
                           "{axes: [a], role: interior, dtype: q}, "
                           "B: {axes: [a], role: output, dtype: q}}",
                 .operators = "[{name: f, kind: pointwise, expression: A + Y, outputs: [X]}, {name: g, kind: "
                              "pointwise, expression: X + 1, outputs: [Y]}, "
                              "{name: h, kind: pointwise, expression: Y, outputs: [B]}]"}) ==
        "7:13: error: operators[0]: reads 'Y' before any operator writes it; the operators form a cycle: Y -> X -> Y");
  CHECK(finding({.arrays = "{A: {axes: [a], role: input, dtype: q}, B: {axes: [a], role: output, dtype: q}}",
                 .operators = "[{name: f, kind: pointwise, expression: A + B, outputs: [B]}]"}) ==
        "7:13: error: operators[0]: reads 'B' before any operator writes it; the operators form a cycle: B -> B");
}

TEST_CASE("an axis without a size is refused with the sizes that exist") {
  CHECK(finding({.sizes = "sizes: {n: 4}", .axes = "{a: {size: n}, b: {size: m}, c: {size: q_len}}"}) ==
        "5:32: error: axes.b.size: expected one of batch, heads_kv, group, q_len, kv_len, d_qk, d_v, n, found 'm'");
  CHECK(finding({.sizes = "sizes: {m: 0}"}) ==
        "4:12: error: sizes.m: expected an integer from 1 to 1099511627776, found '0'");
  CHECK(finding({.sizes = "sizes: {m: 4, q_len: 3}"}) ==
        "4:22: error: sizes.q_len: 'q_len' is an extent of the workload already; choose another name");
}

TEST_CASE("a guard names two axes of the diagram") {
  CHECK(finding({.rest = "guard: {query: a, key: x}\n"}) ==
        "8:24: error: guard.key: 'x' is not an axis of this diagram; known: a, b, c");
}

TEST_CASE("an expression that does not parse, or names what is not there, is found at its character") {
  const auto expression = [](const std::string& text) {
    return finding({.operators = "[{name: f, kind: reduction, fold: sum, over: [b], expression: \"" + text +
                                 "\", outputs: [B]}]"});
  };
  CHECK(expression("A +") ==
        "7:74: error: operators[0].expression: expected a number, name or '(' at character 4, found the end");
  CHECK(expression("A * Z") ==
        "7:74: error: operators[0].expression: 'Z' is not an array of this diagram; known: A, B");
  CHECK(expression("A * size(z)") ==
        "7:74: error: operators[0].expression: 'z' is not an axis of this diagram; known: a, b, c");
  CHECK(expression("A A") ==
        "7:74: error: operators[0].expression: expected an operator or the end at character 3, found 'A'");
}

TEST_CASE("an unquoted comma in an expression is refused with the remedy, and a quoted one is read") {
  const auto pointwise = [](const std::string& expression) {
    return finding({.arrays = "{A: {axes: [a], role: input, dtype: q}, B: {axes: [a], role: output, dtype: q}}",
                    .operators = "[{name: f, kind: pointwise, expression: " + expression + ", outputs: [B]}]"});
  };
  CHECK(pointwise("max(A, 0)").find("quote an expression that has a comma, or YAML ends it there") !=
        std::string::npos);
  CHECK(pointwise("'max(A, 0)'") == "");
}

TEST_CASE("a view refers to an input that is declared before it") {
  const auto view = [](const std::string& interior, const std::string& of) {
    return finding(
        {.arrays = "{A: {axes: [a, b], role: input, dtype: q}, " + interior +
                   "V: {axes: [a, b], role: input, dtype: q, alias: " + of +
                   "}, B: {axes: [a], role: output, dtype: q}}",
         .operators = "[{name: f, kind: reduction, fold: sum, over: [b], expression: A * V, outputs: [B]}]"});
  };
  CHECK(view("", "A") == "");
  CHECK(view("", "B") == "6:100: error: arrays.V.alias: 'B' is not an array described before this one; known: A");
  CHECK(view("", "V") == "6:100: error: arrays.V.alias: 'V' is not an array described before this one; known: A");
  CHECK(view("X: {axes: [a, b], role: interior, dtype: q}, ", "X") ==
        "6:145: error: arrays.V.alias: a view and its source are both inputs");
}

TEST_CASE("a reduction folds axes that its inputs have") {
  CHECK(finding({.operators = "[{name: f, kind: reduction, fold: sum, over: [b, c], expression: A, outputs: [B]}]"}) ==
        "7:57: error: operators[0].over: no input has axis 'c'");
  CHECK(finding({.operators = "[{name: f, kind: reduction, fold: sum, over: [b, b], expression: A, outputs: [B]}]"}) ==
        "7:57: error: operators[0].over: 'b' is listed twice");
  CHECK(finding({.operators = "[{name: f, kind: reduction, fold: sum, over: [], expression: A, outputs: [B]}]"}) ==
        "7:57: error: operators[0].over: is an empty list; a reduction folds at least one axis");
}

TEST_CASE("a diagram too large or nested too deep is refused at once") {
  const auto many = [](int count) {
    std::string axes = "{a: {size: m}, b: {size: m}";
    for (int i = 0; i < count; ++i) axes += fmt::format(", x{}: {{size: m}}", i);
    return finding({.axes = axes + "}"});
  };
  const std::clock_t start = std::clock();
  CHECK(many(20000) == "5:7: error: axes: a diagram may have at most 16 axes, found 20002");
  CHECK(many(1000000) == " error: is larger than the 1048576 bytes this kind of file may have");
  CHECK(finding({.axes = repeated("[", 100000) + repeated("]", 100000)}) ==
        "5:70: error: nested deeper than 64 levels");
  const auto nested = [](int depth) {
    return finding({.operators = "[{name: f, kind: reduction, fold: sum, over: [b], expression: " +
                                 repeated("exp(", depth) + "A" + repeated(")", depth) + ", outputs: [B]}]"});
  };
  CHECK(nested(20) == "");
  CHECK(nested(800) ==
        "7:74: error: operators[0].expression: expected at most 64 levels of parentheses at character 257, found more");
  CHECK(nested(100000) ==
        "7:74: error: operators[0].expression: at character 4097: expected at most 4096 characters, found 500001");
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 10);
}

}  // namespace diagram_test
