// The shipped schedules with one thing wrong at a time, and the exact finding.
#include "schedule/schedule.h"

#include <doctest/doctest.h>

#include <string>

#include "base/text.h"
#include "config/field_mutations.h"

namespace schedule_test {

using namespace tilescope;
using namespace tilescope::mutation;

namespace {

const std::filesystem::path models = std::string(TILESCOPE_SOURCE_DIR) + "/models";

Probe probe_of(const Tree& tree) {
  return Probe(tree, [](const std::filesystem::path& file) { load_schedule(file, models); });
}
Probe shipped(const std::string& name) { return probe_of(tree_of_file(models / "schedules" / (name + ".yaml"))); }

void refused(const std::string& schedule, const std::string& path, const std::string& text,
             const std::string& message) {
  const Probe probe = shipped(schedule);
  CAPTURE(path);
  probe.expect_replaced(path, text, message);
}

}  // namespace

TEST_CASE("flash2 is one island that streams the keys; standard is three") {
  const Schedule flash2 = find_schedule("flash2", models), standard = find_schedule("standard", models);
  REQUIRE(flash2.islands.size() == 1);
  CHECK(flash2.islands[0].loops.back().partition == Partition::stream);
  CHECK(flash2.find_parameter("kv") == 1);
  CHECK(flash2.find_parameter("nothing") == -1);
  REQUIRE(standard.islands.size() == 3);
  CHECK(standard.find_island("pv") == 2);
  const ArrayId s = *standard.diagram.find_array("S"), l = *standard.diagram.find_array("L");
  CHECK(standard.writes(standard.islands[0], s));
  CHECK(standard.reads(standard.islands[1], s));
  CHECK(!standard.writes(standard.islands[1], l));  // omitted
  CHECK(!flash2.writes(flash2.islands[0], *flash2.diagram.find_array("S")));
}

TEST_CASE("an invalid, missing, duplicate or misspelt field of a schedule is one finding at its place") {
  const std::vector<Rule> rules{{"schema", "'tilescope/schedule/1'"},
                                {"schedule", "text"},
                                {"diagram", "one of " + join(shipped_names(models / "diagrams"), ", ")},
                                {"summary", "text"},
                                {"parameters", "a map"},
                                {"parameters.*", "an integer from 1 to 1099511627776", Need::free},
                                {"islands", "a list"},
                                {"islands[*]", "a map"},
                                {"islands[*].name", "text"},
                                {"islands[*].operators", "a list"},
                                {"islands[*].operators[*]", "text"},
                                {"islands[*].merges", "text", Need::free},
                                {"islands[*].converts", "text", Need::free},
                                {"islands[*].accumulates", "a map", Need::optional},
                                {"islands[*].accumulates.*", "a map", Need::free},
                                {"islands[*].accumulates.*.by", "one of rewriting, atomic, reduction"},
                                {"islands[*].accumulates.*.as", "text", Need::free},
                                {"islands[*].accumulates.*.zeroed", "true or false"},
                                {"islands[*].update", "one of rescale, merge", Need::optional},
                                {"islands[*].omits", "a list", Need::optional},
                                {"islands[*].omits[*]", "text"},
                                {"islands[*].unread", "a list", Need::optional},
                                {"islands[*].unread[*]", "text"},
                                {"islands[*].skips_masked_tiles", "true or false"},
                                {"islands[*].loops", "a list"},
                                {"islands[*].loops[*]", "a map"},
                                {"islands[*].loops[*].axis", "text"},
                                {"islands[*].loops[*].partition", "one of group, stream"},
                                {"islands[*].loops[*].tile", "text"},
                                {"islands[*].loops[*].parts", "text", Need::free}};
  for (const std::string name : {"flash2", "standard", "flash1-printed", "split-kv", "flash2-backward"})
    check_fields(shipped(name), rules);
}

TEST_CASE("the error for an unknown axis, operator or array in a schedule lists the known ones") {
  refused("flash2", "islands[0].loops[3].axis", "queries",
          "'queries' is not an axis of diagram 'attention'; known: b, k, r, q, x, d, e");
  refused("standard", "islands[1].operators[0]", "softmacks",
          "'softmacks' is not an operator of diagram 'attention'; did you mean 'softmax'?");
  refused("standard", "islands[1].operators[0]", "-1",
          "'-1' is not an operator of diagram 'attention'; known: scores, softmax, values");
  refused("standard", "islands[1].omits[0]", "O", "'O' is not an output of this island's operators");
  refused("flash2", "diagram", "atention",
          "expected one of " + join(shipped_names(models / "diagrams"), ", ") +
              ", found 'atention'; did you mean 'attention'?");
}

TEST_CASE("a tile is a positive size or a parameter") {
  const std::string path = "islands[0].loops[4].tile";
  const std::string neither = "a tile is a positive integer or a parameter of this schedule, found ";
  refused("flash2", path, "packs", neither + "'packs'; did you mean 'pack'?");
  for (const std::string text : {"1.5", "-1", "1e3", ".nan"})
    refused("flash2", path, text, neither + "'" + text + "'; known: q, kv, pack");
  for (const std::string text : {"0", "010", "1099511627777", "99999999999999999999"})
    refused("flash2", path, text, "expected an integer from 1 to 1099511627776, found '" + text + "'");
  CHECK(shipped("flash2").findings(Mutation{path, Change::replace, "64"}) == "");
}

TEST_CASE("an axis has one loop in an island, and group loops stand before stream loops") {
  const Probe probe = shipped("flash2");
  const auto at_item = [&](const Mutation& mutation, const std::string& path, const std::string& message) {
    const Written written = write(probe.tree(), mutation);
    CHECK(probe.findings(written.text) == probe.line(written.values.at(path), path, message));
  };
  at_item({"islands[0].loops[4].axis", Change::replace, "q"}, "islands[0].loops",
          "no result of this island folds over an axis that has two loops; one is enough");
  at_item({"islands[0].loops[3].axis", Change::replace, "b"}, "islands[0].loops[3]",
          "this axis already has a loop in the island; only a group may be cut again by a stream");
  Tree tree = probe.tree();
  std::swap(tree.children[5].children[0].children[3].children[3], tree.children[5].children[0].children[3].children[4]);
  const Probe swapped = probe_of(tree);
  const Place place = write(tree).values.at("islands[0].loops[4]");
  CHECK(swapped.findings(Mutation{}) ==
        swapped.line(place, "islands[0].loops[4]", "group loops stand before all stream loops: they are the grid"));
}

TEST_CASE("an island's operators are given once and each operator runs in some island") {
  refused("flash2-backward-split", "islands[1].operators[1]", "scores", "operator 'scores' is already in this island");
  refused("flash2", "islands[0].operators", "[]", "is an empty list; an island runs at least one operator");
  refused("standard", "islands[2].name", "qk", "island 'qk' is already described; names must differ");
  const Probe probe = shipped("flash2-backward-split");
  const Written written = write(probe.tree(), {"islands[2].operators[4]", Change::drop});
  CHECK(probe.findings(written.text) ==
        probe.line(written.values.at("islands"), "islands", "no island runs operator 'query_gradient'; add it to one"));
  refused("flash2", "islands", "[]", "a schedule needs at least one island");
}

TEST_CASE("an island that reads what no earlier island wrote is found") {
  Tree tree = shipped("standard").tree();
  std::swap(tree.children[5].children[0], tree.children[5].children[1]);  // softmax before qk
  const Probe probe = probe_of(tree);
  const Written written = write(tree);
  CHECK(probe.findings(written.text) == probe.line(written.values.at("islands[0]"), "islands[0]",
                                                   "island 'softmax' reads 'S' before any island writes it"));
}

TEST_CASE("a schedule with more parameters than a point can hold is refused") {
  Tree tree = shipped("flash2").tree();
  for (int i = 0; i < 6; ++i) tree.children[4].children.push_back({fmt::format("p{}", i), "1", Kind::scalar, {}});
  const Probe probe = probe_of(tree);
  const Written written = write(tree);
  CHECK(probe.findings(written.text) ==
        probe.line(written.values.at("parameters"), "parameters", "a schedule may have at most 8 parameters, found 9"));
}

TEST_CASE("an unknown schedule is refused with the nearest or all known names") {
  CHECK_THROWS_WITH_AS(
      find_schedule("flash", models),
      ("error: --schedule: no schedule or file 'flash'" + did_you_mean("flash", shipped_names(models / "schedules")))
          .c_str(),
      InputError);
  CHECK_THROWS_WITH_AS(
      find_schedule("1234567890", models),
      ("error: --schedule: no schedule or file '1234567890'; known: " + join(shipped_names(models / "schedules"), ", "))
          .c_str(),
      InputError);
  CHECK_THROWS_WITH_AS(find_schedule("/", models), "/: error: is a directory, expected a file", InputError);
}

}  // namespace schedule_test
