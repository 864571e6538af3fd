#include "cli/commands/why_not.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "base/text.h"
#include "cli/output/output.h"
#include "derive/nests/why_not.h"

namespace tilescope::cli {
namespace {

struct Question {
  AxisId axis{};
  Asked asked = Asked::group;
};

Question read_question(const std::string& text, const Schedule& schedule) {
  static const std::vector<std::string> partitions{"whole", "group", "stream", "parts"};
  const std::size_t colon = text.find(':');
  const auto refuse = [&](const std::string& message) {
    throw InputError(Diagnostic{.path = "--why-not", .message = message});
  };
  if (colon == std::string::npos) refuse(fmt::format("expected AXIS:PARTITION, as in kv:group, found '{}'", text));
  const std::string name = text.substr(0, colon), partition = text.substr(colon + 1);
  const auto axis = axis_by_name(schedule, name);
  std::vector<std::string> known;
  for (const Axis& candidate : schedule.source.axes) known.push_back(candidate.name);
  for (const Parameter& parameter : schedule.parameters)
    if (!contains(known, parameter.name)) known.push_back(parameter.name);
  if (!axis)
    refuse(fmt::format("schedule '{}' has no axis or tile '{}'{}", schedule.name, name, did_you_mean(name, known)));
  const auto asked = std::find(partitions.begin(), partitions.end(), partition);
  if (asked == partitions.end())
    refuse(fmt::format("expected whole, group, stream or parts, found '{}'{}", partition,
                       did_you_mean(partition, partitions)));
  return {*axis, static_cast<Asked>(asked - partitions.begin())};
}

const Columns<WhyNot>& why_not_columns() {
  using R = WhyNot;
  static const Columns<R> columns{
      {{"kernel", "kernel", "", "Kernel of the schedule.", Origin::question}, [](const R& r) { return r.kernel; }},
      {{"allowed", "allowed", "", "Whether the axis may be partitioned so.", Origin::loops},
       [](const R& r) { return r.allowed; }},
      {{"loops", "loops", "", "The kernel's loops with the axis partitioned so.", Origin::loops},
       [](const R& r) { return r.loops; }},
      {{"because", "because", "", "The rule that forbids it, or what it costs.", Origin::loops},
       [](const R& r) { return r.reason; }},
  };
  return columns;
}

}  // namespace

ColumnList why_not_column_list() { return listed("why not", "explain --why-not", why_not_columns()); }

ExitStatus print_why_not(const Arguments& arguments, const Schedule& schedule) {
  const Question question = read_question(*arguments.text("why-not"), schedule);
  const std::vector<WhyNot> answers = why_not(schedule, question.axis, question.asked);
  const std::string title = fmt::format("{} of {}", *arguments.text("why-not"), schedule.name);
  deliver(arguments, render(table_of(title, why_not_columns(), answers), style_of(arguments)));
  return std::all_of(answers.begin(), answers.end(), [](const WhyNot& answer) { return answer.allowed; })
             ? ExitStatus::done
             : ExitStatus::answer_no;
}

}  // namespace tilescope::cli
