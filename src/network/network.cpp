#include "network/network.h"

#include <algorithm>

#include "base/checked.h"

namespace tilescope {

std::int64_t AttentionGroup::cached_keys(std::int64_t context) const {
  if (window > 0) return std::min(context, window);
  if (chunk > 0) return std::min(context, chunk);
  return context;
}

std::int64_t Matrices::values() const {
  const std::int64_t each = checked_add(checked_mul(in, out), biased ? out : 0);
  return checked_mul(checked_mul(layers, copies), each);
}

std::int64_t Network::parameters() const {
  std::int64_t sum = table_values + vector_values;
  for (const Matrices& each : matrices)
    if (!(each.once_a_sequence && tied)) sum = checked_add(sum, each.values());
  return sum;
}

std::int64_t Network::active_parameters() const {
  std::int64_t sum = table_values + vector_values;
  for (const Matrices& each : matrices)
    if (!(each.once_a_sequence && tied)) sum = checked_add(sum, each.values() / each.copies * each.used);
  return sum;
}

}  // namespace tilescope
