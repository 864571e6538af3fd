// Predicted over measured of every record, with the error bar that `predict` states for its kernel and regime.
#include <algorithm>
#include <cmath>
#include <map>

#include "cli/report_pictures.h"

namespace tilescope::cli {
namespace {

constexpr const char *everything = "all", *ours = "*ours", *theirs = "*theirs";  // groups of kernels
constexpr const char* quantities[] = {"seconds", "hbm_read_bytes", "busy_cycles"};

struct Pair {
  double predicted = 0, measured = 0;
  double error() const { return std::abs(predicted - measured) / measured; }
};

std::optional<Pair> pair_of(const PictureRecord& record, const std::string& quantity) {
  const TimePrediction& time = record.prediction().time;
  std::optional<Pair> pair;
  if (quantity == "seconds" && record.seconds > 0) pair = Pair{time.total, record.seconds};
  if (quantity == "hbm_read_bytes" && record.hbm_read)
    pair = Pair{static_cast<double>(record.prediction().traffic[static_cast<std::size_t>(Boundary::hbm)][0]),
                *record.hbm_read};
  if (quantity == "busy_cycles" && record.busy_cycles && time.modelled)
    pair = Pair{time.busy_cycles, *record.busy_cycles};
  return pair && pair->predicted > 0 && pair->measured > 0 ? pair : std::nullopt;
}

struct Group {
  std::string kernel, quantity, regime;
  auto operator<=>(const Group&) const = default;
};

struct Spread {
  std::vector<double> errors;
  double low = INFINITY, high = 0;  // measured sizes
  void add(const Pair& pair) {
    errors.push_back(pair.error());
    low = std::min(low, pair.measured), high = std::max(high, pair.measured);
  }
};

// The bar of a group and where it comes from: what predict states, else nine of ten of these very records.
struct Bar {
  double p90 = 0;
  bool stated = false;
};
Bar bar_of(const Group& group, const Spread& records, const std::string& hardware,
           const std::filesystem::path& errors) {
  if (!group.regime.empty())
    if (const auto stated = recorded_error(errors, hardware, group.kernel, group.quantity, group.regime))
      return {stated->p90, true};
  return {spread(records.errors).p90, false};
}

}  // namespace

Json picture_residuals(const std::vector<PictureRecord>& records, const HardwareProfile& hardware,
                       const std::filesystem::path& errors) {
  std::map<Group, Spread> groups;
  for (const PictureRecord& record : records)
    for (const char* quantity : quantities)
      if (const auto pair = pair_of(record, quantity)) {
        groups[{record.kernel, quantity, record.regime}].add(*pair);
        groups[{everything, quantity, ""}].add(*pair);
        groups[{record.third_party ? theirs : ours, quantity, ""}].add(*pair);
      }
  std::map<Group, Bar> found;
  Json bars = Json::array();
  for (const auto& [group, size] : groups) {
    const Bar bar = found[group] = bar_of(group, size, hardware.id, errors);
    bars.push_back({{"kernel", group.kernel},
                    {"quantity", group.quantity},
                    {"regime", group.regime},
                    {"n", size.errors.size()},
                    {"low", size.low},
                    {"high", size.high},
                    {"p90", bar.p90},
                    {"stated", bar.stated}});
  }
  Json residuals = Json::array();
  for (const PictureRecord& record : records) {
    Json row{{"kernel", record.kernel},
             {"label", record.label},
             {"third_party", record.third_party},
             {"regime", record.regime}};
    for (const char* quantity : quantities)
      if (const auto pair = pair_of(record, quantity))
        row[quantity] = {{"predicted", pair->predicted},
                         {"measured", pair->measured},
                         {"bar", found[{record.kernel, quantity, record.regime}].p90}};
    residuals.push_back(std::move(row));
  }
  return {{"residuals", std::move(residuals)}, {"bars", std::move(bars)}};
}

}  // namespace tilescope::cli
