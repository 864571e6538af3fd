// The reader's own document tree: the events of yaml-cpp, with a position for every node and without expansion or
// merging. Private to src/config.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tilescope::detail {

enum class NodeKind { missing, empty, scalar, map, list };

struct DocumentState;

struct NodeState {
  DocumentState* document = nullptr;
  NodeState* parent = nullptr;
  NodeKind kind = NodeKind::missing;
  bool quoted = false;               // of a scalar: written in quotes or as a block, so never a number
  bool refused = false;              // already reported (an alias, a missing value): further reads report nothing
  int line = 0, column = 0;          // where the value starts, from 1
  int key_line = 0, key_column = 0;  // where its key starts; 0 outside maps
  std::string key;                   // in the parent map
  std::size_t index = 0;             // in the parent list
  std::size_t number = 0;            // among the document's nodes
  std::string scalar;
  std::vector<NodeState*> children;  // of a map or list, in file order, duplicates left out
};

struct DocumentState {
  DocumentState() = default;
  DocumentState(const DocumentState& other);
  DocumentState& operator=(const DocumentState&) = delete;

  std::string file;
  std::deque<NodeState> nodes;  // owns every node, addresses stay valid
  NodeState* root = nullptr;
  std::vector<Diagnostic> findings;
  bool more_findings = false;  // the limit was reached, further findings are dropped

  NodeState& add(NodeState* parent);
  void report(int line, int column, const std::string& path, const std::string& message);
};

std::string path_of(const NodeState& node);

// Parses one YAML document. Recoverable findings (duplicate keys, anchors, tags, ...) go to `document.findings`.
// Throws InputError when the text is not YAML, has no or several documents, or nests too deeply.
void build_tree(DocumentState& document, std::string_view text);
// The same by yaml-cpp, also where the text is JSON.
void build_yaml(DocumentState& document, std::string_view text);

// The document of a file with this text: a copy of the one that was parsed before, as long as the text is the same. One
// command reads the same schedules, diagrams and profiles many times, and yaml-cpp takes milliseconds for each.
std::shared_ptr<DocumentState> read_tree(const std::string& file, std::string_view text);

}  // namespace tilescope::detail
