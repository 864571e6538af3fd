// Tests every field of the shipped profiles with every kind of error against the exact message. A profile is rewritten
// as plain block YAML with one field changed. A field that is added to a profile is covered without a change to the
// test.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/field_mutations.h"
#include "hardware/profile.h"

namespace profile_fields_test {

using namespace tilescope;
using namespace tilescope::mutation;

namespace {

// A dot in a key would be read as a separator of the path.
void without_dots(Tree& tree) {
  if (tree.key == "mma.sync") tree.key = "mma_sync";
  for (Tree& child : tree.children) without_dots(child);
}

Tree shipped(const std::string& id) {
  Tree tree = tree_of_file(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/" + id + ".yaml");
  without_dots(tree);
  return tree;
}

void load(const std::filesystem::path& file) { load_profile(file); }

Probe probe_of(const std::string& id) { return Probe(shipped(id), load); }

// A number without a unit that may have a fraction.
bool is_ratio(const std::string& path) {
  return path.starts_with("measured.beside.") || path == "measured.power.clock_exponent.value" ||
         path == "measured.hbm.busy.value";
}

bool is_groups(const std::string& path) { return path == "levels.l2.groups.value"; }

// What the reader expects of the leaf at `path`, derived from its current value. The text is written here a second time
// on purpose: the messages are the contract.
std::string expectation(const std::string& path, const std::string& value) {
  static const std::map<std::string, std::string> by_unit{
      {"MHz", "a clock frequency as a positive number and a unit (Hz, kHz, MHz, GHz)"},
      {"W", "a power as a positive number and a unit (W, kW)"},
      {"us", "a time as a positive number and a unit (s, ms, us, ns)"},
      {"B/clk", "a bandwidth per clock cycle as a positive number and a unit (B/clk)"},
      {"clk", "a number of clock cycles as a positive number and a unit (clk)"},
      {"J", "an energy as a positive number and a unit (J, mJ, uJ, nJ, pJ)"},
      {"FLOP/clk", "a compute rate per clock cycle as a positive number and a unit (FLOP/clk, OP/clk)"},
      {"TFLOP/s",
       "a compute rate as a positive number and a unit (FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s, OP/s, GOP/s, TOP/s, POP/s)"},
      {"B/s", "a bandwidth as a positive number and a unit (B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s)"},
      {"B", "an amount of memory as a positive number and a unit (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)"}};
  if (path == "schema") return "'tilescope/hardware/1'";
  if (path == "vendor") return "one of NVIDIA, AMD";
  if (path == "compute.unit_name") return "one of SM, CU";
  if (last_key(path) != "value") return "text";
  if (is_groups(path)) return "text";
  const std::size_t space = value.find(' ');
  if (is_ratio(path)) return "a positive count";
  if (path == "compute.units.value") return "an integer from 1 to 100000";
  if (space == std::string::npos) return "an integer from 1 to 16777216";
  std::string unit = value.substr(space + 1);
  if (unit == "OP/clk") unit = "FLOP/clk";
  if (unit == "GB/s" || unit == "TB/s") unit = "B/s";
  if (unit == "KiB" || unit == "MiB" || unit == "GB") unit = "B";
  if (unit == "pJ") unit = "J";
  if (unit == "ns") unit = "us";
  REQUIRE(by_unit.contains(unit));
  return by_unit.at(unit);
}

// One profile for each vendor and for each level that only some profiles have. The shortest is first.
const std::vector<std::string> probed{"mi300x", "mi355x", "b200_sxm", "h100_pcie", "h200_sxm"};

// The profile without the parts of `measured` that do not hold `path`, so that it is read quickly. The whole profile if
// those parts need each other.
Tree around(const Tree& tree, const std::string& path) {
  Tree part = tree;
  std::erase_if(part.children,
                [&](const Tree& child) { return child.key == "measured" && !path.starts_with("measured."); });
  for (Tree& child : part.children)
    if (child.key == "measured")
      std::erase_if(child.children,
                    [&](const Tree& inner) { return !path.starts_with("measured." + inner.key + "."); });
  return part;
}

// The part of a path that decides what `around` leaves out.
std::string section_of(const std::string& path) {
  if (!path.starts_with("measured.")) return "";
  return path.substr(0, path.find('.', std::string("measured.").size()));
}

// Calls `test` for each leaf of the probed profiles. A leaf that several profiles of a vendor have is tested in the
// first of them.
template <class Test>
void for_each_leaf(Test test) {
  std::set<std::string> seen;
  for (const std::string& id : probed) {
    const Tree tree = shipped(id);
    const std::vector<Field> fields = leaves_of(tree);
    REQUIRE(fields.size() > 80);
    std::map<std::string, std::unique_ptr<Probe>> probes;
    for (const auto& [path, value, kind] : fields) {
      if (!seen.insert((id.starts_with("mi") ? "AMD " : "NVIDIA ") + path).second) continue;
      std::unique_ptr<Probe>& probe = probes[section_of(path)];
      if (!probe) {
        probe = std::make_unique<Probe>(around(tree, path), load);
        if (!probe->findings(Mutation{}).empty()) probe = std::make_unique<Probe>(tree, load);
      }
      CAPTURE(id);
      CAPTURE(path);
      test(*probe, path, value);
    }
  }
}

bool is_quantity(const std::string& path, const std::string& value) {
  return last_key(path) == "value" && value.find(' ') != std::string::npos && !is_groups(path);
}
bool is_integer(const std::string& path, const std::string& value) {
  return last_key(path) == "value" && value.find(' ') == std::string::npos && !is_ratio(path);
}

}  // namespace

TEST_CASE("the profiles probed here have every field that any shipped profile has") {
  std::set<std::string> covered;
  const auto fields_of = [](const std::string& id) { return leaves_of(shipped(id)); };
  for (const std::string& id : probed) {
    for (const auto& [path, value, kind] : fields_of(id)) covered.insert(path);
  }
  for (const HardwareProfile& profile : list_profiles(std::string(TILESCOPE_SOURCE_DIR) + "/hardware")) {
    for (const auto& [path, value, kind] : fields_of(profile.id)) {
      if (path.starts_with("sources.") || last_key(path) == "note") continue;
      CAPTURE(profile.id);
      CHECK_MESSAGE(covered.contains(path), path);
    }
  }
}

TEST_CASE("an absent section of a profile is reported if it is required, and is absent otherwise") {
  const std::set<std::string> required{"sources",    "compute",   "compute.units", "limits",         "levels",
                                       "levels.hbm", "levels.l2", "levels.smem",   "levels.register"};
  std::set<std::string> seen;  // a section that several profiles of a vendor have is dropped from the first of them
  for (const std::string& id : probed) {
    const Probe probe = probe_of(id);
    std::set<std::string> sections;
    const std::vector<Field> fields = leaves_of(probe.tree());
    for (const auto& [path, value, kind] : fields) {
      for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
        sections.insert(path.substr(0, dot));
      }
    }
    for (const std::string& section : sections) {
      if (section == "sources") continue;  // every value that names a source is a finding too; tested below
      if (!seen.insert((id.starts_with("mi") ? "AMD " : "NVIDIA ") + section).second) continue;
      CAPTURE(id);
      CAPTURE(section);
      if (required.contains(section)) {
        probe.expect_missing(section);
      } else {
        CHECK(probe.findings(Mutation{section, Change::drop}) == "");
      }
    }
  }
}

TEST_CASE("a profile rewritten as block YAML still loads") {
  for (const std::string& id : probed) {
    CHECK(probe_of(id).findings(Mutation{}) == "");
  }
}

TEST_CASE("each field of a profile that is a list, a map or empty is reported with what was expected") {
  // One function reads all fields of a kind: each way on the first of them, one way in turn on each other.
  std::size_t turn = 0;
  for_each_leaf([&](const Probe& probe, const std::string& path, const std::string& value) {
    const std::string expected = "expected " + expectation(path, value);
    const bool first = first_time("wrong kind for " + expected);
    const std::size_t way = turn++ % 3;
    if (first || way == 0) probe.expect_replaced(path, "[1, 2]", expected + ", found a list");
    if (first || way == 1) probe.expect_replaced(path, "{a: 1}", expected + ", found a map");
    if (first || way == 2) probe.expect(path, {path, Change::replace, "~"}, expected + ", found nothing", true);
  });
}

TEST_CASE("a field of a profile given twice names both lines, at every depth") {
  // Duplicates are found before the reader of a field sees them: the depth in the file is all that differs.
  for_each_leaf([](const Probe& probe, const std::string& path, const std::string&) {
    if (first_time(fmt::format("duplicate {}", std::count(path.begin(), path.end(), '.'))))
      probe.expect_duplicate(path);
  });
}

TEST_CASE("every field of a profile except notes and sources is reported when missing") {
  for_each_leaf([](const Probe& probe, const std::string& path, const std::string&) {
    if (last_key(path) == "note" || path.starts_with("sources.")) return;
    probe.expect_missing(path);
  });
}

TEST_CASE("a removed source is a finding at each value that names it") {
  const Probe probe = probe_of("h200_sxm");
  const Written written = write(probe.tree(), {"sources.RRZE", Change::drop});
  const std::string text = probe.findings(written.text);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);  // launch and l2
  CHECK(text.find("board.launch.source: is not declared under 'sources'") != std::string::npos);
  CHECK(text.find("levels.l2.measured_bandwidth.source: is not declared under 'sources'") != std::string::npos);
}

