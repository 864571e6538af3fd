// The only file that includes yaml-cpp. Its event interface is used, not its Node: events show duplicate keys, anchors,
// aliases, tags and every position, and nesting can be refused before memory is allocated.
#include "config/tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/text.h"

namespace tilescope::detail {
namespace {

constexpr std::size_t max_depth = 64;
constexpr std::size_t max_findings = 100;
// Appended as a comment: yaml-cpp 0.7 accepts a quote that is never closed, which then swallows this line.
constexpr std::string_view end_marker = "#end-of-tilescope-document\n";

struct Frame {
  NodeState* node = nullptr;
  NodeState* pending = nullptr;  // of a map: the entry whose key was read and whose value is next
  std::set<std::string, std::less<>> keys{};
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(DocumentState& document, std::string_view text) : document_(document) {
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      lines_.push_back(text.substr(start, end - start));
      start = end + 1;
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "a second document starts here; keep one document in a file");
  }
  void OnDocumentEnd() override {}

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    report(mark, fmt::format("anchor {} is not allowed; write each value out", shown_text("&" + name)));
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (expects_key()) fail(mark, "a key must be text, found nothing");
    NodeState& node = place(mark);
    node.kind = NodeKind::empty;
    if (node.key_line > 0) {  // yaml-cpp reports the position of the next token, which may be lines away
      node.line = node.key_line;
      node.column = node.key_column;
    }
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    if (expects_key()) fail(mark, "a key must be text, found an alias");
    NodeState& node = place(mark);
    node.kind = NodeKind::empty;
    node.refused = true;
    report(mark, "an alias is not allowed; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    check_tag(mark, tag);
    check_scalar(mark, value, tag == "?");
    if (expects_key()) return read_key(mark, value, tag == "?");
    NodeState& node = place(mark);
    node.kind = NodeKind::scalar;
    node.quoted = tag != "?";
    node.scalar = value;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, NodeKind::list);
  }
  void OnSequenceEnd() override { frames_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, tag, NodeKind::map);
  }
  void OnMapEnd() override { frames_.pop_back(); }

 private:
  bool expects_key() const {
    return !frames_.empty() && frames_.back().node->kind == NodeKind::map && frames_.back().pending == nullptr;
  }

  // The node that the next value fills: the root, the pending map entry, or a new list item.
  NodeState& place(const YAML::Mark& mark) {
    NodeState* node = nullptr;
    if (frames_.empty()) {
      node = document_.root = &document_.add(nullptr);
    } else if (Frame& frame = frames_.back(); frame.node->kind == NodeKind::map) {
      node = std::exchange(frame.pending, nullptr);
    } else {
      node = &document_.add(frame.node);
      node->index = frame.node->children.size();
      frame.node->children.push_back(node);
    }
    node->line = mark.line + 1;
    node->column = mark.column + 1;
    return *node;
  }

  void read_key(const YAML::Mark& mark, const std::string& key, bool plain) {
    Frame& frame = frames_.back();
    NodeState& entry = document_.add(frame.node);
    entry.key = key;
    entry.key_line = mark.line + 1;
    entry.key_column = mark.column + 1;
    frame.pending = &entry;
    if (plain && key == "<<") {
      report(mark, "a merge key '<<' is not allowed; write the keys out");
    } else if (key.empty()) {
      report(mark, "a key must not be empty");
    } else if (!frame.keys.insert(key).second) {
      if (document_.more_findings) return;
      const auto first = std::find_if(frame.node->children.begin(), frame.node->children.end(),
                                      [&](const NodeState* child) { return child->key == key; });
      document_.report(mark.line + 1, mark.column + 1, path_of(entry),
                       fmt::format("duplicate key, first given on line {}; keep one", (*first)->key_line));
    } else {
      frame.node->children.push_back(&entry);  // a rejected entry is parsed to its end but not attached
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, NodeKind kind) {
    if (frames_.size() >= max_depth) fail(mark, fmt::format("nested deeper than {} levels", max_depth));
    check_tag(mark, tag);
    if (expects_key()) fail(mark, "a key must be text, found a map or list");
    NodeState& node = place(mark);
    node.kind = kind;
    frames_.push_back(Frame{.node = &node});
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    report(mark, fmt::format("tag {} is not allowed; write the plain value", shown_text(tag)));
  }
  void check_scalar(const YAML::Mark& mark, const std::string& value, bool plain) {
    if (value.find(end_marker.substr(0, end_marker.size() - 1)) != std::string::npos) {
      fail(mark, "is not valid YAML: this quote is never closed");
    }
    const bool control = std::any_of(value.begin(), value.end(), [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F;
    });
    if (control) report(mark, "holds a control character; remove the escape");
    // A plain value that continues on the next line is usually an indentation error.
    if (plain && !stands_at(mark, value)) {
      report(mark, fmt::format("{} runs over several lines; use quotes, or '>-' before it", shown_text(value)));
    }
  }
  // Whether the file has `value` at `mark`, all on one line; a byte order mark shifts the column by three.
  bool stands_at(const YAML::Mark& mark, const std::string& value) const {
    const auto line = static_cast<std::size_t>(mark.line);
    const auto column = static_cast<std::size_t>(mark.column);
    if (line >= lines_.size() || column > lines_[line].size()) return value.empty();
    return lines_[line].substr(column, value.size() + 3).find(value) != std::string_view::npos;
  }
  void report(const YAML::Mark& mark, const std::string& message) {
    document_.report(mark.line + 1, mark.column + 1, "", message);
  }
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const {
    throw InputError(Diagnostic{document_.file, mark.line + 1, mark.column + 1, "", message});
  }

  DocumentState& document_;
  std::vector<std::string_view> lines_;
  std::vector<Frame> frames_;
  int documents_ = 0;
};

