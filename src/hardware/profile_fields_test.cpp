// Every field of the shipped profiles, made wrong in every way, with the exact message expected. A profile is rewritten
// as plain block YAML with one field changed, so a field that is added to a profile is covered without touching a test.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/reader.h"
#include "hardware/profile.h"

using namespace tilescope;

namespace {

struct Tree {
  std::string key, value;      // value: of a leaf
  std::vector<Tree> children;  // of a map
};

Tree tree_of(const std::string& key, const Node& node) {
  Tree tree{key, {}, {}};
  if (node.is_scalar()) tree.value = node.text();
  else
    for (const auto& [child_key, child] : node.entries()) tree.children.push_back(tree_of(child_key, child));
  return tree;
}

// A dot in a key would look like a path here.
std::string name_of(const Tree& tree) { return tree.key == "mma.sync" ? "mma_sync" : tree.key; }

std::string quoted_if_needed(const std::string& value) {
  const bool needs = value.find(": ") != std::string::npos || value.find(" #") != std::string::npos;
  return needs ? "'" + value + "'" : value;
}

struct Place {
  int line = 0, column = 0;
};

// Where keys and values stand in the text that `write` makes.
struct Written {
  std::string text;
  int line = 1;
  std::map<std::string, Place> keys, values;
};

enum class Change { none, drop, twice, replace };

// Writes `tree` as block YAML with one change at `target` (a dotted path).
void write(const Tree& tree, const std::string& path, const std::string& target, Change change,
           const std::string& replacement, Written& out) {
  const int depth = static_cast<int>(std::count(path.begin(), path.end(), '.'));
  const bool here = path == target;
  if (here && change == Change::drop) return;
  if (!path.empty()) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    const int column = 2 * depth + 1;
    out.keys.emplace(path, Place{out.line, column});
    out.values.emplace(path, Place{out.line, column + static_cast<int>(tree.key.size()) + 2});
    out.text += indent + tree.key + ":";
    if (here && change == Change::replace) out.text += " " + replacement;
    else if (tree.children.size() == 1 && change == Change::drop && path + "." + name_of(tree.children[0]) == target)
      out.text += " {}";
    else if (tree.children.empty()) out.text += " " + quoted_if_needed(tree.value);
    out.text += "\n";
    ++out.line;
  }
  if (!(here && change == Change::replace)) {
    for (const Tree& child : tree.children) {
      const std::string key = name_of(child);
      const std::string child_path = path.empty() ? key : path + "." + key;
      Tree renamed = child;
      renamed.key = key;
      write(renamed, child_path, target, change, replacement, out);
    }
  }
  if (here && change == Change::twice) {
    const Place first = out.keys.at(path);
    write(tree, path, "", Change::none, "", out);
    out.keys[path + " again"] = Place{out.line - (tree.children.empty() ? 1 : 0), first.column};
  }
}

