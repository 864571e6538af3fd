#include "launches/captured_sizes.h"

#include <algorithm>

#include "kernel/describe/block_tile.h"
#include "kernel/describe/nested/launched_dims.h"

namespace tilescope::launches {
namespace {

// Bytes of an element of a tensor map, by the name of its type.
std::int64_t element_bytes(const std::string& type) {
  if (type.find("64") != type.npos) return 8;
  if (type.find("32") != type.npos) return 4;
  return type.find("16") != type.npos ? 2 : 1;
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

}  // namespace

KernelLaunch launch_of(const capture::CapturedLaunch& launch) {
  return {.grid = launch.grid,
          .threads = launch.block[0] * launch.block[1] * launch.block[2],
          .dynamic_smem = launch.dynamic_shared_bytes};
}

std::optional<LaunchEvidence> captured_evidence(const capture::Capture& capture, const capture::CapturedLaunch& launch,
                                                const CubinKernel& kernel, const CodeSummary& code) {
  if (launch.parameters.empty()) return std::nullopt;
  EvidenceInput input{.code = code, .launch = traced_launch(launch, kernel), .maps = {}};
  for (const capture::MapPlace& place : launch.tensor_maps) {
    const capture::CapturedTensorMap& map = capture.tensor_maps.at(static_cast<std::size_t>(place.map));
    input.maps.push_back({place.offset, element_bytes(map.type), map.dims, map.strides, map.box});
  }
  return launch_evidence(input);
}

AttentionFacts launched_facts(const capture::CapturedLaunch& launch, const CubinKernel& kernel, const CodeSummary& code,
                              AttentionFacts facts) {
  if (launch.parameters.empty()) return facts;
  const TracedLaunch traced = traced_launch(launch, kernel);
  if (facts.stores_log_sum_exp && leaves_out_rows(code, traced)) facts.stores_log_sum_exp = false;
  if (facts.depth_of_pass == 0) return facts;
  const auto dims = launched_head_dims(code, traced, facts);
  return dims ? with_head_dims(std::move(facts), dims->first, dims->second) : facts;
}

LaunchSizes sizes_of(const LaunchEvidence& evidence, const AttentionFacts& facts, const KernelLaunch& launch,
                     const std::optional<Workload>& known) {
  std::vector<MissingValue> missing;
  const BlockTile tile = block_tile(facts, launch, missing);
  if (tile.tile_q == 0 || tile.tile_kv == 0) return {};
  const std::int64_t bytes = std::max<std::int64_t>(1, facts.loaded_bits / 8);
  return launch_sizes(evidence, {tile.tile_q, tile.tile_kv, facts.head_dim, facts.v_head_dim, bytes}, known);
}

LaunchSizes captured_sizes(const capture::Capture& capture, const capture::CapturedLaunch& launch,
                           const CubinKernel& kernel, const CodeSummary& code, const AttentionFacts& facts) {
  if (const auto evidence = captured_evidence(capture, launch, kernel, code))
    return sizes_of(*evidence, launched_facts(launch, kernel, code, facts), launch_of(launch));
  LaunchSizes sizes;
  sizes.unknown.emplace_back("sizes: the capture has no parameters of this launch");
  return sizes;
}

}  // namespace tilescope::launches
