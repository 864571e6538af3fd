#include "validate/capture/inject/range_stack.h"

#include "records/capture/trace_format.h"
#include "validate/capture/inject/hash.h"

namespace tilescope::capture {

int RangeStack::push(std::string_view name) {
  if (ranges_.size() == most_depth) return static_cast<int>(most_depth) + deeper_++;
  name = name.substr(0, most_name);
  std::uint64_t key = hash_of(name, mixed(this->key(), ranges_.size() + 1));
  if (key == 0) key = 1;
  names_ += name;
  ranges_.push_back({key, names_.size()});
  return static_cast<int>(ranges_.size()) - 1;
}

int RangeStack::pop() {
  if (deeper_ > 0) return static_cast<int>(most_depth) + --deeper_;
  if (ranges_.empty()) return -2;
  ranges_.pop_back();
  names_.resize(ranges_.empty() ? 0 : ranges_.back().end);
  return static_cast<int>(ranges_.size());
}

std::string RangeStack::path() const {
  std::string path;
  std::size_t begin = 0;
  for (const Range& range : ranges_) {
    if (&range != ranges_.data()) path += range_separator;
    path.append(names_, begin, range.end - begin);
    begin = range.end;
  }
  return path;
}

}  // namespace tilescope::capture