class Scratch {
 public:
  Scratch() : file_(std::filesystem::temp_directory_path() / fmt::format("tilescope_fields_{}.yaml", ::getpid())) {}
  ~Scratch() { std::filesystem::remove(file_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string name() const { return file_.string(); }
  // What load_profile says about `text`; "" when it loads.
  std::string findings(const std::string& text) const {
    std::ofstream(file_) << text;
    try {
      load_profile(file_);
      return {};
    } catch (const InputError& error) {
      return error.what();
    }
  }

 private:
  std::filesystem::path file_;
};

Tree shipped(const std::string& id) {
  const std::string file = std::string(TILESCOPE_SOURCE_DIR) + "/hardware/" + id + ".yaml";
  return tree_of("", Document::load(file).root());
}

void leaves(const Tree& tree, const std::string& path, std::vector<std::pair<std::string, std::string>>& out) {
  for (const Tree& child : tree.children) {
    const std::string key = name_of(child);
    const std::string child_path = path.empty() ? key : path + "." + key;
    if (child.children.empty()) out.emplace_back(child_path, child.value);
    else leaves(child, child_path, out);
  }
}

std::string last_key(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// What the reader expects of the leaf at `path`, found out from the value it has now. Spelled out here a second time on
// purpose: the messages are the contract.
std::string expectation(const std::string& path, const std::string& value) {
  static const std::map<std::string, std::string> by_unit{
      {"MHz", "a clock frequency as a positive number and a unit (Hz, kHz, MHz, GHz)"},
      {"W", "a power as a positive number and a unit (W, kW)"},
      {"us", "a time as a positive number and a unit (s, ms, us, ns)"},
      {"B/clk", "a bandwidth per clock cycle as a positive number and a unit (B/clk)"},
      {"FLOP/clk", "a compute rate per clock cycle as a positive number and a unit (FLOP/clk, OP/clk)"},
      {"TFLOP/s",
       "a compute rate as a positive number and a unit (FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s, OP/s, GOP/s, TOP/s, POP/s)"},
      {"B/s", "a bandwidth as a positive number and a unit (B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s)"},
      {"B", "an amount of memory as a positive number and a unit (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)"}};
  if (path == "schema") return "'tilescope/hardware/1'";
  if (path == "vendor") return "one of NVIDIA, AMD";
  if (path == "compute.unit_name") return "one of SM, CU";
  if (last_key(path) != "value") return "text";
  const std::size_t space = value.find(' ');
  if (path == "compute.units.value") return "an integer from 1 to 100000";
  if (space == std::string::npos) return "an integer from 1 to 16777216";
  std::string unit = value.substr(space + 1);
  if (unit == "OP/clk") unit = "FLOP/clk";
  if (unit == "GB/s" || unit == "TB/s") unit = "B/s";
  if (unit == "KiB" || unit == "MiB" || unit == "GB") unit = "B";
  REQUIRE(by_unit.contains(unit));
  return by_unit.at(unit);
}

struct Probe {
  Scratch scratch;
  Tree tree;

  // The finding about `path` after `change`, with its place in the changed text.
  void expect(const std::string& path, Change change, const std::string& replacement, const std::string& message,
              bool at_key = false) {
    Written written;
    write(tree, "", path, change, replacement, written);
    Place place = at_key ? written.keys.at(path) : written.values.at(path);
    CAPTURE(written.text);
    CHECK(scratch.findings(written.text) ==
          fmt::format("{}:{}:{}: error: {}: {}", scratch.name(), place.line, place.column, path, message));
  }

  void expect_missing(const std::string& path) {
    Written written;
    write(tree, "", path, Change::drop, "", written);
    const std::size_t dot = path.rfind('.');
    const Place place = dot == std::string::npos ? Place{1, 1} : written.keys.at(path.substr(0, dot));
    CHECK(scratch.findings(written.text) ==
          fmt::format("{}:{}:{}: error: {}: is missing; add this key", scratch.name(), place.line, place.column, path));
  }
};

// A profile for each vendor and for each level that only some have.
const std::vector<std::string> probed{"h200_sxm", "h100_pcie", "b200_sxm", "mi300x"};

template <class Test>
void for_each_leaf(Test test) {
  for (const std::string& id : probed) {
    Probe probe{Scratch(), shipped(id)};
    std::vector<std::pair<std::string, std::string>> fields;
    leaves(probe.tree, "", fields);
    REQUIRE(fields.size() > 80);
    for (const auto& [path, value] : fields) {
      CAPTURE(id);
      CAPTURE(path);
      test(probe, path, value);
    }
  }
}

bool is_quantity(const std::string& path, const std::string& value) {
  return last_key(path) == "value" && value.find(' ') != std::string::npos;
}
bool is_integer(const std::string& path, const std::string& value) {
  return last_key(path) == "value" && value.find(' ') == std::string::npos;
}

}  // namespace

TEST_CASE("the profiles probed here have every field that any shipped profile has") {
  std::set<std::string> covered;
  const auto fields_of = [](const std::string& id) {
    std::vector<std::pair<std::string, std::string>> fields;
    leaves(shipped(id), "", fields);
    return fields;
  };
  for (const std::string& id : probed) {
    for (const auto& [path, value] : fields_of(id)) covered.insert(path);
  }
  for (const HardwareProfile& profile : list_profiles(std::string(TILESCOPE_SOURCE_DIR) + "/hardware")) {
    for (const auto& [path, value] : fields_of(profile.id)) {
      if (path.starts_with("sources.") || last_key(path) == "note") continue;
      CAPTURE(profile.id);
      CHECK_MESSAGE(covered.contains(path), path);
    }
  }
}

TEST_CASE("a whole section of a profile that is absent is reported when it is required, and absent otherwise") {
  const std::set<std::string> required{"sources",    "compute",   "compute.units", "limits",         "levels",
                                       "levels.hbm", "levels.l2", "levels.smem",   "levels.register"};
  for (const std::string& id : probed) {
    Probe probe{Scratch(), shipped(id)};
    std::set<std::string> sections;
    std::vector<std::pair<std::string, std::string>> fields;
    leaves(probe.tree, "", fields);
    for (const auto& [path, value] : fields) {
      for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
        sections.insert(path.substr(0, dot));
      }
    }
    for (const std::string& section : sections) {
      if (section == "sources") continue;  // every value that names one is a finding too; tested below
      CAPTURE(id);
      CAPTURE(section);
      if (required.contains(section)) {
        probe.expect_missing(section);
      } else {
        Written written;
        write(probe.tree, "", section, Change::drop, "", written);
        CHECK(probe.scratch.findings(written.text) == "");
      }
    }
  }
}

TEST_CASE("a profile rewritten as block YAML still loads") {
  for (const std::string& id : probed) {
    Scratch scratch;
    Written written;
    write(shipped(id), "", "", Change::none, "", written);
    CHECK(scratch.findings(written.text) == "");
  }
}

TEST_CASE("every field of a profile that is a list, a map or nothing says what was expected") {
  for_each_leaf([](Probe& probe, const std::string& path, const std::string& value) {
    const std::string expected = "expected " + expectation(path, value);
    probe.expect(path, Change::replace, "[1, 2]", expected + ", found a list");
    probe.expect(path, Change::replace, "{a: 1}", expected + ", found a map");
    probe.expect(path, Change::replace, "~", expected + ", found nothing", true);
  });
}

TEST_CASE("every field of a profile given twice names both lines") {
  for_each_leaf([](Probe& probe, const std::string& path, const std::string&) {
    Written written;
    write(probe.tree, "", path, Change::twice, "", written);
    const Place first = written.keys.at(path);
    CHECK(probe.scratch.findings(written.text) ==
          fmt::format("{}:{}:{}: error: {}: duplicate key, first given on line {}; keep one", probe.scratch.name(),
                      first.line + 1, first.column, path, first.line));
  });
}

TEST_CASE("every field of a profile except notes and sources is reported when missing") {
  for_each_leaf([](Probe& probe, const std::string& path, const std::string&) {
    if (last_key(path) == "note" || path.starts_with("sources.")) return;
    probe.expect_missing(path);
  });
}

TEST_CASE("a source that is removed is missed by each value that names it") {
  Probe probe{Scratch(), shipped("h200_sxm")};
  Written written;
  write(probe.tree, "", "sources.RRZE", Change::drop, "", written);
  const std::string text = probe.scratch.findings(written.text);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);  // launch and l2
  CHECK(text.find("board.launch.source: is not declared under 'sources'") != std::string::npos);
  CHECK(text.find("levels.l2.measured_bandwidth.source: is not declared under 'sources'") != std::string::npos);
}

