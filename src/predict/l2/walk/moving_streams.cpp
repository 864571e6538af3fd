#include "predict/l2/walk/moving_streams.h"

namespace tilescope {

MovingStreams::MovingStreams(const TileStreams& tiles, const Nest& nest, const NestSteps& steps) {
  for (std::size_t i = 0; i < tiles.list.size(); ++i) {
    const TileStream& of = tiles.list[i];
    for (std::size_t l = 0; l < nest.loop_count; ++l)
      if (const std::int64_t stride = of.stride[l]; nest.loops[l].group && stride != 0)
        of_blocks.push_back({i, l, stride});
    Moving moving{.stream = i};
    for (std::size_t l = 0; l < steps.count(); ++l)
      if (const std::int64_t stride = of.stride[steps.loop(l)]; stride != 0) {
        moving.loop[moving.loops] = steps.loop(l), moving.stride[moving.loops++] = static_cast<int>(stride);
        if (l + 1 == steps.count()) moving.inner = static_cast<int>(steps.falls(l) ? -stride : stride);
      }
    if (moving.loops == 0 && !of.every_step) {
      fixed.push_back(i);
      continue;
    }
    const std::size_t number = list.size();
    moving.plain = of.kind == TileStream::Kind::load && of.awaited == 0 && number < WalkSlot::most_moving;
    all_plain = all_plain && moving.plain;
    list.push_back(moving);
    if (number >= WalkSlot::most_moving) continue;
    inner[number] = moving.inner, stream[number] = i;
    all = static_cast<std::uint8_t>(all | 1u << number);
    if (moving.inner == 0 && !of.every_step && moving.plain) still = static_cast<std::uint8_t>(still | 1u << number);
  }
}

}  // namespace tilescope
