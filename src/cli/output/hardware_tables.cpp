#include "cli/output/hardware_tables.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tilescope::cli {
namespace {

struct ShownField {
  std::string field;
  Json value;
  std::string source, origin;
};

template <class T>
void add_field(std::vector<ShownField>& fields, const HardwareProfile& profile, const std::string& name,
               const std::optional<Sourced<T>>& field) {
  if (!field) return;
  const auto source = profile.sources.find(field->source);
  fields.push_back({name, field->value, field->source, source == profile.sources.end() ? "" : source->second});
}

void add_counter(std::vector<ShownField>& fields, const std::string& name, const std::optional<Counter>& counter) {
  if (counter)
    fields.push_back({name, fmt::format("{} x {}", counter->metric, counter->scale), "CUPTI", counter->note});
}

Json dense_rate(const HardwareProfile& profile, Format format) {
  const auto found = profile.tensor_flop_per_cycle.find(format);
  const auto clock = profile.tensor_hz ? profile.tensor_hz : profile.boost_hz;
  if (found == profile.tensor_flop_per_cycle.end() || !clock) return nullptr;
  return with_si(found->second.value * static_cast<double>(profile.units.value) * clock->value, "FLOP/s");
}

Json hbm_rate(const HardwareProfile& profile) {
  const MemoryLevel* hbm = profile.level(LevelId::hbm);
  if (!hbm || !hbm->bandwidth_bytes_per_second) return nullptr;
  return with_si(hbm->bandwidth_bytes_per_second->value, "B/s");
}

Json l2_capacity(const HardwareProfile& profile) {
  const MemoryLevel* l2 = profile.level(LevelId::l2);
  return l2 && l2->capacity_bytes ? Json(with_binary(l2->capacity_bytes->value)) : Json(nullptr);
}

const Columns<HardwareProfile>& profile_columns() {
  using R = HardwareProfile;
  const auto column = [](const char* key, const char* unit, const char* meaning, auto value) {
    return Column<R>{{key, key, unit, meaning, Origin::profile}, value};
  };
  static const Columns<R> columns{
      column("id", "", "Id of the profile, as --hardware takes it.", [](const R& r) { return r.id; }),
      column("name", "", "Name of the GPU.", [](const R& r) { return r.name; }),
      column("architecture", "", "Architecture of the GPU.", [](const R& r) { return r.architecture; }),
      column("units", "", "Multiprocessors.", [](const R& r) { return r.units.value; }),
      column("hbm", "B/s", "Bandwidth of memory, by the datasheet.", hbm_rate),
      column("l2", "B", "Capacity of the L2.", l2_capacity),
      column("fp16 dense", "FLOP/s", "Peak rate of the tensor cores without sparsity.",
             [](const R& r) { return dense_rate(r, Format::fp16); }),
      column("fp8 dense", "FLOP/s", "Peak rate of the tensor cores without sparsity.",
             [](const R& r) { return dense_rate(r, Format::fp8_e4m3); }),
  };
  return columns;
}

const Columns<ShownField>& field_columns() {
  using R = ShownField;
  static const Columns<R> columns{
      {{"field", "field", "", "A value of the profile, with its unit.", Origin::profile},
       [](const R& r) { return r.field; }},
      {{"value", "value", "", "The value, or the counter and its scale.", Origin::profile},
       [](const R& r) { return r.value; }},
      {{"source", "source", "", "Id of the value's source.", Origin::profile}, [](const R& r) { return r.source; }},
      {{"origin", "origin", "", "What that source is.", Origin::profile}, [](const R& r) { return r.origin; }},
  };
  return columns;
}

const Columns<CheckRow>& profile_check_columns() {
  using R = CheckRow;
  static const Columns<R> columns{
      {{"profile", "profile", "", "Id of the profile.", Origin::profile}, [](const R& r) { return r.profile; }},
      {{"rule", "rule", "", "What is checked.", Origin::question}, [](const R& r) { return r.rule; }},
      {{"result", "result", "", "ok, FAILED, not checked, derived (a rule gives the value) or bound.", Origin::profile},
       [](const R& r) { return r.result; }},
      {{"finding", "finding", "", "The values that decide.", Origin::profile}, [](const R& r) { return r.finding; }},
  };
  return columns;
}

}  // namespace

Table hardware_list_table(const std::filesystem::path& folder) {
  return table_of("", profile_columns(), list_profiles(folder));
}

Table hardware_check_table(const std::vector<CheckRow>& findings) {
  return table_of("", profile_check_columns(), findings);
}

std::vector<ColumnList> hardware_column_lists() {
  return {listed("GPU profiles", "hardware list, list gpus", profile_columns()),
          listed("fields of a profile", "hardware show", field_columns()),
          listed("rules of a profile", "hardware check", profile_check_columns())};
}

Table hardware_show_table(const HardwareProfile& p) {
  std::vector<ShownField> fields;
  add_field(fields, p, p.unit_name + " count", std::optional(p.units));
  add_field(fields, p, "boost clock, Hz", p.boost_hz), add_field(fields, p, "tensor clock, Hz", p.tensor_hz);
  add_field(fields, p, "fp32 FMA / clk / unit", p.fp32_fma_per_cycle),
      add_field(fields, p, "exp2 / clk / unit", p.exp2_per_cycle);
  for (const auto& [format, rate] : p.tensor_flop_per_cycle)
    add_field(fields, p, "tensor " + to_string(format) + " FLOP / clk / unit", std::optional(rate));
  for (const auto& [path, rates] : p.instruction_flop_per_cycle)
    for (const auto& [format, rate] : rates)
      add_field(fields, p, path + " " + to_string(format) + " FLOP / clk / unit", std::optional(rate));
  for (const auto& [format, rate] : p.datasheet_flop_per_second)
    add_field(fields, p, "datasheet " + to_string(format) + " FLOP/s", std::optional(rate));
  add_field(fields, p, "max warps / unit", p.max_warps_per_unit),
      add_field(fields, p, "max blocks / unit", p.max_blocks_per_unit);
  add_field(fields, p, "registers / unit", p.registers_per_unit),
      add_field(fields, p, "max registers / thread", p.max_registers_per_thread);
  add_field(fields, p, "board W", p.board_watts), add_field(fields, p, "launch s", p.launch_seconds);
  for (const MemoryLevel& level : p.levels) {
    add_field(fields, p, level.name() + " capacity, B", level.capacity_bytes),
        add_field(fields, p, level.name() + " per block, B", level.capacity_per_block_bytes);
    add_field(fields, p, level.name() + " B/s", level.bandwidth_bytes_per_second),
        add_field(fields, p, level.name() + " measured B/s", level.measured_bandwidth_bytes_per_second);
    add_field(fields, p, level.name() + " B / clk", level.bandwidth_bytes_per_cycle);
    add_counter(fields, level.name() + " read counter", level.counters.read),
        add_counter(fields, level.name() + " write counter", level.counters.write);
  }
  for (const auto& [name, counter] : p.work_counters) add_counter(fields, name + " counter", counter);
  if (p.measured) {
    for_each_measured(*p.measured, [&](const std::string& path, Dimension dimension, const Sourced<double>& value) {
      add_field(fields, p, fmt::format("measured {}, {}", path, base_unit(dimension)), std::optional(value));
    });
  }
  const std::string title =
      fmt::format("{} ({}), {} {}, chip {}", p.name, p.id, p.vendor, p.architecture, p.chip.empty() ? "-" : p.chip);
  return table_of(title, field_columns(), fields);
}

}  // namespace tilescope::cli
