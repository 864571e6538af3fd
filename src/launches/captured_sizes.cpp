#include "launches/captured_sizes.h"

#include <algorithm>

#include "kernel/describe/block_tile.h"

namespace tilescope::launches {
namespace {

// Bytes of an element of a tensor map, by the name of its type.
std::int64_t element_bytes(const std::string& type) {
  if (type.find("64") != type.npos) return 8;
  if (type.find("32") != type.npos) return 4;
  return type.find("16") != type.npos ? 2 : 1;
}

}  // namespace

KernelLaunch launch_of(const capture::CapturedLaunch& launch) {
  return {.grid = launch.grid,
          .threads = launch.block[0] * launch.block[1] * launch.block[2],
          .dynamic_smem = launch.dynamic_shared_bytes};
}

TracedLaunch traced_launch(const capture::CapturedLaunch& launch, const CubinKernel& kernel) {
  TracedLaunch traced{
      .parameters = launch.parameters, .addresses = launch.addresses, .constant_offset = kernel.parameters_offset};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    traced.grid[axis] = static_cast<std::uint32_t>(launch.grid[axis]);
    traced.block[axis] = static_cast<std::uint32_t>(launch.block[axis]);
  }
  return traced;
}

LaunchEvidence captured_evidence(const capture::Capture& capture, const capture::CapturedLaunch& launch,
                                 TracedLaunch traced, const CodeSummary& code) {
  EvidenceInput input{.code = code, .launch = std::move(traced), .maps = {}};
  for (const capture::MapPlace& place : launch.tensor_maps) {
    const capture::CapturedTensorMap& map = capture.tensor_maps.at(static_cast<std::size_t>(place.map));
    input.maps.push_back({place.offset, element_bytes(map.type), map.dims, map.strides, map.box});
  }
  return launch_evidence(input);
}

LaunchSizes sizes_of(const LaunchEvidence& evidence, const AttentionFacts& facts, const KernelLaunch& launch,
                     const std::optional<Workload>& known) {
  std::vector<MissingValue> missing;
  const BlockTile tile = block_tile(facts, launch, missing);
  if (tile.tile_q == 0 || tile.tile_kv == 0) return {};
  const std::int64_t bytes = std::max<std::int64_t>(1, facts.loaded_bits / 8);
  // A row may be shorter than the code's products.
  const std::int64_t d_qk = known ? std::min(known->d_qk, facts.head_dim) : facts.head_dim,
                     d_v = known ? std::min(known->d_v, facts.v_head_dim) : facts.v_head_dim;
  return launch_sizes(evidence, {tile.tile_q, tile.tile_kv, d_qk, d_v, bytes, tile.stages}, known);
}

}  // namespace tilescope::launches
