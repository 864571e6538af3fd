// Tests only: rewrites a YAML file as plain block YAML with one field changed and records the position of every key and
// value. Tests can so make each field of a file wrong in every way and expect the exact finding. A field added to a
// file is covered without changing a test.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/reader.h"

namespace tilescope::mutation {

enum class Kind { scalar, map, list };

struct Tree {
  std::string key, value;  // key: of a map's entry; value: of a scalar
  Kind kind = Kind::scalar;
  std::vector<Tree> children;  // of a map or list
};

inline Tree tree_of(const std::string& key, const Node& node) {
  Tree tree{key, {}, Kind::scalar, {}};
  if (node.is_map()) {
    tree.kind = Kind::map;
    for (const auto& [child_key, child] : node.entries()) tree.children.push_back(tree_of(child_key, child));
  } else if (node.is_list()) {
    tree.kind = Kind::list;
    for (const Node& child : node.items()) tree.children.push_back(tree_of("", child));
  } else {
    tree.value = node.text();
  }
  return tree;
}

inline Tree tree_of_file(const std::filesystem::path& file) { return tree_of("", Document::load(file).root()); }

struct Place {
  int line = 0, column = 0;
};

// Positions of keys (or of the '-' of a list item) and of values in the text that `write` makes. The position of a map
// or list is that of its first entry.
struct Written {
  std::string text;
  int line = 1;
  std::map<std::string, Place> keys, values;
};

enum class Change { none, drop, twice, replace };

inline std::string quoted_if_needed(const std::string& value) {
  const bool needs = value.find(": ") != std::string::npos || value.find(" #") != std::string::npos;
  return needs ? fmt::format("{:?}", value) : value;
}

// The reader's name of a child: "outer.key" or "outer[2]".
inline std::string child_path(const Tree& tree, const std::string& path, std::size_t i) {
  if (tree.kind == Kind::list) return fmt::format("{}[{}]", path, i);
  return path.empty() ? tree.children[i].key : path + "." + tree.children[i].key;
}

inline std::string parent_path(const std::string& path) {
  const std::size_t cut = path.find_last_of(".[");
  return cut == std::string::npos ? "" : path.substr(0, cut);
}

inline std::string last_key(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// What changes in the text: the node at a path is dropped, written twice, or has its value replaced by other text.
struct Mutation {
  std::string target = {};
  Change change = Change::none;
  std::string replacement = {};
};

inline void write_children(const Tree& tree, const std::string& path, int depth, const Mutation& mutation,
                           Written& out);

inline void write_entry(const Tree& parent, std::size_t i, const std::string& path, int depth, const Mutation& mutation,
                        Written& out) {
  const Tree& tree = parent.children[i];
  const std::string own = child_path(parent, path, i);
  const bool here = own == mutation.target;
  if (here && mutation.change == Change::drop) return;
  const std::string lead = parent.kind == Kind::list ? "-" : tree.key + ":";
  const Place key{out.line, 2 * depth + 1}, value{out.line, 2 * depth + 2 + static_cast<int>(lead.size())};
  out.keys.emplace(own, key);
  out.text += std::string(static_cast<std::size_t>(2 * depth), ' ') + lead;
  ++out.line;
  const bool emptied =
      tree.children.size() == 1 && mutation.change == Change::drop && child_path(tree, own, 0) == mutation.target;
  const bool inline_value = tree.children.empty() || emptied || (here && mutation.change == Change::replace);
  if (inline_value) {
    out.values.emplace(own, value);
    const std::string plain = tree.kind == Kind::map    ? "{}"
                              : tree.kind == Kind::list ? "[]"
                                                        : quoted_if_needed(tree.value);
    out.text += " " + (here && mutation.change == Change::replace ? mutation.replacement : plain) + "\n";
  } else {
    out.values.emplace(own, Place{out.line, 2 * depth + 3});
    out.text += "\n";
    write_children(tree, own, depth + 1, mutation, out);
  }
  if (here && mutation.change == Change::twice) write_entry(parent, i, path, depth, {}, out);
}

inline void write_children(const Tree& tree, const std::string& path, int depth, const Mutation& mutation,
                           Written& out) {
  for (std::size_t i = 0; i < tree.children.size(); ++i) write_entry(tree, i, path, depth, mutation, out);
}

inline Written write(const Tree& root, const Mutation& mutation = {}) {
  Written out;
  write_children(root, "", 0, mutation, out);
  return out;
}

struct Field {
  std::string path, value;
  Kind kind;
};

// Every node below `tree`, in file order.
inline void collect(const Tree& tree, const std::string& path, std::vector<Field>& out) {
  for (std::size_t i = 0; i < tree.children.size(); ++i) {
    const std::string own = child_path(tree, path, i);
    out.push_back({own, tree.children[i].value, tree.children[i].kind});
    collect(tree.children[i], own, out);
  }
}

inline std::vector<Field> fields_of(const Tree& tree) {
  std::vector<Field> all;
  collect(tree, "", all);
  return all;
}

inline std::vector<Field> leaves_of(const Tree& tree) {
  std::vector<Field> leaves;
  for (Field& field : fields_of(tree))
    if (field.kind == Kind::scalar) leaves.push_back(std::move(field));
  return leaves;
}

// A file of this process, removed at the end.
class Scratch {
 public:
  Scratch() : file_(std::filesystem::temp_directory_path() / fmt::format("tilescope_fields_{}.yaml", ::getpid())) {}
  ~Scratch() { std::filesystem::remove(file_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& file() const { return file_; }
  std::string name() const { return file_.string(); }

 private:
  std::filesystem::path file_;
};

// Changes one node of a file and compares the loader's findings.
class Probe {
 public:
  using Loader = std::function<void(const std::filesystem::path&)>;
  Probe(Tree tree, Loader load) : tree_(std::move(tree)), load_(std::move(load)) {}

  const Tree& tree() const { return tree_; }
  std::string file() const { return scratch_.name(); }

  // The loader's findings about `text`; "" if it loads.
  std::string findings(const std::string& text) const {
    std::ofstream(scratch_.file()) << text;
    try {
      load_(scratch_.file());
      return {};
    } catch (const InputError& error) {
      return error.what();
    }
  }
  std::string findings(const Mutation& mutation) const { return findings(write(tree_, mutation).text); }

  std::string line(Place place, const std::string& path, const std::string& message) const {
    return fmt::format("{}:{}:{}: error: {}: {}", scratch_.name(), place.line, place.column, path, message);
  }

  // One finding, about `path`, at its value (or at its key) in the changed text.
  void expect(const std::string& path, const Mutation& mutation, const std::string& message,
              bool at_key = false) const {
    const Written written = write(tree_, mutation);
    CAPTURE(written.text);
    CHECK(findings(written.text) == line((at_key ? written.keys : written.values).at(path), path, message));
  }
  void expect_replaced(const std::string& path, const std::string& text, const std::string& message) const {
    expect(path, {path, Change::replace, text}, message);
  }
  void expect_missing(const std::string& path) const {
    const Written written = write(tree_, {path, Change::drop});
    const std::string parent = parent_path(path);
    CAPTURE(written.text);
    // A map that is a list item has no key; the position of its first entry is used.
    const Place place = parent.empty()          ? Place{1, 1}
                        : parent.ends_with(']') ? written.values.at(parent)
                                                : written.keys.at(parent);
    CHECK(findings(written.text) == line(place, path, "is missing; add this key"));
  }
  void expect_duplicate(const std::string& path) const {
    const Written written = write(tree_, {path, Change::twice});
    CAPTURE(written.text);
    const Place first = written.keys.at(path);
    // The second copy starts right after the first one ends.
    const int lines = static_cast<int>(lines_of(path));
    CHECK(findings(written.text) == line({first.line + lines, first.column}, path,
                                         fmt::format("duplicate key, first given on line {}; keep one", first.line)));
  }
  // One extra letter at the end of the key: the key is unknown, and the correct one is suggested.
  void expect_misspelt(const std::string& path) const {
    Written written = write(tree_);
    const Place place = written.keys.at(path);
    std::size_t start = 0;
    for (int number = 1; number < place.line; ++number) start = written.text.find('\n', start) + 1;
    written.text.insert(start + static_cast<std::size_t>(place.column) - 1 + last_key(path).size(), "q");
    const std::string expected = line(place, path + "q", "unknown key; did you mean");
    const std::string text = findings(written.text);
    CAPTURE(text);
    CHECK(text.find(expected) != std::string::npos);
  }

 private:
  std::size_t lines_of(const std::string& path) const {
    const auto height = [](const auto& self, const Tree& tree) -> std::size_t {
      std::size_t lines = 1;
      for (const Tree& child : tree.children) lines += self(self, child);
      return lines;
    };
    std::size_t found = 0;
    const auto visit = [&](const auto& self, const Tree& tree, const std::string& at) -> void {
      for (std::size_t i = 0; i < tree.children.size(); ++i) {
        const std::string own = child_path(tree, at, i);
        if (own == path) found = height(height, tree.children[i]);
        self(self, tree.children[i], own);
      }
    };
    visit(visit, tree_, "");
    return found;
  }

  Tree tree_;
  Loader load_;
  Scratch scratch_;
};

enum class Need {
  required,  // absent is a finding
  optional,  // absent is fine
  free,      // the key is a name that the file chooses, or absence is tested elsewhere
};

// What a reader expects at the paths that match `pattern`, where '*' stands for one key and "[*]" for one item.
// `expected` is the message's wording: "text", "an integer from 1 to 64", "one of a, b", "a list", ... Each test
// repeats it on purpose, because the messages are a contract.
struct Rule {
  std::string pattern, expected;
  Need need = Need::required;
};

inline bool matches(const std::string& pattern, const std::string& path) {
  std::size_t p = 0, i = 0;
  while (p < pattern.size() && i < path.size()) {
    if (pattern[p] != '*') {
      if (pattern[p++] != path[i++]) return false;
      continue;
    }
    const std::size_t end = path.find_first_of(".[]", i);
    i = end == std::string::npos ? path.size() : end;
    ++p;
  }
  return p == pattern.size() && i == path.size();
}

inline const Rule& rule_for(const std::vector<Rule>& rules, const std::string& path) {
  for (const Rule& rule : rules)
    if (matches(rule.pattern, path)) return rule;
  FAIL("no rule says what the reader expects at " << path);
  return rules.front();
}

// Whether a process asks for the first time. What the reader of src/config refuses in a value of one kind depends on
// the kind alone, so the full list of wrong values is tried on one field of a kind, and a few on the others.
inline bool first_time(const std::string& kind) {
  static std::set<std::string> asked;
  return asked.insert(kind).second;
}

inline std::vector<std::string> wrong_values(const std::string& expected) {
  if (expected.starts_with("'")) return {"abc", "1", "tilescope/other/1"};
  if (expected.starts_with("one of ")) return {"1234567890", "-1"};
  if (expected == "true or false") return {"yes", "1", "True", "abc"};
  if (expected == "a list" || expected == "a map") return {"abc", "-1"};
  const bool first = first_time(expected);
  if (expected.starts_with("an integer")) {
    const std::size_t from = std::string("an integer from ").size();
    const long long least = std::stoll(expected.substr(from));
    const long long most = std::stoll(expected.substr(expected.rfind(' ') + 1));
    std::vector<std::string> wrong{"1.5", std::to_string(least - 1), std::to_string(most + 1)};
    if (first) wrong.insert(wrong.end(), {"abc", "-1", "010", "1e3", "yes", ".nan", "99999999999999999999"});
    return wrong;
  }
  if (!expected.starts_with("a number")) return {};
  if (!first) return {"abc", "-1", "1e99"};
  return {"abc", "-1", "010", "yes", ".nan", ".inf", "1e99", "1e999", "0x10"};
}

// The node's value replaced by `text`: one finding about it.
inline void check_replaced(const Probe& probe, const Field& field, const std::string& text, const std::string& message,
                           bool at_key = false) {
  CAPTURE(field.path);
  const Written written = write(probe.tree(), {field.path, Change::replace, text});
  const std::string wanted = probe.line((at_key ? written.keys : written.values).at(field.path), field.path, message);
  const std::string found = probe.findings(written.text);
  CAPTURE(written.text);
  // Removing a list or map may also break references to it; a changed scalar has exactly one finding.
  if (field.kind == Kind::scalar) CHECK(found == wanted);
  else CHECK_MESSAGE(found.find(wanted) != std::string::npos, found, " lacks ", wanted);
}

// The node is a list or a map where that is wrong.
inline void check_kind(const Probe& probe, const Field& field, const Rule& rule) {
  const std::string expected = "expected " + rule.expected + ", found ";
  if (field.kind != Kind::list) check_replaced(probe, field, "[1, 2]", expected + "a list");
  else check_replaced(probe, field, "{a: 1}", expected + "a map");
}

// Makes one node of the file wrong in every generic way: another kind, nothing, every wrong value, missing, twice,
// misspelt. `rules` must cover every node.
inline void check_field(const Probe& probe, const Field& field, const std::vector<Rule>& rules) {
  CAPTURE(field.path);
  const Rule& rule = rule_for(rules, field.path);
  const bool keyed = !field.path.ends_with(']');
  const std::string expected = "expected " + rule.expected + ", found ";
  check_kind(probe, field, rule);
  if (field.kind == Kind::scalar) check_replaced(probe, field, "{a: 1}", expected + "a map");
  check_replaced(probe, field, "~", expected + "nothing", keyed);
  for (const std::string& text : wrong_values(rule.expected))
    check_replaced(probe, field, text, fmt::format("{}'{}'", expected, text));
  const bool number = rule.expected.starts_with("an integer") || rule.expected.starts_with("a number");
  if (number) check_replaced(probe, field, "'7'", expected + "the text '7'");
  if (rule.expected == "text") check_replaced(probe, field, "''", expected + "the text ''");
  if (!keyed) return;
  const auto depth = std::count(field.path.begin(), field.path.end(), '.');
  if (first_time(fmt::format("duplicate {} {}", depth, static_cast<int>(field.kind))))
    probe.expect_duplicate(field.path);
  if (rule.need != Need::free) probe.expect_misspelt(field.path);
  if (rule.need == Need::optional) CHECK(probe.findings(Mutation{field.path, Change::drop}) == "");
  if (rule.need != Need::required) return;
  if (field.kind == Kind::scalar) probe.expect_missing(field.path);
  else
    CHECK(probe.findings(Mutation{field.path, Change::drop}).find(field.path + ": is missing; add this key") !=
          std::string::npos);
}

// The path with "[*]" for each index: fields of the same shape are read by the same code.
inline std::string shape_of(const std::string& path) {
  std::string shape;
  for (std::size_t i = 0; i < path.size(); ++i) {
    shape += path[i];
    if (path[i] == '[') shape += "*]", i = path.find(']', i);
  }
  return shape;
}

inline void check_fields(const Probe& probe, const std::vector<Rule>& rules) {
  CHECK(probe.findings(Mutation{}) == "");  // the file still loads after it is rewritten as block YAML
  for (const Field& field : fields_of(probe.tree())) check_field(probe, field, rules);
}

// The same for one of many files: fields of a shape and rule that another file had are read by the same code, and one
// in eight of them is made wrong, in one way. `seen` holds those of the files before.
inline void check_new_fields(const Probe& probe, const std::vector<Rule>& rules, std::set<std::string>& seen) {
  CHECK(probe.findings(Mutation{}) == "");
  std::size_t repeated = 0;
  for (const Field& field : fields_of(probe.tree())) {
    const Rule& rule = rule_for(rules, field.path);
    const bool fresh =
        seen.insert(fmt::format("{} {} {}", shape_of(field.path), static_cast<int>(field.kind), rule.expected)).second;
    if (fresh) check_field(probe, field, rules);
    else if (repeated++ % 8 == 0) check_kind(probe, field, rule);
  }
}

}  // namespace tilescope::mutation