TEST_CASE("every quantity of a profile refuses what is not a positive amount in its unit") {
  for_each_leaf([](const Probe& probe, const std::string& path, const std::string& value) {
    if (!is_quantity(path, value)) return;
    const std::string expected = "expected " + expectation(path, value);
    const std::string number = value.substr(0, value.find(' '));
    const std::string unit = value.substr(value.find(' ') + 1);
    const auto refused = [&](const std::string& text, const std::string& why) {
      probe.expect_replaced(path, text, fmt::format("{}, found '{}'{}", expected, text, why));
    };
    refused("-" + value, ", which is not positive");
    refused(number + " parsec", " with an unknown unit");
    if (!first_time("quantity in " + unit)) return;  // the rest depends on the kind of quantity alone
    refused("abc", "");
    refused(".nan", "");
    refused("010 " + unit, "");
    refused("0 " + unit, ", which is not positive");
    refused("1e99 " + unit, ", which is larger than any machine has");
    refused("1e-300 " + unit, ", which is smaller than any machine has");
    refused("1e999 " + unit, "");
    refused(number, " without a unit");
  });
}

TEST_CASE("every count of a profile refuses what is not a positive integer") {
  for_each_leaf([](const Probe& probe, const std::string& path, const std::string& value) {
    if (!is_integer(path, value)) return;
    const std::string expected = "expected " + expectation(path, value);
    std::vector<std::string> wrong{"0", "1.5"};
    if (first_time("count: " + expected))
      for (const char* text : {"abc", "-1", "010", "1e3", "yes", ".nan", "99999999999999999999"}) wrong.push_back(text);
    for (const std::string& text : wrong) {
      probe.expect_replaced(path, text, fmt::format("{}, found '{}'", expected, text));
    }
    probe.expect_replaced(path, "'7'", expected + ", found the text '7'");
  });
}

