#include "poly/program.h"

#include <algorithm>
#include <stdexcept>

namespace tilescope {

void Program::derive(std::span<std::int64_t> slots) const {
  std::size_t next = 1 + input_count_ + external_count_;
  for (const Derived& step : derived_) {
    const std::int64_t a = slots[step.a], b = slots[step.b];
    std::int64_t value = 0;
    switch (step.operation) {
      case DerivedBy::ceil:
        if (b < 1 || a < 0) throw std::domain_error("a trip count needs a size of at least 0 and a tile of at least 1");
        value = ceil_div(a, b);
        break;
      case DerivedBy::gate:
        value = b > 1 ? a : 1;
        break;
      case DerivedBy::largest:
        value = std::max(a, b);
        break;
    }
    slots[next++] = value;
  }
}

void Program::run(std::span<const std::int64_t> inputs, std::span<const std::int64_t> externals,
                  std::span<std::int64_t> outputs) const {
  __extension__ typedef __int128 Wide;
  if (inputs.size() < input_count_ || externals.size() < external_count_ || outputs.size() != sums_.size())
    throw std::invalid_argument("a program needs a value for every input and external and room for every output");
  thread_local std::vector<std::int64_t> scratch;
  const std::size_t supplied = 1 + input_count_ + external_count_;
  if (scratch.size() < supplied + derived_.size() + products_.size())
    scratch.resize(supplied + derived_.size() + products_.size());
  const std::span<std::int64_t> slots(scratch);
  slots[0] = 1;
  std::copy_n(inputs.begin(), input_count_, slots.begin() + 1);
  std::copy_n(externals.begin(), external_count_, slots.begin() + 1 + static_cast<std::ptrdiff_t>(input_count_));
  derive(slots);

  bool overflow = false;  // checked once at the end, because a branch per operation would cost more than the operation
  std::size_t next = supplied + derived_.size();
  for (const SlotProduct& step : products_)
    overflow |= __builtin_mul_overflow(slots[step.a], slots[step.b], &slots[next++]);
  std::size_t term = 0;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    Wide sum = 0;  // wide, so that only the result can overflow and no intermediate sum
    for (; term < sums_[i].end; ++term)
      overflow |= __builtin_add_overflow(sum, Wide{terms_[term].coefficient} * slots[terms_[term].product], &sum);
    if (overflow) throw CountOverflow();
    if (sums_[i].denominator != 1) {
      if (sum % sums_[i].denominator != 0) throw std::domain_error("a count is not an integer");
      sum /= sums_[i].denominator;
    }
    if (sum > INT64_MAX || sum < INT64_MIN) throw CountOverflow();
    outputs[i] = static_cast<std::int64_t>(sum);
  }
}

}  // namespace tilescope
