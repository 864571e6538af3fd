// A JSON text gives the tree that yaml-cpp finds in it, with every position.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/files.h"
#include "base/test_seed.h"
#include "config/tree.h"

namespace json_tree_test {

using namespace tilescope;
using namespace tilescope::detail;

namespace {

std::string shown(const NodeState& node) {
  std::string text = std::to_string(static_cast<int>(node.kind)) + (node.quoted ? "q" : "") + " " +
                     std::to_string(node.line) + ":" + std::to_string(node.column) + " " +
                     std::to_string(node.key_line) + ":" + std::to_string(node.key_column) + " " + node.key + "=" +
                     node.scalar + "\n";
  for (const NodeState* child : node.children) text += shown(*child);
  return text;
}

using Build = void (*)(DocumentState&, std::string_view);

// The tree and its findings, or the error.
std::string built(Build build, const std::string& text) {
  DocumentState document;
  document.file = "f.json";
  try {
    build(document, text);
  } catch (const InputError& error) {
    return error.what();
  }
  std::string all = shown(*document.root);
  for (const Diagnostic& each : document.findings)
    all += std::to_string(each.line) + ":" + std::to_string(each.column) + " " + each.message + "\n";
  return all;
}

nlohmann::ordered_json drawn(std::mt19937& random, int depth) {
  const auto number = [&](unsigned below) { return random() % below; };
  switch (number(depth > 3 ? 5 : 8)) {
    case 0:
      return static_cast<std::int64_t>(random()) - 2'000'000'000;
    case 1:
      return static_cast<double>(random()) * 1e-7;
    case 2:
      return number(2) == 0;
    case 3:
      return std::string(number(4), 'x') + ": #[,";
    case 4:
      return std::string("a\\b\"c\nd\te/").substr(number(8));
    case 5: {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (auto i = number(4); i-- > 0;) list.push_back(drawn(random, depth + 1));
      return list;
    }
    default: {
      nlohmann::ordered_json map = nlohmann::ordered_json::object();
      for (auto i = number(5); i-- > 0;) map["k" + std::to_string(number(30))] = drawn(random, depth + 1);
      return map;
    }
  }
}

}  // namespace

TEST_CASE("files of JSON give the tree that yaml-cpp finds in them") {
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(TILESCOPE_SOURCE_DIR) + "/kernels")) {
    const std::string file = entry.path().string();
    if (!file.ends_with(".json")) continue;
    INFO(file);
    const std::string text = read_file(file);
    CHECK(built(build_tree, text) == built(build_yaml, text));
    ++files;
  }
  CHECK(files > 20);
}

TEST_CASE("drawn JSON, changed at random, gives the tree or the message that yaml-cpp gives") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  for (int i = 0; i < 1500; ++i) {
    nlohmann::ordered_json json{{"first", drawn(random, 0)}, {"second", drawn(random, 0)}};
    std::string text = json.dump(static_cast<int>(random() % 4)) + (random() % 2 == 0 ? "\n" : "");
    static const std::string changes = "{}[],:\" 0a-.e\n#&*!|>'%@`k1";
    for (auto n = random() % 3; n-- > 0;) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) text[at] = changes[random() % changes.size()];
      else text.insert(at, 1, changes[random() % changes.size()]);
    }
    INFO(text);
    CHECK(built(build_tree, text) == built(build_yaml, text));
  }
}

}  // namespace json_tree_test