TEST_CASE("every quantity of a profile refuses what is not a positive amount in its unit") {
  for_each_leaf([](Probe& probe, const std::string& path, const std::string& value) {
    if (!is_quantity(path, value)) return;
    const std::string expected = "expected " + expectation(path, value);
    const std::string number = value.substr(0, value.find(' '));
    const std::string unit = value.substr(value.find(' ') + 1);
    const auto refused = [&](const std::string& text, const std::string& why) {
      probe.expect(path, Change::replace, text, fmt::format("{}, found '{}'{}", expected, text, why));
    };
    refused("abc", "");
    refused(".nan", "");
    refused("010 " + unit, "");
    refused("-" + value, ", which is not positive");
    refused("0 " + unit, ", which is not positive");
    refused("1e99 " + unit, ", which is larger than any machine has");
    refused("1e999 " + unit, "");
    refused(number, " without a unit");
    refused(number + " parsec", " with an unknown unit");
  });
}

TEST_CASE("every count of a profile refuses what is not a positive integer") {
  for_each_leaf([](Probe& probe, const std::string& path, const std::string& value) {
    if (!is_integer(path, value)) return;
    const std::string expected = "expected " + expectation(path, value);
    for (const std::string text : {"abc", "-1", "0", "010", "1.5", "1e3", "yes", ".nan", "99999999999999999999"}) {
      probe.expect(path, Change::replace, text, fmt::format("{}, found '{}'", expected, text));
    }
    probe.expect(path, Change::replace, "'7'", expected + ", found the text '7'");
  });
}

