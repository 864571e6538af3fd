#include <algorithm>
#include <bit>

#include "base/contains.h"
#include "derive/nests/nests.h"

namespace tilescope {
namespace {

constexpr AxisBits axis_bit(AxisId axis) { return AxisBits{1} << index(axis); }

AxisBits axes_in_bits(const Array& array) {
  AxisBits bits = 0;
  for (const AxisId axis : array.axes) bits |= axis_bit(axis);
  return bits;
}

// What the kernel loads and stores.
std::vector<ArrayId> in_memory(const FusedKernel& kernel) {
  std::vector<ArrayId> all = kernel.loads;
  all.insert(all.end(), kernel.region.results.begin(), kernel.region.results.end());
  return all;
}

}  // namespace

AxisBits minor_over(const Primitives& primitives, const FusedKernel& kernel, ArrayId load) {
  const AxisBits own = axes_in_bits(primitives.array(load));
  AxisBits minor = 0;
  for (const ArrayId other : in_memory(kernel)) {
    const AxisBits axes = axes_in_bits(primitives.array(other)), more = axes & ~own;
    if ((own & ~axes) == 0 && std::popcount(more) > 1) minor |= more;
  }
  return minor;
}

std::vector<AxisId> batch_axes(const Primitives& primitives, const FusedKernel& kernel) {
  AxisBits everywhere = ~AxisBits{0}, folded = 0, seen = 0;
  for (const ArrayId id : kernel.loads)
    everywhere &= axes_in_bits(primitives.array(id)) | minor_over(primitives, kernel, id);
  for (const ArrayId id : kernel.region.results) everywhere &= axes_in_bits(primitives.array(id));
  for (const int number : kernel.region.primitives) {
    const Primitive& primitive = primitives.list[static_cast<std::size_t>(number)];
    for (const AxisId axis : primitive.folded) folded |= axis_bit(axis);
    for (const AxisId axis : primitives.axes_of(primitive)) seen |= axis_bit(axis);
  }
  std::vector<AxisId> axes;
  for (std::size_t a = 0; a < primitives.diagram.axes.size(); ++a)
    if (const auto axis = static_cast<AxisId>(static_cast<int>(a)); (everywhere & ~folded & seen & axis_bit(axis)) != 0)
      axes.push_back(axis);
  return axes;
}

}  // namespace tilescope
