#include "import/operators.h"

#include <algorithm>

#include "config/read_kind.h"
#include "config/reader.h"

namespace tilescope::imported {
namespace {

std::size_t position(const Node& node) { return static_cast<std::size_t>(node.integer(0, 63)); }

std::vector<std::size_t> positions(const Node& node, const char* key) {
  std::vector<std::size_t> all;
  if (const auto list = node.find(key))
    for (const Node& item : list->items()) all.push_back(position(item));
  return all;
}

AttentionOperator read_operator(const Node& node) {
  node.only(
      {"name", "pass", "layout", "query", "key", "value", "causal", "zero", "absent", "open", "kernel", "launches"});
  AttentionOperator found;
  found.name = node["name"].text();
  if (const auto pass = find_kind<Pass>(node["pass"])) found.pass = *pass;
  if (const auto layout = find_kind<TensorLayout>(node["layout"])) found.layout = *layout;
  found.query = position(node["query"]), found.key = position(node["key"]), found.value = position(node["value"]);
  if (const auto causal = node.find("causal")) found.causal = position(*causal);
  found.zero = positions(node, "zero"), found.absent = positions(node, "absent");
  found.open = positions(node, "open");
  if (const auto kernel = node.find("kernel")) found.kernel = kernel->text();
  if (const auto launches = node.find("launches")) found.launches = launches->text();
  return found;
}

}  // namespace

const AttentionOperator* OperatorTable::find(const std::string& name) const {
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const AttentionOperator& each) { return each.name == name; });
  return found == operators.end() ? nullptr : &*found;
}

std::optional<std::size_t> OperatorTable::rank(const std::string& name) const {
  const AttentionOperator* found = find(name);
  return found ? std::optional(static_cast<std::size_t>(found - operators.data())) : std::nullopt;
}

OperatorTable load_operators(const std::filesystem::path& file) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/operators/1");
  const Node root = document.root();
  root.only({"schema", "aside", "operators"});
  OperatorTable table;
  for (const Node& item : root["aside"].items()) table.aside.push_back(item.text());
  for (const Node& item : root["operators"].items()) table.operators.push_back(read_operator(item));
  document.finish();
  return table;
}

}  // namespace tilescope::imported
