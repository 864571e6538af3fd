// Where predicted time goes. A kernel's time is that of the unit that bounds it (IslandPrediction::bound_by) at full
// rate, then what this unit waits for (latencies, other units, turns), then multiprocessors without a block (the last
// wave, unequal blocks), then launches.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analysis/pictures/pictures.h"

namespace tilescope::analysis {
namespace {

constexpr std::size_t most_records = 5;       // of a kernel
constexpr double shortest_of_splits = 20e-6;  // a kernel's records below this are left out where it has longer ones
enum Unit : std::size_t { tensor, smem, xu, fma, alu, issue, l2, hbm, unit_count };
static_assert(unit_count == std::size(kUnits));
using UnitSeconds = std::array<double, unit_count>;

// Seconds that each unit would take for what one kernel of the schedule asks of it, at the predicted clock.
UnitSeconds unit_seconds(const HardwareProfile& hardware, const IslandPrediction& island, double hz) {
  const double rate = hz * static_cast<double>(hardware.units.value);
  const auto unit = [&](SmUnit of) { return island.unit_clocks[static_cast<std::size_t>(of)] / rate; };
  const auto floor = [&](Resource resource) {
    return std::max(0.0, island.resource_seconds[static_cast<std::size_t>(resource)]);
  };
  UnitSeconds seconds{};
  seconds[tensor] = unit(SmUnit::tensor), seconds[smem] = unit(SmUnit::smem), seconds[xu] = unit(SmUnit::xu);
  seconds[fma] = unit(SmUnit::fma), seconds[alu] = unit(SmUnit::alu), seconds[issue] = unit(SmUnit::issue);
  seconds[l2] = floor(Resource::l2), seconds[hbm] = floor(Resource::hbm);
  return seconds;
}

Unit unit_of(Resource resource) {
  switch (resource) {
    case Resource::tensor:
      return tensor;
    case Resource::smem:
      return smem;
    case Resource::xu:
      return xu;
    case Resource::fma:
      return fma;
    case Resource::hbm:
      return hbm;
    case Resource::llc:
    case Resource::l2:
      break;
  }
  return l2;
}

struct UnitSplit {
  UnitSeconds units{}, busiest{};  // of each unit; of the unit that bounds its kernel
  double waits = 0, idle = 0;
};

// One kernel of the schedule: its units, the clocks that they run at, and what its blocks alone would take.
struct Part {
  UnitSeconds units{};
  Unit bound = tensor;
  double seconds = 0, idle_share = 0;  // of the time in which it runs, that a multiprocessor has no block
};

Part part_of(const Prediction& prediction, const HardwareProfile& hardware, std::size_t number) {
  const IslandPrediction& island = prediction.islands[number];
  const double highest = island.highest_hz, hz = std::min(prediction.time.clock_hz, highest),
               cold_hz = std::min(prediction.time.cold_hz, highest);
  Part part{.units = unit_seconds(hardware, island, hz), .bound = unit_of(island.bound_by)};
  part.seconds = std::max({part.units[l2], part.units[hbm], island.sm_clocks / hz});
  part.idle_share = std::clamp(1 - island.busy_clocks / (island.seconds * cold_hz), 0.0, 1.0);
  return part;
}

UnitSplit split_of(const Prediction& prediction, const HardwareProfile& hardware) {
  const TimePrediction& time = prediction.time;
  std::vector<Part> parts;
  double all = 0;
  for (std::size_t i = 0; i < prediction.islands.size(); ++i)
    all += parts.emplace_back(part_of(prediction, hardware, i)).seconds;
  UnitSplit split;
  for (const Part& part : parts) {
    // Each kernel's share of what the model answered; where that holds more than its blocks' clocks, it waits for it.
    const double seconds = (time.total - time.launch) * part.seconds / all;
    const double busy = std::min(part.units[part.bound], seconds);
    const double idle = std::min(seconds * part.idle_share, seconds - busy);
    for (std::size_t u = 0; u < part.units.size(); ++u) split.units[u] += part.units[u];
    split.busiest[part.bound] += busy, split.idle += idle, split.waits += seconds - busy - idle;
  }
  return split;
}

std::map<std::string, double> named(const UnitSeconds& seconds, bool zeros) {
  std::map<std::string, double> by_name;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    if (zeros || seconds[i] > 0) by_name[kUnits[i].key] = seconds[i];
  return by_name;
}

// Of a kernel's records up to most_records, evenly by rank of measured time, longest first.
std::vector<const PictureRecord*> chosen(std::vector<const PictureRecord*> records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const auto* a, const auto* b) { return a->seconds > b->seconds; });
  if (records.front()->seconds >= shortest_of_splits)
    std::erase_if(records, [](const auto* r) { return r->seconds < shortest_of_splits; });
  std::set<std::string> seen;  // a point that two experiments measured
  std::erase_if(records, [&](const auto* r) { return !seen.insert(r->label).second; });
  if (records.size() <= most_records) return records;
  std::vector<const PictureRecord*> some;
  for (std::size_t i = 0; i < most_records; ++i) some.push_back(records[i * (records.size() - 1) / (most_records - 1)]);
  return some;
}

}  // namespace

TimeSplit time_split(const Prediction& prediction, const HardwareProfile& hardware) {
  const UnitSplit split = split_of(prediction, hardware);
  return {.waits = split.waits,
          .idle = split.idle,
          .launch = prediction.time.launch,
          .busiest = named(split.busiest, false),
          .units = named(split.units, true)};
}

std::vector<Split> time_splits(const std::vector<PictureRecord>& records, const HardwareProfile& hardware) {
  std::map<std::pair<bool, std::string>, std::vector<const PictureRecord*>> kernels;  // ours first
  for (const PictureRecord& record : records)
    if (record.prediction().time.modelled && record.seconds > 0)
      kernels[{record.third_party, record.kernel}].push_back(&record);
  std::vector<Split> list;
  for (const auto& [kernel, all] : kernels) {
    const auto some = chosen(all);
    for (const PictureRecord* record : some) {
      const TimePrediction& time = record->prediction().time;
      const TimeSplit parts = time_split(record->prediction(), hardware);
      list.push_back({.kernel = record->kernel,
                      .label = record->label,
                      .third_party = record->third_party,
                      .longest = record == some.front(),
                      .measured = record->seconds,
                      .predicted = time.total,
                      .waits = parts.waits,
                      .idle = parts.idle,
                      .launch = parts.launch,
                      .busiest = parts.busiest,
                      .units = parts.units});
    }
  }
  return list;
}

}  // namespace tilescope::analysis
