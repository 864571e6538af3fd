#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/hardware_measure.h"
#include "cli/output/help.h"
#include "validate/measure/counters.h"

namespace tilescope::cli {
namespace {

template <class T>
Json value_or_null(const std::optional<Sourced<T>>& field) {
  return field ? Json(field->value) : Json(nullptr);
}

Table list_table() {
  Table table{.title = "",
              .columns = {"id", "name", "architecture", "units", "hbm", "l2", "fp16 dense", "fp8 dense"},
              .rows = {}};
  for (const HardwareProfile& profile : list_profiles(data_directory() / "hardware")) {
    const MemoryLevel* hbm = profile.level("hbm");
    const MemoryLevel* l2 = profile.level("l2");
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

Table show_table(const HardwareProfile& p) {
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
    add_field(table, p, level.name + " capacity, B", level.capacity_bytes),
        add_field(table, p, level.name + " per block, B", level.capacity_per_block_bytes);
    add_field(table, p, level.name + " B/s", level.bandwidth_bytes_per_second),
        add_field(table, p, level.name + " measured B/s", level.measured_bandwidth_bytes_per_second);
    add_field(table, p, level.name + " B / clk", level.bandwidth_bytes_per_cycle);
    add_counter(table, level.name + " read counter", level.counters.read),
        add_counter(table, level.name + " write counter", level.counters.write);
  }
  for (const auto& [name, counter] : p.work_counters) add_counter(table, name + " counter", counter);
  if (p.measured) {
    for_each_measured(*p.measured, [&](const std::string& path, Dimension dimension, const Sourced<double>& value) {
      add_field(table, p, fmt::format("measured {}, {}", path, base_unit(dimension)), std::optional(value));
    });
  }
  return table;
}

// Adds whether every counter of the profile exists on its chip, and how many passes they need.
void check_counters(const HardwareProfile& profile, Table& table, bool& ok) {
  std::vector<std::string> metrics;
  const auto add = [&](const Counter& counter) {
    if (!contains(metrics, counter.metric)) metrics.push_back(counter.metric);
  };
  for (const MemoryLevel& level : profile.levels) {
    if (level.counters.read) add(*level.counters.read);
    if (level.counters.write) add(*level.counters.write);
  }
  for (const auto& [name, counter] : profile.work_counters) add(counter);
  if (metrics.empty()) return;
  if (!validate::cupti_version()) {
    table.rows.push_back(
        {profile.id, "counters exist", "not checked", "this build has no CUPTI; build with the CUDA toolkit"});
    return;
  }
  const auto plan = validate::plan_counters(profile.chip, metrics);
  const bool good = plan && plan->unknown.empty();
  ok = ok && good;
  table.rows.push_back(
      {profile.id, "counters exist", good ? "ok" : "FAILED",
       !plan  ? fmt::format("CUPTI {} does not know chip '{}'", *validate::cupti_version(), profile.chip)
       : good ? fmt::format("{} counters of {} in {} passes", metrics.size(), profile.chip, plan->passes)
              : fmt::format("{} has no {}", profile.chip, join(plan->unknown, ", "))});
}

ExitStatus check(const Arguments& arguments, std::vector<std::string> files) {
  std::vector<HardwareProfile> profiles;
  if (files.empty()) profiles = list_profiles(data_directory() / "hardware");
  for (const std::string& file : files) profiles.push_back(find_profile(file, data_directory() / "hardware"));
  Table table{.title = "", .columns = {"profile", "rule", "result", "finding"}, .rows = {}};
  bool ok = true;
  for (const HardwareProfile& profile : profiles) {
    for (const CheckFinding& finding : check_profile(profile)) {
      ok = ok && finding.ok;
      table.rows.push_back({finding.profile, finding.rule, finding.ok ? "ok" : "FAILED", finding.message});
    }
    check_counters(profile, table, ok);
  }
  deliver(arguments, render(table, arguments.format()));
  return ok ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace

ExitStatus hardware_command(const std::vector<std::string>& words) {
  const auto specs = hardware_measure_options() + output_options();
  if (help_wanted(words, "hardware list | show ID | check [ID|FILE ...] | measure -o FILE", specs,
                  "  tilescope hardware list\n  tilescope hardware show h200_sxm --format md\n  tilescope hardware "
                  "check my_gpu.yaml\n"
                  "  tilescope hardware measure -o my_gpu.yaml    microbenchmarks of the GPU at hand into a profile\n"))
    return ExitStatus::done;
  const Arguments arguments("hardware", words, specs, 1000);
  const auto& positional = arguments.positional();
  static const std::vector<std::string> verbs{"list", "show", "check", "measure"};
  const std::string verb = positional.empty() ? "" : positional[0];
  if (verb != "measure")
    for (const OptionSpec& option : hardware_measure_options())
      if (arguments.has(option.name))
        throw InputError(
            Diagnostic{.path = "--" + option.name, .message = "belongs to hardware measure; leave it out"});
  if (verb == "list" && positional.size() == 1) {
    deliver(arguments, render(list_table(), arguments.format()));
    return ExitStatus::done;
  }
  if (verb == "show" && positional.size() == 2) {
    deliver(arguments,
            render(show_table(find_profile(positional[1], data_directory() / "hardware")), arguments.format()));
    return ExitStatus::done;
  }
  if (verb == "measure" && positional.size() == 1) return hardware_measure(arguments);
  if (verb == "check") return check(arguments, {positional.begin() + 1, positional.end()});
  throw InputError(Diagnostic{
      .path = "hardware",
      .message = fmt::format(
          "expected list, show ID, check [ID|FILE ...] or measure -o FILE, found '{}'{}", join(positional, " "),
          verb.empty() || verb == "show" || verb == "list" || verb == "measure" ? "" : did_you_mean(verb, verbs))});
}

}  // namespace tilescope::cli
