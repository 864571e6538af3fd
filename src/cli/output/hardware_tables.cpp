#include "cli/output/hardware_tables.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tilescope::cli {
namespace {

template <class T>
void add_field(Table& table, const HardwareProfile& profile, const std::string& name,
               const std::optional<Sourced<T>>& field) {
  if (!field) return;
  const auto source = profile.sources.find(field->source);
  table.rows.push_back({name, field->value, field->source, source == profile.sources.end() ? "" : source->second});
}

void add_counter(Table& table, const std::string& name, const std::optional<Counter>& counter) {
  if (counter)
    table.rows.push_back({name, fmt::format("{} x {}", counter->metric, counter->scale), "CUPTI", counter->note});
}

}  // namespace

Table hardware_list_table(const std::filesystem::path& folder) {
  Table table{.title = "",
              .columns = {"id", "name", "architecture", "units", "hbm", "l2", "fp16 dense", "fp8 dense"},
              .rows = {}};
  for (const HardwareProfile& profile : list_profiles(folder)) {
    const MemoryLevel* hbm = profile.level(LevelId::hbm);
    const MemoryLevel* l2 = profile.level(LevelId::l2);
    const auto rate = [&](Format format) -> Json {
      const auto found = profile.tensor_flop_per_cycle.find(format);
      const auto clock = profile.tensor_hz ? profile.tensor_hz : profile.boost_hz;
      if (found == profile.tensor_flop_per_cycle.end() || !clock) return nullptr;
      return with_si(found->second.value * static_cast<double>(profile.units.value) * clock->value, "FLOP/s");
    };
    table.rows.push_back({profile.id, profile.name, profile.architecture, profile.units.value,
                          hbm && hbm->bandwidth_bytes_per_second
                              ? Json(with_si(hbm->bandwidth_bytes_per_second->value, "B/s"))
                              : Json(nullptr),
                          l2 && l2->capacity_bytes ? Json(with_binary(l2->capacity_bytes->value)) : Json(nullptr),
                          rate(Format::fp16), rate(Format::fp8_e4m3)});
  }
  return table;
}

Table hardware_show_table(const HardwareProfile& p) {
  Table table{.title = fmt::format("{} ({}), {} {}, chip {}", p.name, p.id, p.vendor, p.architecture,
                                   p.chip.empty() ? "-" : p.chip),
              .columns = {"field", "value", "source", "origin"},
              .rows = {}};
  add_field(table, p, p.unit_name + " count", std::optional(p.units));
  add_field(table, p, "boost clock, Hz", p.boost_hz), add_field(table, p, "tensor clock, Hz", p.tensor_hz);
  add_field(table, p, "fp32 FMA / clk / unit", p.fp32_fma_per_cycle),
      add_field(table, p, "exp2 / clk / unit", p.exp2_per_cycle);
  for (const auto& [format, rate] : p.tensor_flop_per_cycle)
    add_field(table, p, "tensor " + to_string(format) + " FLOP / clk / unit", std::optional(rate));
  for (const auto& [path, rates] : p.instruction_flop_per_cycle)
    for (const auto& [format, rate] : rates)
      add_field(table, p, path + " " + to_string(format) + " FLOP / clk / unit", std::optional(rate));
  for (const auto& [format, rate] : p.datasheet_flop_per_second)
    add_field(table, p, "datasheet " + to_string(format) + " FLOP/s", std::optional(rate));
  add_field(table, p, "max warps / unit", p.max_warps_per_unit),
      add_field(table, p, "max blocks / unit", p.max_blocks_per_unit);
  add_field(table, p, "registers / unit", p.registers_per_unit),
      add_field(table, p, "max registers / thread", p.max_registers_per_thread);
  add_field(table, p, "board W", p.board_watts), add_field(table, p, "launch s", p.launch_seconds);
  for (const MemoryLevel& level : p.levels) {
    add_field(table, p, level.name() + " capacity, B", level.capacity_bytes),
        add_field(table, p, level.name() + " per block, B", level.capacity_per_block_bytes);
    add_field(table, p, level.name() + " B/s", level.bandwidth_bytes_per_second),
        add_field(table, p, level.name() + " measured B/s", level.measured_bandwidth_bytes_per_second);
    add_field(table, p, level.name() + " B / clk", level.bandwidth_bytes_per_cycle);
    add_counter(table, level.name() + " read counter", level.counters.read),
        add_counter(table, level.name() + " write counter", level.counters.write);
  }
  for (const auto& [name, counter] : p.work_counters) add_counter(table, name + " counter", counter);
  if (p.measured) {
    for_each_measured(*p.measured, [&](const std::string& path, Dimension dimension, const Sourced<double>& value) {
      add_field(table, p, fmt::format("measured {}, {}", path, base_unit(dimension)), std::optional(value));
    });
  }
  return table;
}

}  // namespace tilescope::cli
