#include <fmt/format.h>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/hardware/hardware_measure.h"
#include "cli/output/hardware_tables.h"
#include "cli/output/progress.h"
#include "compare/lack_costs.h"
#include "hardware/derived.h"
#include "validate/measure/counters/counters.h"

namespace tilescope::cli {
namespace {

// Adds a row that says whether the chip has every counter of the profile, and how many passes they need.
void check_counters(const HardwareProfile& profile, std::vector<CheckRow>& rows, bool& ok) {
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
    rows.push_back(
        {profile.id, "counters exist", "not checked", "this build has no CUPTI; build with the CUDA toolkit"});
    return;
  }
  const auto plan = validate::plan_counters(profile.chip, metrics);
  const bool good = plan && plan->unknown.empty();
  ok = ok && good;
  rows.push_back({profile.id, "counters exist", good ? "ok" : "FAILED",
                  !plan  ? fmt::format("CUPTI {} does not know chip '{}'", *validate::cupti_version(), profile.chip)
                  : good ? fmt::format("{} counters of {} in {} passes", metrics.size(), profile.chip, plan->passes)
                         : fmt::format("{} has no {}", profile.chip, join(plan->unknown, ", "))});
}

std::string cost_text(const std::map<std::string, LackCost>& costs, const std::string& entry) {
  const auto cost = costs.find(entry);
  if (cost == costs.end() || cost->second.points == 0) return "cost not known";
  return fmt::format("changes predicted times by {:.2f} % (mean), {:.1f} % (most)", 100 * cost->second.mean,
                     100 * cost->second.worst);
}

// What the profile lacks of what the time model reads, which rule stands in, and what that changes on measured GPUs.
void check_completeness(const HardwareProfile& profile, const std::map<std::string, LackCost>& costs, bool each,
                        std::vector<CheckRow>& rows) {
  if (profile.vendor != "NVIDIA") {
    rows.push_back({profile.id, "measured rates", "bound", "no rule for this architecture: times are lower bounds"});
    return;
  }
  const std::vector<DerivedRule> lacking = lacking_entries(profile);
  if (lacking.empty()) {
    rows.push_back({profile.id, "measured rates", "ok", "every entry that the time model reads has a value"});
    return;
  }
  rows.push_back(
      {profile.id, "measured rates", "derived",
       fmt::format("lacks {} entries, given by rules; all entries: {} between the measured GPUs, which have one chip",
                   lacking.size(), cost_text(costs, every_entry))});
  for (const DerivedRule& rule : lacking)
    if (each)
      rows.push_back({profile.id, "lacks " + rule.entry, "derived",
                      fmt::format("{}: {}", cost_text(costs, rule.entry), rule.formula)});
}

ExitStatus costs(const Arguments& arguments) {
  std::vector<LackCost> found;
  {
    Progress progress(arguments, "predicting without each entry");
    found = lack_costs(data_directory(),
                       validate::load_experiment(data_directory() / "validate" / "experiments" / "h100_family.yaml"),
                       progress.callback());
  }
  const Style style = style_of(arguments);
  deliver(arguments, style.format == OutputFormat::json ? to_json(found).dump(1) + "\n"
                                                        : render(table_of("", lack_cost_columns(), found), style));
  return ExitStatus::done;
}

ExitStatus check(const Arguments& arguments, const std::vector<std::string>& files) {
  std::vector<HardwareProfile> profiles;
  if (files.empty()) profiles = list_profiles(data_directory() / "hardware");
  for (const std::string& file : files) profiles.push_back(find_profile(file, data_directory() / "hardware"));
  const auto known_costs = read_lack_costs(data_directory() / "validate" / "lack_costs.json");
  std::vector<CheckRow> rows;
  bool ok = true;
  for (const HardwareProfile& profile : profiles) {
    for (const CheckFinding& finding : check_profile(profile)) {
      ok = ok && finding.ok;
      rows.push_back({finding.profile, finding.rule, finding.ok ? "ok" : "FAILED", finding.message});
    }
    check_counters(profile, rows, ok);
    check_completeness(profile, known_costs, !files.empty(), rows);
  }
  deliver(arguments, render(hardware_check_table(rows), style_of(arguments)));
  return ok ? ExitStatus::done : ExitStatus::answer_no;
}

ExitStatus hardware(const Arguments& arguments) {
  const auto& positional = arguments.positional();
  static const std::vector<std::string> verbs{"list", "show", "check", "costs", "measure"};
  const std::string verb = positional.empty() ? "" : positional[0];
  if (verb != "measure")
    for (const OptionSpec& option : hardware_measure_options())
      if (arguments.has(option.name)) refuse("--" + option.name, "is an option of hardware measure; leave it out");
  const auto folder = data_directory() / "hardware";
  if (verb == "list" && positional.size() == 1) {
    deliver(arguments, render(hardware_list_table(folder), style_of(arguments)));
    return ExitStatus::done;
  }
  if (verb == "show" && positional.size() == 2) {
    deliver(arguments, render(hardware_show_table(find_profile(positional[1], folder)), style_of(arguments)));
    return ExitStatus::done;
  }
  if (verb == "measure" && positional.size() == 1) return hardware_measure(arguments);
  if (verb == "costs" && positional.size() == 1) return costs(arguments);
  if (verb == "check") return check(arguments, {positional.begin() + 1, positional.end()});
  refuse("hardware",
         fmt::format("expected list, show ID, check [ID|FILE ...], costs or measure -o FILE, found '{}'{}",
                     join(positional, " "), verb.empty() || contains(verbs, verb) ? "" : did_you_mean(verb, verbs)));
}

std::vector<OptionSpec> hardware_options() { return hardware_measure_options() + output_options(); }

}  // namespace

Command hardware_command() {
  return {
      .name = "hardware",
      .summary = "list, show, check or measure GPU profiles",
      .usage = "list | show ID | check [ID|FILE ...] | costs | measure -o FILE",
      .examples = {"tilescope hardware list", "tilescope hardware show h200_sxm --format md",
                   "tilescope hardware check my_gpu.yaml", "tilescope hardware costs --format json -o costs.json",
                   "tilescope hardware measure -o my_gpu.yaml"},
      .notes =
          "check also lists what a named profile lacks, the rule that gives it, and what that changes; costs computes "
          "these changes by taking one entry after the other from the measured GPUs (minutes). measure runs "
          "microbenchmarks on this machine's GPU and writes a profile. Exit status 1 when a check "
          "fails.",
      .options = hardware_options,
      .run = hardware,
      .most_positional = 1000,
      .first_words = {"list", "show", "check", "costs", "measure"}};
}

}  // namespace tilescope::cli
