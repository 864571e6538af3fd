// A small XML checker for tests: tags nest, attributes are quoted and appear once, references are known, characters
// are allowed. It does not support document types.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::test {

class XmlJudge {
 public:
  explicit XmlJudge(std::string_view text) : text_(text) {}

  std::string finding() {
    while (at_ < text_.size() && finding_.empty()) text_[at_] == '<' ? tag() : character();
    if (finding_.empty() && !open_.empty()) fail("is never closed: " + open_.back());
    if (finding_.empty() && roots_ != 1) fail("has not one root");
    return finding_;
  }

 private:
  void fail(const std::string& what) {
    if (finding_.empty()) finding_ = what + " at " + std::to_string(at_) + ": " + std::string(text_.substr(at_, 40));
  }

  void character() {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c == '&') return reference();
    if (c < 0x20 && c != '\n' && c != '\t') fail("control character");
    if (c == '>') fail("bare '>'");
    if (open_.empty() && c != '\n' && c != ' ') fail("text outside of the root");
    ++at_;
  }

  void reference() {
    for (const std::string_view known : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
      if (text_.substr(at_, known.size()) == known) return void(at_ += known.size());
    fail("unknown reference");
  }

  std::string name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
      ++at_;
    if (at_ == from) fail("no name");
    return std::string(text_.substr(from, at_ - from));
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void attribute(std::set<std::string>& seen) {
    while (take(' ')) {
    }
    if (text_[at_] == '>' || text_[at_] == '/') return;
    if (!seen.insert(name()).second) return fail("an attribute twice");
    if (!take('=') || !take('"')) return fail("an attribute without a quoted value");
    while (at_ < text_.size() && text_[at_] != '"' && finding_.empty()) {
      if (text_[at_] == '<') return fail("'<' in a value");
      character();
    }
    if (!take('"')) fail("a value without an end");
  }

  void tag() {
    ++at_;
    if (take('/')) {
      const std::string closed = name();
      if (open_.empty() || open_.back() != closed) return fail("closes what is not open: " + closed);
      open_.pop_back();
      if (!take('>')) fail("a closing tag without an end");
      return;
    }
    if (open_.empty()) ++roots_;
    open_.push_back(name());
    std::set<std::string> seen;
    while (at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/' && finding_.empty()) attribute(seen);
    if (take('/')) open_.pop_back();
    if (!take('>')) fail("a tag without an end");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int roots_ = 0;
  std::vector<std::string> open_;
  std::string finding_;
};

// Empty where the text is well-formed.
inline std::string xml_finding(std::string_view text) { return XmlJudge(text).finding(); }

}  // namespace tilescope::test