// Rejects characters that yaml-cpp would replace, skip or misread: bytes that are not text, control characters, tabs.
void check_characters(const DocumentState& document, std::string_view text) {
  int line = 1;
  int column = 1;
  for (std::size_t i = 0; i < text.size(); ++column) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    const char* problem = nullptr;
    if (length == 0) problem = "is not UTF-8 text; expected a YAML file";
    else if (byte == '\t') problem = "holds a tab; indent and separate with spaces";
    else if ((byte < 0x20 && byte != '\n' && byte != '\r') || byte == 0x7F)
      problem = "holds a control character; expected a YAML text file";
    if (problem != nullptr) throw InputError(Diagnostic{document.file, line, column, "", problem});
    if (byte == '\n') ++line, column = 0;
    i += length;
  }
}

// Characters of a text, counted as they are read.
struct CountedCharacter {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  std::size_t* read = nullptr;

  reference operator*() const { return *at; }
  CountedCharacter& operator++() {
    ++at, ++*read;
    return *this;
  }
  CountedCharacter operator++(int) {
    const CountedCharacter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountedCharacter& other) const { return at == other.at; }
};

// What nlohmann's parser finds in a text, as the events that yaml-cpp would send. An event is refused where the two
// might differ.
class JsonEvents {
 public:
  JsonEvents(std::string_view text, TreeBuilder& builder) : text_(text), builder_(builder) {}

  std::size_t read = 0;  // characters

