#include <map>
#include <mutex>
#include <optional>

#include "config/tree.h"

namespace tilescope::detail {
namespace {

constexpr std::size_t most_kept_bytes = 8 << 20;  // of texts; then all are forgotten

struct Parsed {
  std::string text;
  std::optional<DocumentState> document;  // from its second reading on: most files are read once
};

}  // namespace

std::shared_ptr<DocumentState> read_tree(const std::string& file, std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, Parsed> kept;
  static std::size_t kept_bytes = 0;
  bool again = false;
  {
    const std::lock_guard lock(mutex);
    const auto found = kept.find(file);
    again = found != kept.end() && found->second.text == text;
    if (again && found->second.document) return std::make_shared<DocumentState>(*found->second.document);
  }
  const auto document = std::make_shared<DocumentState>();
  document->file = file;
  build_tree(*document, text);
  const std::lock_guard lock(mutex);
  if (const auto old = kept.find(file); old != kept.end()) kept_bytes -= old->second.text.size(), kept.erase(old);
  if (kept_bytes + text.size() > most_kept_bytes) kept.clear(), kept_bytes = 0;
  Parsed& parsed = kept[file];
  parsed.text = text, kept_bytes += text.size();
  if (again) parsed.document.emplace(*document);
  return document;
}

}  // namespace tilescope::detail
