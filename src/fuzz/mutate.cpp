#include "fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <random>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tilescope::fuzz {
namespace {

// The edges of integers, of doubles, and of what readers allow.
constexpr std::array<std::string_view, 28> numbers{"0",
                                                   "-1",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "16",
                                                   "64",
                                                   "1k",
                                                   "65536",
                                                   "2147483647",
                                                   "2147483648",
                                                   "4294967296",
                                                   "0.5",
                                                   "1e-300",
                                                   "1e308",
                                                   "nan",
                                                   "inf",
                                                   "-0.0",
                                                   "1e18",
                                                   "-2147483648",
                                                   "1099511627776",
                                                   "281474976710656",
                                                   "4611686018427387904",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "18446744073709551615",
                                                   "100000000"};

class Mutation {
 public:
  Mutation(std::string text, unsigned seed) : text_(std::move(text)), random_(seed) {}

  std::string run() {
    for (std::size_t left = 1 + below(4); left > 0; --left) below(3) == 0 ? change_lines() : change_word();
    return text_;
  }

 private:
  struct Word {
    std::size_t begin = 0, length = 0;
  };

  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }

  std::vector<Word> words() const {
    const auto inside = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == '+';
    };
    std::vector<Word> found;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (!inside(text_[i])) continue;
      if (i == 0 || !inside(text_[i - 1])) found.push_back({i, 0});
      ++found.back().length;
    }
    return found;
  }

  void change_word() {
    const std::vector<Word> all = words();
    if (all.empty()) return;
    Word word = all[below(all.size())];
    const std::size_t way = below(4);
    // Numbers are where counts overflow: look for one three times in four.
    for (int tries = 0; way != 0 && tries < 16 && !std::isdigit(static_cast<unsigned char>(text_[word.begin])); ++tries)
      word = all[below(all.size())];
    std::string other;
    if (way < 3) {
      const Word from = all[below(all.size())];
      other = way == 0 ? text_.substr(from.begin, from.length) : std::string(numbers[below(numbers.size())]);
    } else {
      other = text_.substr(word.begin, word.length);
      other[below(other.size())] = static_cast<char>('0' + below(10));
    }
    text_.replace(word.begin, word.length, other);
  }

  void change_lines() {
    std::vector<std::string> lines = split(text_, '\n');
    const std::size_t from = below(lines.size()), to = below(lines.size());
    const std::string line = lines[from];
    const auto at = [&](std::size_t place) { return lines.begin() + static_cast<std::ptrdiff_t>(place); };
    switch (below(4)) {
      case 0:
        lines.erase(at(from));
        break;
      case 1:
        lines.insert(at(to), line);
        break;
      case 2:
        std::swap(lines[from], lines[to]);
        break;
      default:  // another depth
        lines[from] = line.starts_with("  ") ? line.substr(2) : "  " + line;
    }
    text_ = join(lines, "\n");
  }

  std::string text_;
  std::minstd_rand random_;
};

}  // namespace

std::string mutated_bytes(std::string bytes, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](std::size_t count) { return count == 0 ? 0 : random() % count; };
  for (std::size_t left = 1 + below(4); left > 0; --left) {
    const std::size_t at = below(bytes.size() + 1), length = std::min(1 + below(16), bytes.size() - at);
    switch (below(5)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(below(bytes.size() + 1), bytes.substr(at, length));
        break;
      case 3:
        if (below(8) == 0) bytes.resize(at);
        break;
      default:  // all ones, zero, the largest and smallest signed: of one to eight bytes
        for (std::size_t i = 0, size = std::size_t{1} << below(4), kind = below(4); i < size && at + i < bytes.size();
             ++i)
          bytes[at + i] = static_cast<char>(kind == 0      ? 0xff
                                            : kind == 1    ? 0
                                            : i + 1 < size ? (kind == 2 ? 0xff : 0)
                                                           : (kind == 2 ? 0x7f : 0x80));
    }
  }
  return bytes;
}

std::string mutated_text(std::string text, unsigned seed) { return Mutation(std::move(text), seed).run(); }

}  // namespace tilescope::fuzz
