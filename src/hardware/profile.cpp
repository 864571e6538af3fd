#include "hardware/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "config/reader.h"
#include "hardware/counter_keys.h"
#include "hardware/unit_groups.h"

namespace tilescope {
namespace {

using OptionalCount = std::optional<Sourced<std::int64_t>>;
using OptionalQuantity = std::optional<Sourced<double>>;

constexpr std::string_view schema = "tilescope/hardware/1";
constexpr std::int64_t most = 1 << 24;  // above any per-unit or per-device count of a GPU

bool consists_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

class ProfileReader {
 public:
  ProfileReader(std::string_view text, const std::string& file) : document_(Document::parse(text, file)) {
    profile_.file = file;
  }

  HardwareProfile read() {
    document_.expect_schema(schema);
    const Node root = document_.root();
    root.only({"schema", "id", "name", "vendor", "architecture", "compute_capability", "chip", "sources", "compute",
               "limits", "board", "levels", "counters", "measured"});
    read_identity(root);
    read_sources(root["sources"]);
    read_compute(root["compute"]);
    read_limits(root["limits"]);
    if (const auto board = root.find("board")) read_board(*board);
    read_levels(root["levels"]);
    if (const auto counters = root.find("counters")) read_work_counters(*counters);
    if (const auto measured = root.find("measured")) {
      profile_.measured = read_measured(*measured, [this](const Node& n, Dimension d) { return sourced(n, d); });
    }
    document_.finish();
    return std::move(profile_);
  }

