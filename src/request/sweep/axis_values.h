// The values of an axis: "4k,8k", "1k:128k:x2", "1k:128k:+64", or texts. A range is not written out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

class AxisValues {
 public:
  std::size_t size() const { return count_; }
  std::int64_t operator[](std::size_t i) const {
    return listed_.empty() ? first_ + static_cast<std::int64_t>(i) * step_ : listed_[i];
  }
  std::int64_t largest() const;
  std::vector<std::int64_t> written_out() const;

  // Throws InputError for what is no list or range of integers from 1 to 2^40, and for more than most_axis_values.
  // `many`: allows more than many_axis_values, which are more often a slip of the pen ("1k:128k:2") than a wish.
  static AxisValues parse(const std::string& text, bool many);

 private:
  std::vector<std::int64_t> listed_;  // empty: first_, first_ + step_, ...
  std::int64_t first_ = 0, step_ = 0;
  std::size_t count_ = 0;
};

inline constexpr std::size_t many_axis_values = 10'000;
inline constexpr std::size_t most_axis_values = 1'000'000'000;

// The same as texts, of an axis whose values may be anything: a list by commas, those in brackets left alone. Where
// `ranges`, a range of integers gives its values.
std::vector<std::string> parse_choices(const std::string& text, bool ranges);

}  // namespace tilescope
