#include "validate/capture/inject/range_stack.h"

#include <map>
#include <random>

#include "base/test_seed.h"
#include "doctest/doctest.h"
#include "records/capture/trace_format.h"

namespace tilescope::capture {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string path;
  for (std::size_t i = 0; i < names.size() && i < RangeStack::most_depth; ++i)
    path += (i > 0 ? std::string(1, range_separator) : std::string()) + names[i].substr(0, RangeStack::most_name);
  return path;
}

}  // namespace

TEST_CASE("a stack of ranges has the path and the depth of a plain list, and one key for each path") {
  std::mt19937_64 random(test_seed() + 20);
  RangeStack stack;
  std::vector<std::string> names;
  std::map<std::uint64_t, std::string> paths;
  CHECK(stack.key() == 0);
  CHECK(stack.pop() < 0);
  for (int step = 0; step < 20000; ++step) {
    // Deep and shallow by turns.
    const bool push = names.empty() || random() % 100 < (step / 500 % 2 == 0 ? 60U : 40U);
    if (push) {
      names.emplace_back(random() % 50 == 0 ? 300 : random() % 3, static_cast<char>('a' + random() % 3));
      CHECK(stack.push(names.back()) == static_cast<int>(names.size()) - 1);
    } else {
      names.pop_back();
      CHECK(stack.pop() == static_cast<int>(names.size()));
    }
    CHECK(stack.path() == joined(names));
    CHECK((stack.key() == 0) == names.empty());
    if (names.empty()) continue;
    // A path is told with its depth: an empty name adds a level.
    const std::string path = std::to_string(std::min(names.size(), RangeStack::most_depth)) + joined(names);
    CHECK(paths.emplace(stack.key(), path).first->second == path);
  }
}

}  // namespace tilescope::capture