TEST_CASE("groups of SMs that do not cover all SMs, or that have no partition, are refused") {
  const Probe probe = probe_of("h200_sxm");
  for (const std::string text : {"abc", "-1", "132", "66a 66c", "66a 65b", "66a b", "99999999a", "66A 66B"})
    probe.expect_replaced("levels.l2.groups.value", text,
                          "must be groups of units with their partition's letter, all units together, "
                          "like '16a 16b' of 32");
}

TEST_CASE("every ratio of a profile refuses what is not a positive number") {
  for_each_leaf([](const Probe& probe, const std::string& path, const std::string&) {
    if (!is_ratio(path) || last_key(path) != "value") return;
    for (const std::string text : {"abc", "010", ".nan", "1e999", "2 parsec"}) {
      const std::string unit = text == "2 parsec" ? " with an unknown unit" : "";
      probe.expect_replaced(path, text, fmt::format("expected a positive count, found '{}'{}", text, unit));
    }
    probe.expect_replaced(path, "-1", "expected a positive count, found '-1', which is not positive");
  });
}

TEST_CASE("every counter of a profile refuses a wrong unit and a name that is not a metric") {
  for_each_leaf([](const Probe& probe, const std::string& path, const std::string& value) {
    if (last_key(path) == "scale") {
      const std::string unit = value.substr(value.find(' ') + 1);
      for (const std::string& text : {std::string("abc"), "-1 " + unit, "0 " + unit, "1e9 " + unit, std::string("32"),
                                      std::string("1 W"), ".inf " + unit}) {
        probe.expect_replaced(
            path, text, fmt::format("expected what one count stands for, such as '1 {}', found '{}'", unit, text));
      }
    }
    if (last_key(path) == "metric") {
      for (const std::string text : {"abc", "dram__bytes_read", "dram_bytes.sum", "-1", "Dram__bytes.sum"}) {
        probe.expect_replaced(
            path, text,
            fmt::format("expected a metric with its roll-up such as 'dram__bytes_read.sum', found '{}'", text));
      }
    }
  });
}

TEST_CASE("every source of a profile must be declared") {
  for_each_leaf([](const Probe& probe, const std::string& path, const std::string&) {
    if (last_key(path) != "source") return;
    const Written written = write(probe.tree(), {path, Change::replace, "nowhere_at_all"});
    const Place place = written.values.at(path);
    CHECK(probe.findings(written.text)
              .starts_with(fmt::format("{}:{}:{}: error: {}: is not declared under 'sources'; ", probe.file(),
                                       place.line, place.column, path)));
  });
}

TEST_CASE("every key of a profile that is misspelt is refused at its place") {
  for_each_leaf([](const Probe& probe, const std::string& path, const std::string&) {
    if (!path.starts_with("sources.")) probe.expect_misspelt(path);
  });
}

}  // namespace profile_fields_test
