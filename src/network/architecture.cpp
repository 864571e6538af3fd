#include "network/architecture.h"

#include <algorithm>

#include "base/contains.h"
#include "base/text.h"
#include "config/reader.h"

namespace tilescope {
namespace {

const std::vector<std::string> biased_parts{"q", "k", "v", "o", "feed_forward", "experts", "router", "head", "norm"};

std::vector<std::string> texts_of(const Node& list) {
  std::vector<std::string> texts;
  for (const Node& item : list.items()) texts.push_back(item.text());
  return texts;
}

bool flag(const Node& node, const char* key) {
  const auto given = node.find(key);
  return given && given->boolean();
}

Architecture read_architecture(const std::string& name, const Node& node,
                               const std::map<std::string, std::vector<std::string>>& keys) {
  node.only({"feed_forward", "norms", "biases", "query_key_norm", "learned_positions", "sinks", "tied", "windows",
             "experts_every_layer", "defaults"});
  Architecture read{.name = name};
  read.gated = node["feed_forward"].one_of({"gated", "plain"}) == "gated";
  if (const auto norms = node.find("norms")) read.norms = norms->integer(0, 16);
  if (const auto biases = node.find("biases"))
    for (const Node& part : biases->items()) read.biases.insert(part.one_of(biased_parts));
  read.query_key_norm = flag(node, "query_key_norm"), read.learned_positions = flag(node, "learned_positions");
  read.sinks = flag(node, "sinks"), read.tied = flag(node, "tied");
  read.experts_every_layer = flag(node, "experts_every_layer");
  if (const auto windows = node.find("windows"))
    read.windows = parse_kind<WindowRule>(windows->one_of(kind_names<WindowRule>())).value_or(WindowRule::none);
  if (const auto defaults = node.find("defaults"))
    for (const auto& [quantity, value] : defaults->entries()) {
      if (!keys.contains(quantity)) value.report("is not a quantity of `keys`");
      read.defaults[quantity] = value.integer(0, std::int64_t{1} << 40);
    }
  return read;
}

}  // namespace

std::vector<std::string> Architectures::names() const {
  std::vector<std::string> names;
  for (const Architecture& each : list) names.push_back(each.name);
  return names;
}

const Architecture* Architectures::find(const std::string& name) const {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.name == name; });
  return found == list.end() ? nullptr : &*found;
}

Architectures load_architectures(const std::filesystem::path& file) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/architectures/1");
  const Node root = document.root();
  root.only({"schema", "source", "keys", "without_effect", "architectures"});
  root["source"].text();
  Architectures read;
  for (const auto& [quantity, names] : root["keys"].entries()) read.keys[quantity] = texts_of(names);
  if (const auto keys = root.find("without_effect")) read.without_effect = texts_of(*keys);
  for (const auto& [name, node] : root["architectures"].entries())
    read.list.push_back(read_architecture(name, node, read.keys));
  document.finish();
  return read;
}

}  // namespace tilescope
