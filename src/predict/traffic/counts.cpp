#include "predict/traffic/counts.h"

#include <algorithm>

#include "predict/traffic/l2_traffic.h"
#include "predict/traffic/register_traffic.h"
#include "predict/traffic/smem_traffic.h"
#include "predict/traffic/tmem_traffic.h"
#include "predict/work/work.h"

namespace tilescope {
TileCounts tile_counts(const BoundIsland& bound, std::pmr::memory_resource* memory, Wanted wanted) {
  const Footprint& footprint = footprint_of(bound);
  const Occupancy occupancy = occupancy_of(bound);
  const SpillTraffic spills = spills_of(bound, footprint, occupancy);
  // Where there is a last-level cache, what reaches it follows from what is asked of the L2s.
  const bool asked = wanted != Wanted::beyond_l2 || bound.hardware.level(LevelId::llc) != nullptr;
  Terms terms = asked ? l2_terms(bound, spills, memory) : Terms(memory);
  if (wanted >= Wanted::memory)
    return {.footprint = &footprint, .occupancy = occupancy, .work = {}, .spills = spills, .terms = std::move(terms)};
  const Terms smem = smem_terms(bound, memory);
  const Work work = work_of(bound);
  const Terms tmem = tmem_terms(bound, memory);
  const Terms registers = register_terms(bound, work, smem, tmem, memory);
  terms.insert(terms.end(), smem.begin(), smem.end());
  terms.insert(terms.end(), tmem.begin(), tmem.end());
  terms.insert(terms.end(), registers.begin(), registers.end());
  return {.footprint = &footprint, .occupancy = occupancy, .work = work, .spills = spills, .terms = std::move(terms)};
}

std::int64_t resident_blocks(const BoundIsland& bound, const Occupancy& occupancy) {
  return bound.hardware.units.value * std::max<std::int64_t>(1, occupancy.blocks_per_unit);
}

}  // namespace tilescope
