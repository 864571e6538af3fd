#include <fmt/format.h>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/hardware_measure.h"
#include "cli/output/hardware_tables.h"
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

ExitStatus check(const Arguments& arguments, const std::vector<std::string>& files) {
  std::vector<HardwareProfile> profiles;
  if (files.empty()) profiles = list_profiles(data_directory() / "hardware");
  for (const std::string& file : files) profiles.push_back(find_profile(file, data_directory() / "hardware"));
  std::vector<CheckRow> rows;
  bool ok = true;
  for (const HardwareProfile& profile : profiles) {
    for (const CheckFinding& finding : check_profile(profile)) {
      ok = ok && finding.ok;
      rows.push_back({finding.profile, finding.rule, finding.ok ? "ok" : "FAILED", finding.message});
    }
    check_counters(profile, rows, ok);
  }
  deliver(arguments, render(hardware_check_table(rows), style_of(arguments)));
  return ok ? ExitStatus::done : ExitStatus::answer_no;
}

ExitStatus hardware(const Arguments& arguments) {
  const auto& positional = arguments.positional();
  static const std::vector<std::string> verbs{"list", "show", "check", "measure"};
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
  if (verb == "check") return check(arguments, {positional.begin() + 1, positional.end()});
  refuse("hardware",
         fmt::format("expected list, show ID, check [ID|FILE ...] or measure -o FILE, found '{}'{}",
                     join(positional, " "), verb.empty() || contains(verbs, verb) ? "" : did_you_mean(verb, verbs)));
}

std::vector<OptionSpec> hardware_options() { return hardware_measure_options() + output_options(); }

}  // namespace

Command hardware_command() {
  return {.name = "hardware",
          .summary = "list, show, check or measure GPU profiles",
          .usage = "list | show ID | check [ID|FILE ...] | measure -o FILE",
          .examples = {"tilescope hardware list", "tilescope hardware show h200_sxm --format md",
                       "tilescope hardware check my_gpu.yaml", "tilescope hardware measure -o my_gpu.yaml"},
          .notes =
              "measure runs microbenchmarks on this machine's GPU and writes a profile. Exit status 1 when a check "
              "fails.",
          .options = hardware_options,
          .run = hardware,
          .most_positional = 1000,
          .first_words = {"list", "show", "check", "measure"}};
}

}  // namespace tilescope::cli