 private:
  void read_identity(const Node& root) {
    profile_.id = root["id"].text();
    if (!profile_.id.empty() && !consists_of(profile_.id, "abcdefghijklmnopqrstuvwxyz0123456789_")) {
      root["id"].report(fmt::format("expected lower-case letters, digits and '_', found {}", shown_text(profile_.id)));
    }
    profile_.name = root["name"].text();
    const Node vendor = root["vendor"];
    profile_.vendor = vendor.one_of({"NVIDIA", "AMD"});
    const bool known_vendor = vendor.is_scalar() && vendor.text() == profile_.vendor;
    profile_.architecture = root["architecture"].text();
    profile_.compute_capability = root["compute_capability"].text();
    if (!known_vendor) return;  // what else it needs depends on the vendor; one finding is enough
    if (profile_.vendor != "NVIDIA") {
      if (const auto chip = root.find("chip")) chip->report("only an NVIDIA GPU has a CUPTI chip; remove this key");
      return;
    }
    if (!profile_.compute_capability.empty() && !consists_of(profile_.compute_capability, "0123456789.")) {
      root["compute_capability"].report(fmt::format("expected a compute capability such as \"9.0\", found {}",
                                                    shown_text(profile_.compute_capability)));
    }
    profile_.chip = root["chip"].text();
    if (!profile_.chip.empty() && !consists_of(profile_.chip, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")) {
      root["chip"].report(fmt::format("expected a CUPTI chip name such as GH100, found {}", shown_text(profile_.chip)));
    }
  }

  void read_sources(const Node& sources) {
    for (const auto& [id, text] : sources.entries()) {
      profile_.sources[id] = text.text();
      source_ids_.push_back(id);
    }
  }

  void read_compute(const Node& compute) {
    compute.only({"unit_name", "units", "boost_clock", "tensor_clock", "fp32", "exp2", "tensor", "instruction_paths",
                  "datasheet"});
    profile_.unit_name = compute["unit_name"].one_of({"SM", "CU"});
    profile_.units = count(compute["units"], most_units);
    profile_.boost_hz = quantity(compute, "boost_clock", Dimension::hertz);
    profile_.tensor_hz = quantity(compute, "tensor_clock", Dimension::hertz);
    profile_.fp32_fma_per_cycle = quantity(compute, "fp32", Dimension::flop_per_cycle);
    if (profile_.fp32_fma_per_cycle) profile_.fp32_fma_per_cycle->value /= 2;  // a multiply-add is 2 FLOP
    profile_.exp2_per_cycle = quantity(compute, "exp2", Dimension::flop_per_cycle);
    if (const auto tensor = compute.find("tensor")) {
      profile_.tensor_flop_per_cycle = rates(*tensor, Dimension::flop_per_cycle);
    }
    if (const auto paths = compute.find("instruction_paths")) {
      for (const auto& [path, limits] : paths->entries()) {
        profile_.instruction_flop_per_cycle[path] = rates(limits, Dimension::flop_per_cycle);
      }
    }
    if (const auto datasheet = compute.find("datasheet")) {
      profile_.datasheet_flop_per_second = rates(*datasheet, Dimension::flop_per_second);
      if (const auto fp32 = profile_.datasheet_flop_per_second.extract(Format::fp32)) {
        profile_.datasheet_fp32_flop_per_second = fp32.mapped();
      }
    }
  }

  void read_limits(const Node& limits) {
    const std::array<std::pair<std::string_view, OptionalCount*>, 8> fields{{
        {"warp_size", &profile_.warp_size},
        {"schedulers", &profile_.schedulers_per_unit},
        {"warps", &profile_.max_warps_per_unit},
        {"blocks", &profile_.max_blocks_per_unit},
        {"threads_per_block", &profile_.max_threads_per_block},
        {"registers", &profile_.registers_per_unit},
        {"registers_per_thread", &profile_.max_registers_per_thread},
        {"register_allocation", &profile_.register_allocation_unit},
    }};
    limits.only({"warp_size", "schedulers", "warps", "blocks", "threads_per_block", "registers", "registers_per_thread",
                 "register_allocation"});
    for (const auto& [key, field] : fields) {
      if (const auto node = limits.find(key)) *field = count(*node, most);
    }
  }

  void read_board(const Node& board) {
    board.only({"power", "launch"});
    profile_.board_watts = quantity(board, "power", Dimension::watts);
    profile_.launch_seconds = quantity(board, "launch", Dimension::seconds);
  }

  void read_levels(const Node& levels) {
    levels.only(kind_names<LevelId>());
    for (const LevelRow& row : EnumTable<LevelId>::rows) {
      if (row.required) {
        read_level(row.value, levels[row.name]);
      } else if (const auto node = levels.find(row.name)) {
        read_level(row.value, *node);
      }
    }
  }

  void read_level(LevelId id, const Node& node) {
    MemoryLevel level;
    level.id = id;
    if (id == LevelId::l2) {
      node.only({"capacity", "bandwidth", "measured_bandwidth", "bandwidth_per_cycle", "counters", "sector", "line",
                 "partitions", "slices", "capacity_slices", "ways", "dirty_ways", "groups", "caches", "dealt_blocks"});
      profile_.sector_bytes = byte_count(node, "sector");
      profile_.line_bytes = byte_count(node, "line");
      if (const auto partitions = node.find("partitions")) profile_.l2_partitions = count(*partitions, most);
      if (const auto slices = node.find("slices")) profile_.l2_slices = count(*slices, most);
      if (const auto slices = node.find("capacity_slices")) profile_.l2_capacity_slices = count(*slices, most);
      if (const auto ways = node.find("ways")) profile_.l2_ways = count(*ways, most);
      if (const auto ways = node.find("dirty_ways")) profile_.l2_dirty_ways = count(*ways, most);
      if (const auto groups = node.find("groups")) profile_.l2_groups = unit_groups(*groups);
      if (const auto caches = node.find("caches")) profile_.l2_caches = count(*caches, most);
      if (const auto dealt = node.find("dealt_blocks")) profile_.l2_dealt_blocks = count(*dealt, most);
    } else if (id == LevelId::smem) {
      node.only({"capacity", "capacity_per_block", "reserved_per_block", "bandwidth", "measured_bandwidth",
                 "bandwidth_per_cycle", "counters"});
      level.capacity_per_block_bytes = quantity(node, "capacity_per_block", Dimension::bytes);
      level.reserved_per_block_bytes = quantity(node, "reserved_per_block", Dimension::bytes);
    } else if (id == LevelId::llc) {
      node.only({"capacity", "bandwidth", "measured_bandwidth", "bandwidth_per_cycle", "counters", "ways"});
      if (const auto ways = node.find("ways")) profile_.llc_ways = count(*ways, most);
    } else {
      node.only({"capacity", "bandwidth", "measured_bandwidth", "bandwidth_per_cycle", "counters"});
    }
    level.capacity_bytes = quantity(node, "capacity", Dimension::bytes);
    level.bandwidth_bytes_per_second = quantity(node, "bandwidth", Dimension::bytes_per_second);
    level.measured_bandwidth_bytes_per_second = quantity(node, "measured_bandwidth", Dimension::bytes_per_second);
    level.bandwidth_bytes_per_cycle = quantity(node, "bandwidth_per_cycle", Dimension::bytes_per_cycle);
    if (const auto counters = node.find("counters")) {
      counters->only({"read", "write"});
      if (const auto read = counters->find("read")) level.counters.read = counter(*read, "B");
      if (const auto write = counters->find("write")) level.counters.write = counter(*write, "B");
    }
    profile_.levels.push_back(std::move(level));
  }

  void read_work_counters(const Node& counters) {
    const std::vector<std::string> known = work_counter_keys();
    for (const auto& [key, node] : counters.entries()) {
      if (key == "tensor_flop") {
        for (const auto& [format, entry] : node.entries()) {
          if (format_of(format, entry)) profile_.work_counters["tensor_flop." + format] = counter(entry, "FLOP");
        }
      } else if (const std::string unit = work_counter_unit(key); !unit.empty()) {
        profile_.work_counters[key] = counter(node, unit);
      } else {
        node.report("unknown counter" + did_you_mean(key, known));
      }
    }
  }

  Counter counter(const Node& node, const std::string& unit) {
    node.only({"metric", "scale", "note"});
    Counter result;
    const Node metric = node["metric"];
    result.metric = metric.text();
    if (!result.metric.empty() &&
        (!consists_of(result.metric, "abcdefghijklmnopqrstuvwxyz0123456789_.") ||
         result.metric.find("__") == std::string::npos || result.metric.find('.') == std::string::npos)) {
      metric.report(fmt::format("expected a metric with its roll-up such as 'dram__bytes_read.sum', found {}",
                                shown_text(result.metric)));
    }
    const Node scale = node["scale"];
    const std::string text = scale.text();
    const std::size_t space = text.find(' ');
    const auto value = parse_decimal(text.substr(0, space));
    if (value && *value > 0 && *value <= 1e6 && space != std::string::npos && text.substr(space + 1) == unit) {
      result.scale = *value;
    } else if (!text.empty()) {
      scale.report(fmt::format("expected what one count stands for, such as '1 {}', found {}", unit, shown_text(text)));
    }
    if (const auto note = node.find("note")) result.note = note->text();
    return result;
  }

  // A map from number formats to sourced rates.
  std::map<Format, Sourced<double>> rates(const Node& node, Dimension dimension) {
    std::map<Format, Sourced<double>> values;
    for (const auto& [key, entry] : node.entries()) {
      if (const auto format = format_of(key, entry)) values[*format] = sourced(entry, dimension);
    }
    return values;
  }

  static std::optional<Format> format_of(const std::string& key, const Node& entry) {
    const auto format = parse_format(key);
    if (format && to_string(*format) == key) return format;
    entry.report("unknown number format" + did_you_mean(key, dtype_names()));
    return std::nullopt;
  }

  std::string source_of(const Node& node) {
    node.only({"value", "source", "note"});
    if (const auto note = node.find("note")) (void)note->text();
    const Node source = node["source"];
    const std::string id = source.text();
    if (!id.empty() && !profile_.sources.contains(id)) {
      source.report("is not declared under 'sources'" + did_you_mean(id, source_ids_));
    }
    return id;
  }

  Sourced<double> sourced(const Node& node, Dimension dimension) {
    return {node["value"].quantity(dimension), source_of(node)};
  }

  // "16a 16b": 16 units of the first partition, then 16 of the second. Other findings come first: what does not fit
  // together may follow from them.
  Sourced<std::vector<UnitGroup>> unit_groups(const Node& node) {
    const Node value = node["value"];
    const std::vector<UnitGroup> groups = parse_unit_groups(
        value.text(), profile_.units.value, profile_.l2_partitions ? profile_.l2_partitions->value : 26);
    if (document_.clean() && groups.empty()) value.report(unit_groups_rule);
    return {groups, source_of(node)};
  }

  Sourced<std::int64_t> count(const Node& node, std::int64_t largest) {
    return {node["value"].integer(1, largest), source_of(node)};
  }

  OptionalQuantity quantity(const Node& parent, std::string_view key, Dimension dimension) {
    const auto node = parent.find(key);
    if (!node) return std::nullopt;
    return sourced(*node, dimension);
  }

  OptionalCount byte_count(const Node& parent, std::string_view key) {
    const auto node = parent.find(key);
    if (!node) return std::nullopt;
    const Sourced<double> bytes = sourced(*node, Dimension::bytes);
    return Sourced<std::int64_t>{static_cast<std::int64_t>(bytes.value), bytes.source};
  }

  Document document_;
  HardwareProfile profile_;
  std::vector<std::string> source_ids_;
};

}  // namespace

const MemoryLevel* HardwareProfile::level(LevelId wanted) const {
  const auto found =
      std::find_if(levels.begin(), levels.end(), [&](const MemoryLevel& candidate) { return candidate.id == wanted; });
  return found == levels.end() ? nullptr : &*found;
}

// One question reads the same profiles again: derived rates look at all of them. A profile is kept with its text, and
// read anew when the file has another.
HardwareProfile load_profile(const std::filesystem::path& file) {
  constexpr std::size_t most_kept = 64, most_bytes = std::size_t{1} << 20;  // of a file, as Document::load takes
  static std::mutex mutex;
  static std::map<std::string, std::pair<std::string, HardwareProfile>> kept;
  const std::string name = file.string(), text = read_file(file, most_bytes);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = kept.find(name); found != kept.end() && found->second.first == text)
      return found->second.second;
  }
  HardwareProfile profile = ProfileReader(text, name).read();
  const std::lock_guard lock(mutex);
  if (kept.size() >= most_kept) kept.clear();
  kept.insert_or_assign(name, std::pair(text, profile));
  return profile;
}

}  // namespace tilescope