  bool null() { return false; }
  bool binary(const nlohmann::json::binary_t&) { return false; }
  bool boolean(bool value) { return plain(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return plain(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return plain(std::to_string(value)); }
  bool number_float(double, const std::string& text) { return plain(text); }
  bool string(const std::string& value) {
    builder_.OnScalar(next(), "!", 0, value);
    last_end_ = read;
    return true;
  }
  bool key(const std::string& value) {  // YAML wants its colon on the same line
    const std::size_t behind = text_.find_first_not_of(' ', read);
    return behind != text_.npos && text_[behind] == ':' && string(value);
  }
  bool start_object(std::size_t) {
    builder_.OnMapStart(next(), "?", 0, YAML::EmitterStyle::Flow);
    last_end_ = read;
    return true;
  }
  bool start_array(std::size_t) {
    builder_.OnSequenceStart(next(), "?", 0, YAML::EmitterStyle::Flow);
    last_end_ = read;
    return true;
  }
  bool end_object() {
    builder_.OnMapEnd();
    last_end_ = read;
    return true;
  }
  bool end_array() {
    builder_.OnSequenceEnd();
    last_end_ = read;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) { return false; }

 private:
  // Where the next token starts.
  YAML::Mark next() {
    const std::size_t place = std::min(text_.find_first_not_of(" \n\r,:", last_end_), text_.size());
    for (; at_ < place; ++at_)
      if (text_[at_] == '\n') ++line_, line_start_ = at_ + 1;
    YAML::Mark mark;
    mark.pos = static_cast<int>(place), mark.line = line_, mark.column = static_cast<int>(place - line_start_);
    return mark;
  }
  bool plain(const std::string& text) {
    const YAML::Mark mark = next();
    if (text_.substr(at_, text.size()) != text) return false;
    builder_.OnScalar(mark, "?", 0, text);
    last_end_ = at_ + text.size();
    return true;
  }

  std::string_view text_;
  TreeBuilder& builder_;
  std::size_t last_end_ = 0;  // of the token before
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 0;
};

// Builds the tree of a JSON text, which is also YAML, in a twentieth of yaml-cpp's time. False: the text is no JSON or
// holds what the two may read differently, and the document is empty as before.
bool build_json(DocumentState& document, std::string_view text) {
  const auto wide = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (!text.starts_with('{') || text.find("\\u") != text.npos || std::any_of(text.begin(), text.end(), wide))
    return false;
  TreeBuilder builder(document, text);
  JsonEvents events(text, builder);
  bool built = false;
  try {
    built = nlohmann::json::sax_parse(CountedCharacter{text.data(), &events.read},
                                      CountedCharacter{text.data() + text.size(), &events.read}, &events);
  } catch (const InputError&) {  // yaml-cpp comes to the same finding
  }
  if (!built)
    document.nodes.clear(), document.findings.clear(), document.root = nullptr, document.more_findings = false;
  return built;
}

}  // namespace

NodeState& DocumentState::add(NodeState* parent) {
  NodeState& node = nodes.emplace_back();
  node.document = this;
  node.parent = parent;
  node.number = nodes.size() - 1;
  return node;
}

DocumentState::DocumentState(const DocumentState& other)
    : file(other.file), nodes(other.nodes), findings(other.findings), more_findings(other.more_findings) {
  const auto own = [&](const NodeState* node) { return node == nullptr ? nullptr : &nodes[node->number]; };
  root = own(other.root);
  for (NodeState& node : nodes) {
    node.document = this;
    node.parent = own(node.parent);
    for (NodeState*& child : node.children) child = own(child);
  }
}

void DocumentState::report(int line, int column, const std::string& path, const std::string& message) {
  if (findings.size() >= max_findings) {
    more_findings = true;
    return;
  }
  const bool known = std::any_of(findings.begin(), findings.end(), [&](const Diagnostic& old) {
    return old.line == line && old.column == column && old.path == path && old.message == message;
  });
  if (!known) findings.push_back(Diagnostic{file, line, column, path, message});
}

std::string path_of(const NodeState& node) {
  if (node.parent == nullptr) return {};
  const std::string outer = path_of(*node.parent);
  if (node.parent->kind == NodeKind::list) return fmt::format("{}[{}]", outer, node.index);
  const std::string shown = shown_text(node.key);  // quoted; keep the quotes only where they help
  const bool simple = shown.size() == node.key.size() + 2 && node.key.find_first_of(" .[]") == std::string::npos;
  return outer + (outer.empty() ? "" : ".") + (simple ? node.key : shown);
}

void build_tree(DocumentState& document, std::string_view text) {
  check_characters(document, text);
  if (build_json(document, text)) return;
  build_yaml(document, text);
}

void build_yaml(DocumentState& document, std::string_view text) {
  std::string marked(text);
  if (!marked.empty() && marked.back() != '\n') marked += '\n';
  std::istringstream stream(marked.append(end_marker));
  TreeBuilder builder(document, text);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& problem) {
    const int line = problem.mark.is_null() ? 0 : problem.mark.line + 1;
    const int column = problem.mark.is_null() ? 0 : problem.mark.column + 1;
    throw InputError(Diagnostic{document.file, line, column, "", "is not valid YAML: " + problem.msg});
  }
  if (document.root == nullptr || document.root->kind == NodeKind::empty) {
    throw InputError(Diagnostic{document.file, 0, 0, "", "is empty; expected a YAML document"});
  }
}

}  // namespace tilescope::detail
