#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/contains.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "config/tree.h"

namespace tilescope {
namespace {

using detail::NodeKind;
using detail::NodeState;

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;

std::string found(const NodeState& node) {
  switch (node.kind) {
    case NodeKind::map:
      return "a map";
    case NodeKind::list:
      return "a list";
    case NodeKind::scalar:
      return node.quoted ? "the text " + shown_text(node.scalar) : shown_text(node.scalar);
    default:
      return "nothing";
  }
}

void report_at(const NodeState& node, const std::string& message) {
  if (node.refused || node.kind == NodeKind::missing) return;
  node.document->report(node.line, node.column, path_of(node), message);
}

void expected(const NodeState& node, const std::string& what) {
  report_at(node, fmt::format("expected {}, found {}", what, found(node)));
}

NodeState* child_of(const NodeState& map, std::string_view key) {
  const auto child =
      std::find_if(map.children.begin(), map.children.end(), [&](const NodeState* node) { return node->key == key; });
  return child == map.children.end() ? nullptr : *child;
}

// The part of `text` that a number may occupy: an unquoted scalar; nullopt (and no finding) for anything else.
std::optional<std::string_view> plain(const NodeState& node) {
  if (node.kind != NodeKind::scalar || node.quoted) return std::nullopt;
  return node.scalar;
}

template <class T>
std::string range_text(T least, T most) {
  const bool open_below = least == std::numeric_limits<T>::lowest();
  const bool open_above = most == std::numeric_limits<T>::max() || std::isinf(static_cast<double>(most));
  if (!open_below && !open_above) return fmt::format(" from {} to {}", least, most);
  if (!open_below) return fmt::format(" of at least {}", least);
  return open_above ? std::string() : fmt::format(" of at most {}", most);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits[0] == '0' && text.size() > 1)) return std::nullopt;  // "010", "-0"
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool Node::exists() const { return state_->kind != NodeKind::missing; }
bool Node::is_map() const { return state_->kind == NodeKind::map; }
bool Node::is_list() const { return state_->kind == NodeKind::list; }
bool Node::is_scalar() const { return state_->kind == NodeKind::scalar; }

Node Node::operator[](std::string_view key) const {
  const auto wrap = [&](NodeState* node) { return Node(std::shared_ptr<NodeState>(state_, node)); };
  if (!is_map()) {
    expected(*state_, "a map");
  } else if (NodeState* child = child_of(*state_, key)) {
    return wrap(child);
  }
  NodeState& absent = state_->document->add(state_.get());
  absent.key = key;
  absent.refused = true;
  if (is_map()) {
    // The key that opens the map is a better place than the map's first entry, one line further down.
    const bool has_key = state_->key_line > 0;
    state_->document->report(has_key ? state_->key_line : state_->line, has_key ? state_->key_column : state_->column,
                             path_of(absent), "is missing; add this key");
  }
  return wrap(&absent);
}

std::optional<Node> Node::find(std::string_view key) const {
  if (!is_map()) {
    expected(*state_, "a map");
    return std::nullopt;
  }
  NodeState* child = child_of(*state_, key);
  if (child == nullptr) return std::nullopt;
  return Node(std::shared_ptr<NodeState>(state_, child));
}

std::vector<std::pair<std::string, Node>> Node::entries() const {
  std::vector<std::pair<std::string, Node>> pairs;
  if (!is_map()) expected(*state_, "a map");
  else
    for (NodeState* child : state_->children)
      pairs.emplace_back(child->key, Node(std::shared_ptr<NodeState>(state_, child)));
  return pairs;
}

std::vector<Node> Node::items() const {
  std::vector<Node> nodes;
  if (!is_list()) expected(*state_, "a list");
  else
    for (NodeState* child : state_->children) nodes.push_back(Node(std::shared_ptr<NodeState>(state_, child)));
  return nodes;
}

void Node::only(std::initializer_list<std::string_view> keys) const {
  only(std::vector<std::string>(keys.begin(), keys.end()));
}

void Node::only(const std::vector<std::string>& known) const {
  if (!is_map()) return expected(*state_, "a map");
  for (const NodeState* child : state_->children) {
    if (contains(known, child->key)) continue;
    if (state_->document->more_findings) return;
    state_->document->report(child->key_line, child->key_column, path_of(*child),
                             "unknown key" + did_you_mean(child->key, known));
  }
}

std::string Node::text() const {
  if (is_scalar() && !state_->scalar.empty()) return state_->scalar;
  expected(*state_, "text");
  return {};
}

std::string Node::one_of(const std::vector<std::string>& choices) const {
  if (is_scalar() && contains(choices, state_->scalar)) return state_->scalar;
  const auto near = is_scalar() ? nearest(state_->scalar, choices) : std::nullopt;
  report_at(*state_, fmt::format("expected one of {}, found {}{}", join(choices, ", "), found(*state_),
                                 near ? "; did you mean '" + *near + "'?" : ""));
  return choices.empty() ? std::string() : choices.front();
}

std::int64_t Node::integer(std::int64_t least, std::int64_t most) const {
  const auto digits = plain(*state_);
  const auto value = digits ? parse_integer(*digits) : std::nullopt;
  if (value && *value >= least && *value <= most) return *value;
  expected(*state_, "an integer" + range_text(least, most));
  return std::max<std::int64_t>(least, 0);
}

std::int64_t Node::count(std::int64_t least, std::int64_t most) const {
  const auto digits = plain(*state_);
  const auto value = digits ? parse_count(*digits) : std::nullopt;
  if (value && *value >= least && *value <= most) return *value;
  expected(*state_, "a count such as 4096 or 4k" + range_text(least, most));
  return std::max<std::int64_t>(least, 0);
}

double Node::number(double least, double most) const {
  const auto digits = plain(*state_);
  const auto value = digits ? parse_decimal(*digits) : std::nullopt;
  if (value && *value >= least && *value <= most) return *value;
  expected(*state_, "a number" + range_text(least, most));
  return std::max(least, 0.0);
}

bool Node::boolean() const {
  const auto word = plain(*state_);
  if (word == "true" || word == "false") return *word == "true";
  expected(*state_, "true or false");
  return false;
}

double Node::quantity(Dimension dimension) const {
  const ParsedQuantity parsed = parse_quantity(is_scalar() ? state_->scalar : std::string(), dimension);
  if (is_scalar() && parsed.value) return *parsed.value;
  std::string problem = parsed.problem;
  if (!is_scalar()) problem = problem.substr(0, problem.rfind(", found ")) + ", found " + found(*state_);
  report_at(*state_, problem);
  return 1;  // positive, so that a placeholder never divides by zero
}

void Node::report(const std::string& message) const { report_at(*state_, message); }
std::string Node::path() const { return path_of(*state_); }

Document Document::load(const std::filesystem::path& file) {
  return parse(read_file(file, max_file_bytes), file.string());
}

Document Document::parse(std::string_view text, const std::string& file_name) {
  if (text.size() > max_file_bytes) {
    throw InputError(Diagnostic{.file = file_name, .message = "is larger than the 1048576 bytes a YAML file may have"});
  }
  Document document;
  document.state_ = detail::read_tree(file_name, text);
  return document;
}

Node Document::root() const { return Node(std::shared_ptr<NodeState>(state_, state_->root)); }

void Document::expect_schema(std::string_view schema) const {
  const Node given = root()["schema"];
  if (given.is_scalar() && given.text() == schema) return;
  expected(*given.state_, fmt::format("'{}'", schema));
}

bool Document::clean() const { return state_->findings.empty(); }

void Document::finish() const {
  if (clean()) return;
  std::vector<Diagnostic> findings = state_->findings;
  std::stable_sort(findings.begin(), findings.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  if (state_->more_findings) {
    findings.push_back(Diagnostic{.file = state_->file, .message = "has more findings, which are not shown"});
  }
  throw InputError(std::move(findings));
}

}  // namespace tilescope
