// The one strict YAML reader. Nothing else in the project includes yaml-cpp.
//
//   Document document = Document::load("hardware/h200_sxm.yaml");
//   Node root = document.root();
//   std::string id = root["id"].text();
//   std::int64_t units = root["compute"]["units"].integer(1, 100000);
//   root.only({"schema", "id", "compute"});       // an unknown key becomes a diagnostic with did-you-mean
//   document.finish();                            // throws InputError with *all* findings, or returns
//
// A wrong or missing value records a diagnostic and yields a placeholder (0, ""), so that one pass reports all errors
// of a file. Closed yaml-cpp 0.7 traps: duplicate keys, merge keys, aliases and anchors, tags, tabs, `010`, `.nan`,
// `yes`, documents after the first, files over 1 MiB, nesting deeper than 64, quotes that are never closed, and plain
// values that run on over the next line. Only src/config/tree.cpp includes yaml-cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tilescope {

namespace detail {
struct DocumentState;
struct NodeState;
}  // namespace detail

class Node {
 public:
  bool exists() const;
  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;

  Node operator[](std::string_view key) const;                // required: absent -> diagnostic "is missing"
  std::optional<Node> find(std::string_view key) const;       // optional: absent -> nullopt
  std::vector<std::pair<std::string, Node>> entries() const;  // of a map, in file order; not a map -> diagnostic
  std::vector<Node> items() const;                            // of a list, in file order; not a list -> diagnostic
  void only(std::initializer_list<std::string_view> keys) const;
  void only(const std::vector<std::string>& keys) const;

  std::string text() const;  // non-empty scalar
  std::string one_of(const std::vector<std::string>& choices) const;
  std::int64_t integer(std::int64_t least,
                       std::int64_t most) const;  // plain decimal digits, no sign prefix '+', no leading 0
  std::int64_t count(std::int64_t least, std::int64_t most) const;  // the same, or "32k", "1m" of 1024
  double number(double least, double most) const;                   // finite
  bool boolean() const;                                             // exactly true or false
  double quantity(Dimension dimension) const;                       // "4800 GB/s" in base units

  // Records a finding about this node: "file:line:col: error: path: message".
  void report(const std::string& message) const;
  std::string path() const;

 private:
  friend class Document;
  explicit Node(std::shared_ptr<detail::NodeState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::NodeState> state_;
};

class Document {
 public:
  static Document load(const std::filesystem::path& file);                     // InputError when it cannot be parsed
  static Document parse(std::string_view text, const std::string& file_name);  // the same from memory
  Node root() const;
  // Checks the `schema` key first: another value is a finding that names the expected one.
  void expect_schema(std::string_view schema) const;
  bool clean() const;   // no finding so far
  void finish() const;  // throws InputError if there is any finding

 private:
  std::shared_ptr<detail::DocumentState> state_;
};

}  // namespace tilescope