TEST_CASE("every counter of a profile refuses another unit and a name that is no metric") {
  for_each_leaf([](Probe& probe, const std::string& path, const std::string& value) {
    if (last_key(path) == "scale") {
      const std::string unit = value.substr(value.find(' ') + 1);
      for (const std::string& text : {std::string("abc"), "-1 " + unit, "0 " + unit, "1e9 " + unit, std::string("32"),
                                      std::string("1 W"), ".inf " + unit}) {
        probe.expect(path, Change::replace, text,
                     fmt::format("expected what one count stands for, such as '1 {}', found '{}'", unit, text));
      }
    }
    if (last_key(path) == "metric") {
      for (const std::string text : {"abc", "dram__bytes_read", "dram_bytes.sum", "-1", "Dram__bytes.sum"}) {
        probe.expect(
            path, Change::replace, text,
            fmt::format("expected a metric with its roll-up such as 'dram__bytes_read.sum', found '{}'", text));
      }
    }
  });
}

TEST_CASE("every source of a profile must be declared") {
  for_each_leaf([](Probe& probe, const std::string& path, const std::string&) {
    if (last_key(path) != "source") return;
    Written written;
    write(probe.tree, "", path, Change::replace, "nowhere_at_all", written);
    const Place place = written.values.at(path);
    CHECK(probe.scratch.findings(written.text)
              .starts_with(fmt::format("{}:{}:{}: error: {}: is not declared under 'sources'; ", probe.scratch.name(),
                                       place.line, place.column, path)));
  });
}

TEST_CASE("every key of a profile that is misspelt is refused at its place") {
  for (const std::string& id : probed) {
    Probe probe{Scratch(), shipped(id)};
    std::vector<std::pair<std::string, std::string>> fields;
    leaves(probe.tree, "", fields);
    for (const auto& [path, value] : fields) {
      if (path.starts_with("sources.")) continue;
      CAPTURE(path);
      Written written;
      write(probe.tree, "", path, Change::none, "", written);
      const Place place = written.keys.at(path);
      // One letter more at the end of the key.
      std::size_t start = 0;
      for (int line = 1; line < place.line; ++line) start = written.text.find('\n', start) + 1;
      written.text.insert(start + static_cast<std::size_t>(place.column) - 1 + last_key(path).size(), "q");
      CHECK(probe.scratch.findings(written.text)
                .find(fmt::format("{}:{}:{}: error: {}q: unknown key; did you mean", probe.scratch.name(), place.line,
                                  place.column, path)) != std::string::npos);
    }
  }
}
