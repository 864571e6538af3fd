#include "boundaries/clusters.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "optimum/levels.h"

namespace tilescope {
namespace {

// Whether blocks divide the axis of a tile among themselves.
bool is_grouped(const BoundKernel& kernel, std::size_t tile) {
  const auto& symbols = kernel.problem.symbolic.symbols.inputs();
  for (std::size_t s = 0; s < symbols.size(); ++s) {
    if (symbols[s] != kernel.problem.tiles[tile]) continue;
    const int parameter = kernel.problem.symbolic.inputs[s].tile.parameter;
    for (const Loop& loop : kernel.schedule.islands[static_cast<std::size_t>(kernel.island)].loops)
      if (loop.partition == Partition::group && loop.tile.parameter == parameter) return true;
  }
  return false;
}

// Calls visit(blocks) for every way to write `size` as a product over the grouped tiles.
template <class Visit>
void each_box(const BoundKernel& kernel, std::vector<std::int64_t>& blocks, std::size_t tile, std::int64_t left,
              const Visit& visit) {
  if (tile == blocks.size()) {
    if (left == 1) visit(blocks);
    return;
  }
  for (std::int64_t n = 1; n <= (is_grouped(kernel, tile) ? left : 1); ++n) {
    if (left % n != 0) continue;
    blocks[tile] = n;
    each_box(kernel, blocks, tile + 1, left / n, visit);
  }
  blocks[tile] = 1;
}

std::string box_text(const BoundKernel& kernel, const std::vector<std::int64_t>& blocks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i] > 1)
      parts.push_back(fmt::format("{} x {}", blocks[i], kernel.problem.symbolic.symbols[kernel.problem.tiles[i]].text));
  return parts.empty() ? "1" : join(parts, ", ");
}

double cost(const BoundaryRate& rate) { return 1 / rate.bytes_per_second; }

// Law and count of one size, without rates.
ClusterRow flows(const BoundSchedule& schedule, std::int64_t size, double unit) {
  ClusterRow row;
  row.size = size;
  const double memory = schedule.request.memory, n = static_cast<double>(size);
  const PowerLaw law = schedule.law();
  row.law.parent = evaluate(law, intermediate_memory(memory, n)) * unit;
  row.law.siblings = evaluate(law, memory) * unit - row.law.parent;
  for (const BoundKernel& kernel : schedule.kernels) {
    const std::vector<std::int64_t> tiles = whole_tiles(kernel);
    const auto counted = count_cluster(kernel, schedule.request, tiles, size);
    row.counted.parent +=
        (counted ? counted->bytes.parent : count_kernel(kernel, schedule.request, tiles).bytes()) * unit;
    row.counted.siblings += counted ? counted->bytes.siblings * unit : 0;
    row.blocks.push_back(counted ? box_text(kernel, counted->blocks) : "1");
  }
  return row;
}

std::string megabytes(double bytes) { return fmt::format("{:.3f}", bytes * 1e-6); }
std::string microseconds(double seconds) { return fmt::format("{:.2f}", seconds * 1e6); }

}  // namespace

std::optional<ClusterCount> count_cluster(const BoundKernel& kernel, const DeriveRequest& request,
                                          const std::vector<std::int64_t>& tiles, std::int64_t size) {
  std::optional<ClusterCount> best;
  const double all = count_kernel(kernel, request, tiles).bytes();
  std::vector<std::int64_t> blocks(tiles.size(), 1);
  each_box(kernel, blocks, 0, size, [&](const std::vector<std::int64_t>& box) {
    std::vector<std::int64_t> family = tiles;
    for (std::size_t i = 0; i < family.size(); ++i) family[i] *= box[i];
    const double parent = count_kernel(kernel, request, family).bytes();
    if (!best || parent < best->bytes.parent) best = ClusterCount{{parent, all - parent}, box};
  });
  return best;
}

std::optional<BoundaryRate> sibling_rate(const HardwareProfile& hardware, std::int64_t size) {
  if (!hardware.measured || !hardware.boost_hz) return std::nullopt;
  const auto& read = hardware.measured->dsmem.read;
  const auto found = read.find(size);
  if (found == read.end()) return std::nullopt;
  return BoundaryRate{found->second.value * static_cast<double>(hardware.units.value) * hardware.boost_hz->value, true,
                      found->second.source};
}

