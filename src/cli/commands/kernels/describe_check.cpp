#include "cli/commands/kernels/describe_check.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/input/options.h"
#include "cli/output/launches/check_columns.h"
#include "records/capture/capture_lines.h"

namespace tilescope::cli {
namespace {

using launches::BetterValue;
using launches::CheckedDescription;

std::string verdict_text(const CheckedDescription& checked) {
  const std::size_t all = checked.quantities.size(), fitting = checked.fitting();
  if (fitting == all) return fmt::format("{} of {} counts fit the description\n", fitting, all);
  std::string text = fmt::format("{} of {} counts fit the description", fitting, all);
  if (checked.better.empty()) return text + "; no other value of one key fits more of them\n";
  text += "\n";
  for (const BetterValue& better : checked.better)
    text += fmt::format("wrong key: {}: {} stands in the description, with {} {} of {} counts fit\n", better.key,
                        better.found, better.better, better.fitting, all);
  return text;
}

Json check_json(const DescribeInput& input, const CheckedDescription& checked) {
  Json better = Json::array();
  for (const BetterValue& each : checked.better)
    better.push_back({{"key", each.key}, {"found", each.found}, {"better", each.better}, {"fitting", each.fitting}});
  return {{"schema", "tilescope/check/1"},
          {"kernel", input.facts.kernel},
          {"quantities", objects_of(check_columns(), checked.quantities)},
          {"fitting", checked.fitting()},
          {"wrong", std::move(better)}};
}

}  // namespace

ExitStatus check_against_capture(const Arguments& arguments, const DescribeInput& input,
                                 const Description& description) {
  const std::string place = *arguments.text("check");
  if (!input.workload) refuse("--check", "needs the sizes of the launch: give --q-len and the others");
  if (!description.missing.empty()) {
    for (const MissingValue& missing : description.missing)
      print_note(fmt::format("missing: {}: {}", missing.key, missing.reason));
    return ExitStatus::answer_no;
  }
  const capture::Capture found = capture::read_capture(place);
  const launches::CapturedGroup group = launches::counted_launches(found, input.facts, input.launch, place);
  const TemporaryDirectory scratch("tilescope-check");
  const std::string mask = arguments.text("mask").value_or(input.mask);
  const CheckedDescription checked = launches::check_description(
      description.yaml(), launches::described_point(input.facts, *input.workload, mask, ""), group,
      launches::hardware_of_launch(found, *group.launches.front(), place, std::nullopt), data_directory(),
      scratch.path());
  if (checked.quantities.empty())
    throw InputError(Diagnostic{.file = place, .message = "none of the counters of this launch is predicted"});
  const Style style = style_of(arguments);
  if (style.format == OutputFormat::json) {
    deliver(arguments, check_json(input, checked).dump(1) + "\n");
  } else {
    const std::string title = fmt::format("{}, {} launches", input.name, group.launches.front()->counted.size());
    const std::string table = render(table_of(title + " counted", check_columns(), checked.quantities), style);
    deliver(arguments, style.format == OutputFormat::csv ? table : table + verdict_text(checked));
  }
  return checked.fitting() == checked.quantities.size() ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace tilescope::cli
