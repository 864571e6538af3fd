#include "predict/l2/walk/nest_steps.h"

namespace tilescope {

NestSteps::NestSteps(const BoundIsland& bound) : nest_(bound.nest) {
  for (std::size_t i = 0; i < nest_.loop_count; ++i)
    if (!nest_.loops[i].group) {
      loops_[count_] = i;
      falls_[count_++] = BlockOrder::falls(bound, BlockOrder::dimension_of(bound, nest_.loops[i]));
    }
  if (!nest_.guarded()) return;
  list_live();
  // A block mask leaves holes in a range; two guarded axes without a stream have no range.
  const auto of_block = [&](int loop) { return nest_.loops[static_cast<std::size_t>(loop)].group; };
  has_holes_ = !bound.point.mask.contiguous() || (of_block(nest_.query_loop) && of_block(nest_.key_loop));
}

// Live ranges by query tile and by key tile, for each chunk of the keys.
void NestSteps::list_live() {
  const std::int64_t chunks = nest_.keys_are_chunked() ? nest_.chunked.chunks() : 1;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
    live_.push_back(nest_.keys_are_chunked() ? nest_.live_tiles_of_chunk(chunk) : nest_.live_tiles());
  for (const LiveTiles& live : live_) {
    std::vector<TileRange>& keys = keys_of_.emplace_back();
    std::vector<TileRange>& queries = queries_of_.emplace_back();
    for (std::int64_t i = 0; i < live.query_tiles(); ++i) keys.push_back(live.keys_of(i));
    for (std::int64_t j = 0; j < live.key_tiles(); ++j) queries.push_back(live.queries_of(j));
  }
}

std::size_t NestSteps::chunk_of(const NestPlace& place) const {
  return nest_.keys_are_chunked() ? static_cast<std::size_t>(place.at[static_cast<std::size_t>(nest_.chunked.outer)])
                                  : 0;
}

// What the stream loop runs over, where the loops around it stand.
TileRange NestSteps::range_of(const NestPlace& place, std::size_t level) const {
  const std::size_t loop = loops_[level];
  const int at = static_cast<int>(loop);
  if (nest_.guarded() && (at == nest_.query_loop || at == nest_.key_loop)) {
    const auto other = static_cast<std::size_t>(at == nest_.query_loop ? nest_.key_loop : nest_.query_loop);
    const std::size_t chunk = chunk_of(place);
    const bool other_is_set = nest_.loops[other].group || other < loop;
    if (at == nest_.query_loop)
      return other_is_set ? queries_of_[chunk][static_cast<std::size_t>(place.at[other])]
                          : TileRange{0, live_[chunk].query_tiles()};
    return other_is_set ? keys_of_[chunk][static_cast<std::size_t>(place.at[other])]
                        : TileRange{0, live_[chunk].key_tiles()};
  }
  if (nest_.chunked.present() && at == nest_.chunked.inner)
    return {0, ceil_div(nest_.chunked.length_of(place.at[static_cast<std::size_t>(nest_.chunked.outer)]),
                        nest_.chunked.tile)};
  return {0, nest_.loops[loop].trips};
}

// Sets the stream loops from `level` on to their first step. False: no step from here on is live.
bool NestSteps::enter(NestPlace& place, std::size_t level) const {
  for (; level < count_; ++level) {
    const TileRange range = range_of(place, level);
    place.range[level] = range;
    place.at[loops_[level]] = falls_[level] ? range.end - 1 : range.first;
    if (range.empty()) return next(place, level);
  }
  return is_dead(place) ? next(place, level) : true;
}

// The next step of the stream loops outside `level`, which starts anew.
bool NestSteps::next(NestPlace& place, std::size_t level) const {
  while (level-- > 0) {
    std::int64_t& at = place.at[loops_[level]];
    const bool more = falls_[level] ? --at >= place.range[level].first : ++at < place.range[level].end;
    if (more) return enter(place, level + 1);
  }
  return false;
}

bool NestSteps::is_dead(const NestPlace& place) const {
  if (!has_holes_) return false;
  return !live_[chunk_of(place)].live(place.at[static_cast<std::size_t>(nest_.query_loop)],
                                      place.at[static_cast<std::size_t>(nest_.key_loop)]);
}

std::int64_t NestSteps::left(const NestPlace& place) const {
  if (count_ == 0) return 1;
  const TileRange& range = place.range[count_ - 1];
  const std::int64_t at = place.at[loops_[count_ - 1]];
  return falls_[count_ - 1] ? at - range.first + 1 : range.end - at;
}

void NestSteps::set_left(NestPlace& place, std::int64_t left) const {
  if (count_ == 0) return;
  const TileRange& range = place.range[count_ - 1];
  place.at[loops_[count_ - 1]] = falls_[count_ - 1] ? range.first + left - 1 : range.end - left;
}

bool NestSteps::has_left(const NestPlace& place, std::uint32_t loops) const {
  for (std::size_t l = 0; loops != 0 && l < count_; ++l)
    if ((loops >> loops_[l] & 1) != 0 &&
        place.at[loops_[l]] != (falls_[l] ? place.range[l].first : place.range[l].end - 1))
      return true;
  return false;
}

}  // namespace tilescope