std::vector<ClusterRow> cluster_rows(const BoundSchedule& schedule, const HardwareProfile& hardware,
                                     std::span<const std::int64_t> sizes, double value_bytes) {
  std::vector<ClusterRow> rows;
  const MemoryLevel* smem = hardware.level(LevelId::smem);
  if (!smem || !smem->capacity_per_block_bytes) return rows;
  const double unit = schedule.request.widths.empty() ? value_bytes : 1;  // bytes a counted value
  DeriveRequest request = schedule.request;
  request.memory = std::floor(smem->capacity_per_block_bytes->value / unit);
  const BoundSchedule here = rebound(schedule, request);
  if (!here.feasible() || !here.open_because().empty()) return rows;
  const double beta = here.law().empty() ? 0 : here.law().back().beta;
  for (const std::int64_t size : sizes) {
    const ClusterRow flow = flows(here, size, unit);
    for (const LevelId parent : {LevelId::l2, LevelId::hbm}) {
      const std::vector<BoundaryRate> rates = rates_of(hardware, parent);
      if (rates.empty()) continue;
      ClusterRow row = flow;
      row.hardware = hardware.id, row.parent = to_string(parent), row.parent_rate = rates.front();
      // The paper's hierarchy has no L2: its parent is the datasheet's memory.
      if (parent == LevelId::hbm) row.parent_rate = rates.back();
      row.sibling_rate = sibling_rate(hardware, size);
      row.alone_seconds = row.counted.all() * cost(row.parent_rate);
      if (row.sibling_rate) {
        row.seconds = row.counted.parent * cost(row.parent_rate) + row.counted.siblings * cost(*row.sibling_rate);
        row.factor = cross_transfer_saving(
            {{1, beta}}, {1, static_cast<double>(size), 1e12 * cost(row.parent_rate), 1e12 * cost(*row.sibling_rate)});
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

PageSection clusters_section(const BoundSchedule& schedule, const std::vector<ClusterRow>& rows) {
  PageSection section{.heading = "Clusters: blocks that hand data to each other (theorem 3)"};
  section.paragraphs = {
      fmt::format(
          "{}: N blocks of a cluster load each value once from the parent, H*(N*M) in all, and receive the rest, "
          "H*(M) - H*(N*M), from each other. M: shared memory of a block. law: these two; counted: the exact "
          "count at the best whole tiles, with the box of N blocks that loads least. (Napkin, arXiv 2412.03317, "
          "section 4.5 and appendix A.2.)",
          schedule.name),
      "Times are of the counted bytes, one transfer after another: alone: every block loads from the parent. saved is "
      "negative where siblings are slower than the parent. factor: (1/H_parent - 1/H_siblings)*(1 - N^-beta) in s/TB. "
      "The parent of the paper is hbm: its hierarchy has no L2."};
  PageTable table{.columns = {"GPU", "N", "box", "law parent MB", "law siblings MB", "parent MB", "siblings MB",
                              "parent", "TB/s", "siblings TB/s", "alone us", "cluster us", "saved", "factor"}};
  for (const ClusterRow& row : rows)
    table.rows.push_back(
        {row.hardware, fmt::format("{}", row.size), join(row.blocks, "; then "), megabytes(row.law.parent),
         megabytes(row.law.siblings), megabytes(row.counted.parent), megabytes(row.counted.siblings), row.parent,
         fmt::format("{:.2f}", row.parent_rate.bytes_per_second * 1e-12),
         row.sibling_rate ? fmt::format("{:.2f}", row.sibling_rate->bytes_per_second * 1e-12) : "unknown",
         microseconds(row.alone_seconds), row.seconds ? microseconds(*row.seconds) : "",
         row.seconds ? fmt::format("{:.1f} %", (1 - *row.seconds / row.alone_seconds) * 100) : "",
         row.factor ? fmt::format("{:.4f}", *row.factor) : ""});
  section.tables.push_back(std::move(table));
  return section;
}

nlohmann::ordered_json clusters_json(const BoundSchedule& schedule, const std::vector<ClusterRow>& rows) {
  using Json = nlohmann::ordered_json;
  const auto flow = [](const ClusterFlow& bytes) {
    return Json{{"parent_bytes", bytes.parent}, {"sibling_bytes", bytes.siblings}};
  };
  Json list = Json::array();
  for (const ClusterRow& row : rows) {
    Json entry{{"hardware", row.hardware},
               {"size", row.size},
               {"box", row.blocks},
               {"law", flow(row.law)},
               {"counted", flow(row.counted)},
               {"parent", row.parent},
               {"parent_bytes_per_second", row.parent_rate.bytes_per_second},
               {"parent_source", row.parent_rate.source}};
    entry["sibling_bytes_per_second"] = row.sibling_rate ? Json(row.sibling_rate->bytes_per_second) : Json();
    entry["sibling_source"] = row.sibling_rate ? Json(row.sibling_rate->source) : Json();
    entry["alone_seconds"] = row.alone_seconds;
    entry["seconds"] = row.seconds ? Json(*row.seconds) : Json();
    entry["factor"] = row.factor ? Json(*row.factor) : Json();
    list.push_back(std::move(entry));
  }
  return {{"schedule", schedule.name},
          {"formula", "(1/H_parent - 1/H_siblings)*H*(N*M) + 1/H_siblings*H*(M)"},
          {"origin", "arXiv 2412.03317, section 4.5 and appendix A.2"},
          {"rows", list}};
}

}  // namespace tilescope
