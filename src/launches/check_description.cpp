#include "launches/check_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "base/error.h"
#include "base/files.h"
#include "compare/compare.h"

namespace tilescope::launches {
namespace {

// How near a count must be, and the keys that decide it. Other keys of a descriptor change times alone.
struct CheckedRule {
  const char* label;
  double tolerance;
  const char* keys;
};
constexpr CheckedRule rules[] = {
    {"tensor_flop", 0, "masks, tile_q, tile_kv, head_dim"},
    {"traffic l2 read", 0.01, "tile_q, masks, local"},
    {"traffic l2 write", 0.01, "stores_log_sum_exp, local"},
    {"operand_bytes smem read", 0.02, "registers_hold, tile_q, tile_kv, mma"},
    {"traffic hbm read", 0.1, "block_order, persistent, tile_q"},
};

// Other values that a key might have. "*2" and "/2" change the number that stands there.
struct Alternative {
  const char* key;
  std::vector<const char*> values;
};
const std::vector<Alternative>& alternatives() {
  static const std::vector<Alternative> list{
      {"masks", {"none", "causal"}},
      {"tile_q", {"*2", "/2"}},
      {"tile_kv", {"*2", "/2"}},
      {"registers_hold", {"[]", "[Q]", "[P]", "[Q, P]"}},
      {"stores_log_sum_exp", {"true", "false"}},
      {"block_order", {"[q, heads, batch]", "[heads, q, batch]", "[heads, batch, q]", "[q, batch, heads]"}},
  };
  return list;
}

struct KeyLine {
  std::size_t at = 0, size = 0;  // of the value in the text
  std::string value;
};

// The value behind "key: " in the first line that has it, without its comment.
std::optional<KeyLine> line_of(const std::string& text, const std::string& key) {
  const std::regex pattern("(^|\n)([ -]*" + key + ": +)([^#\n]*[^#\n ])");
  std::smatch found;
  if (!std::regex_search(text, found, pattern)) return std::nullopt;
  return KeyLine{static_cast<std::size_t>(found.position(3)), static_cast<std::size_t>(found.length(3)), found.str(3)};
}

// The number twice or half as large; the other values as they stand.
std::string changed_value(const std::string& value, const std::string& change) {
  if (change != "*2" && change != "/2") return change;
  std::int64_t number = 0;
  if (std::sscanf(value.c_str(), "%ld", &number) != 1) return value;
  return fmt::format("{}", change == "*2" ? 2 * number : number / 2);
}

class DescriptionCheck {
 public:
  DescriptionCheck(const validate::MeasurePoint& point, const CapturedGroup& launches, const std::string& hardware,
                   const std::filesystem::path& data_directory, const std::filesystem::path& file)
      : record_(captured_record(launches, point, hardware, "capture")), data_directory_(data_directory), file_(file) {
    record_.point.kernel = file_.string();
  }

  std::vector<CheckedQuantity> quantities(const std::string& descriptor, const std::string& mask) {
    write_file(file_, descriptor);
    record_.point.mask = mask;
    const validate::Experiment nothing_judged;
    Comparer comparer(
        data_directory_, [&](const std::string&) -> const validate::Experiment& { return nothing_judged; },
        Keep::points, 1);
    comparer.add(record_);
    const Comparison comparison = comparer.finish();
    std::vector<CheckedQuantity> found;
    for (const CheckedRule& rule : rules)
      for (const ComparisonRow& row : comparison.rows) {
        if (row.label() != rule.label || row.measured == 0) continue;
        const bool fits = std::abs(row.predicted / row.measured - 1) <= rule.tolerance;
        found.push_back({rule.label, row.predicted, row.measured, rule.tolerance, fits, fits ? "" : rule.keys});
      }
    return found;
  }

  // How many fit with another value; none if it cannot be predicted.
  std::size_t fitting_with(const std::string& descriptor, const std::string& mask) {
    try {
      const auto found = quantities(descriptor, mask);
      return static_cast<std::size_t>(
          std::count_if(found.begin(), found.end(), [](const CheckedQuantity& each) { return each.fits; }));
    } catch (const InputError&) {
      return 0;
    }
  }

 private:
  validate::Record record_;
  std::filesystem::path data_directory_, file_;
};

}  // namespace

std::size_t CheckedDescription::fitting() const {
  return static_cast<std::size_t>(std::count_if(quantities.begin(), quantities.end(),
                                                [](const CheckedQuantity& quantity) { return quantity.fits; }));
}

CheckedDescription check_description(const std::string& descriptor, const validate::MeasurePoint& point,
                                     const CapturedGroup& launches, const std::string& hardware,
                                     const std::filesystem::path& data_directory,
                                     const std::filesystem::path& scratch) {
  DescriptionCheck check(point, launches, hardware, data_directory, scratch / "checked.yaml");
  CheckedDescription result{.quantities = check.quantities(descriptor, point.mask), .better = {}};
  const std::size_t own = result.fitting();
  if (own == result.quantities.size()) return result;
  std::size_t most = own;
  for (const Alternative& alternative : alternatives()) {
    const auto line = line_of(descriptor, alternative.key);
    if (!line) continue;
    for (const char* change : alternative.values) {
      const bool is_mask = std::string_view(alternative.key) == "masks";
      const std::string value = is_mask ? fmt::format("[{}]", change) : changed_value(line->value, change);
      if (value == line->value) continue;
      std::string changed = descriptor;
      changed.replace(line->at, line->size, value);
      const std::size_t fitting = check.fitting_with(changed, is_mask ? change : point.mask);
      if (fitting <= own || fitting < most) continue;
      if (fitting > most) result.better.clear();
      most = fitting;
      result.better.push_back({alternative.key, line->value, value, fitting});
    }
  }
  return result;
}

CapturedGroup counted_launches(const capture::Capture& found, const AttentionFacts& facts, const KernelLaunch& launch,
                               const std::string& place) {
  const auto fits = [&](const capture::CapturedLaunch& each) {
    const capture::CapturedKernel& kernel = found.kernels[static_cast<std::size_t>(each.kernel)];
    const bool same_code =
        kernel.symbol == facts.kernel && kernel.registers == facts.registers && kernel.local_bytes == facts.local_bytes;
    const bool same_launch =
        launch.grid[0] == 0 || (each.grid == launch.grid && each.dynamic_shared_bytes == launch.dynamic_smem);
    return same_code && same_launch;
  };
  const capture::CapturedLaunch* most = nullptr;
  for (const capture::CapturedLaunch& each : found.launches)
    if (fits(each) && !each.counted.empty() && (!most || each.counted.size() > most->counted.size())) most = &each;
  if (!most)
    throw InputError(
        Diagnostic{.file = place,
                   .message = fmt::format("no launch of {} with this grid and shared memory was counted; capture with "
                                          "--counters",
                                          facts.kernel)});
  CapturedGroup group{.capture = &found, .launches = {}};
  for (const capture::CapturedLaunch& each : found.launches)
    if (fits(each) && each.kernel == most->kernel && each.grid == most->grid && each.block == most->block &&
        each.dynamic_shared_bytes == most->dynamic_shared_bytes && each.ranges == most->ranges)
      group.launches.push_back(&each);
  return group;
}

}  // namespace tilescope::launches
