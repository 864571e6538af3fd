// What blocks of a cluster save by handing data to each other: theorem 3 (Napkin, arXiv 2412.03317, section 4.5 and
// appendix A.2; theory 2.3). N blocks of memory M load every value once from the parent, H*(N M) in all, and the rest
// of H*(M) from each other.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/page_section.h"
#include "boundaries/kernels.h"
#include "boundaries/rates.h"

namespace tilescope {

// Values that enter the blocks, by where they come from.
struct ClusterFlow {
  double parent = 0, siblings = 0;
  double all() const { return parent + siblings; }
};

// The blocks of a cluster as a box of neighbours: how many along each tile of the kernel.
struct ClusterCount {
  ClusterFlow bytes{};
  std::vector<std::int64_t> blocks{};  // in the order of ScheduleProblem::tiles
};

// The kernel's exact count with these tiles in clusters of `size`: the transfer rule with a family's tile for what
// comes from the parent, with a block's for all. Of the boxes of `size` blocks along grouped axes the one that loads
// least; nothing when no loop is grouped.
std::optional<ClusterCount> count_cluster(const BoundKernel& kernel, const DeriveRequest& request,
                                          const std::vector<std::int64_t>& tiles, std::int64_t size);

struct ClusterRow {
  std::string hardware;
  std::int64_t size = 1;
  ClusterFlow law{}, counted{};     // bytes
  std::vector<std::string> blocks;  // of each kernel: "2 x tile.q"
  std::string parent;               // "l2" or "hbm"
  BoundaryRate parent_rate{};
  std::optional<BoundaryRate> sibling_rate{};  // empty: not known at this size
  // Of the counted bytes, by both rates, no transfer beside another; and the part that the exchange saves.
  double alone_seconds = 0;
  std::optional<double> seconds{};
  // (1/H_parent - 1/H_siblings) (1 - N^-beta), s/TB: the saving of a term of the largest beta, a unit of it.
  std::optional<double> factor{};
};

// Rate into all SMs from their siblings; by microbenchmark where the profile has one.
std::optional<BoundaryRate> sibling_rate(const HardwareProfile& hardware, std::int64_t size);

// A row each size and parent. The memory of a block is the profile's. No rows for a GPU without shared memory, or with
// no rate of a parent.
std::vector<ClusterRow> cluster_rows(const BoundSchedule& schedule, const HardwareProfile& hardware,
                                     std::span<const std::int64_t> sizes, double value_bytes);

PageSection clusters_section(const BoundSchedule& schedule, const std::vector<ClusterRow>& rows);
nlohmann::ordered_json clusters_json(const BoundSchedule& schedule, const std::vector<ClusterRow>& rows);

}  // namespace tilescope
