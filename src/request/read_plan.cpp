// Reads the plan of a command from --kernel, --schedule, --diagram, --size and --pass.
#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "base/contains.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "derive/checked.h"
#include "derive/nests/why_not.h"
#include "predict/point/plan.h"
#include "request/read_point.h"

namespace tilescope {
namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 40;

// The schedule of a pass if neither a schedule nor a kernel is given.
std::string default_schedule(Pass pass) { return std::string(properties(pass).schedule); }

// Reports a schedule that does not fit the diagram in one line, not in one line per loop.
Plan plan_on_diagram(const std::string& schedule, const std::string& diagram) {
  try {
    return load_plan_for_schedule(schedule, data_directory(), diagram);
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    if (first.path == "--schedule" || first.path == "schedule") throw;
    refuse("--diagram", fmt::format("schedule '{}' does not fit diagram '{}': {}: {}; give another --schedule",
                                    schedule, diagram, first.path, first.message));
  }
}

// Shipped schedules on their own diagrams are legal and compute them: tests run them.
void refuse_wrong(const Schedule& schedule) {
  const auto cannot = [&](const std::string& why) {
    refuse("--schedule",
           fmt::format("'{}' cannot run on diagram '{}': {}; choose another schedule, derive lists the legal ones",
                       schedule.name, schedule.diagram.name, why));
  };
  if (const std::string why = illegal(schedule); !why.empty()) cannot("kernel " + why);
  const auto wrong = wrong_result_of(schedule);
  if (const auto* none = std::get_if<NoProgram>(&wrong)) cannot(none->reason);
  if (const auto& difference = std::get<std::string>(wrong); !difference.empty())
    throw std::logic_error(fmt::format("the program of schedule '{}' does not compute diagram '{}': {}", schedule.name,
                                       schedule.diagram.name, difference));
}

}  // namespace

void apply_sizes(Diagram& diagram, const std::vector<std::string>& given) {
  std::set<std::string> seen;
  for (const std::string& list : given)
    for (const std::string& part : split(list, ',')) {
      const std::size_t equals = part.find('=');
      const auto value = equals == std::string::npos ? std::nullopt : parse_count(part.substr(equals + 1));
      if (!value || *value < 1 || *value > largest_size || equals == 0)
        refuse(
            "--size",
            fmt::format("expected NAME=SIZE[,NAME=SIZE...] with positive sizes, as in a=1024,b=2k, found '{}'", part));
      const std::string name = part.substr(0, equals);
      if (!seen.insert(name).second) refuse("--size", fmt::format("'{}' is given twice", name));
      set_size(diagram, name, *value);
    }
}

Plan read_plan(const Options& options, const std::optional<std::string>& kernel,
               const std::optional<std::string>& schedule) {
  const auto diagram = options.text("diagram"), given_pass = options.text("pass");
  std::optional<Pass> pass;  // the option's choices are the names of Pass
  if (given_pass) pass = parse_kind<Pass>(*given_pass);
  if (kernel && schedule) refuse("--kernel", "give --kernel or --schedule, not both: a kernel names its schedule");
  if (kernel && diagram)
    refuse("--diagram",
           "give --kernel or --diagram, not both: a kernel computes its schedule's diagram; use --schedule");
  Plan plan;
  if (kernel) {
    plan = load_plan_for_kernel(*kernel, data_directory());
  } else if (diagram) {
    const Diagram wanted = find_diagram(*diagram, data_directory() / "models");
    plan = plan_on_diagram(schedule.value_or(default_schedule(pass.value_or(pass_of(wanted)))), *diagram);
  } else {
    plan = load_plan_for_schedule(schedule.value_or(default_schedule(pass.value_or(Pass::forward))), data_directory());
  }
  if (const Pass own = pass_of(plan.schedule.diagram); given_pass && pass != own)
    refuse("--pass",
           fmt::format("expected {}, as {} '{}' is, found '{}'; leave --pass out or choose another {}", to_string(own),
                       kernel ? "kernel" : "schedule", kernel ? plan.kernel.name : plan.schedule.name, *given_pass,
                       kernel ? "kernel" : "schedule"));
  const bool own_file = schedule && !contains(shipped_names(data_directory() / "models" / "schedules"), *schedule);
  if (diagram || own_file) refuse_wrong(plan.schedule);
  apply_sizes(plan.schedule.diagram, options.all("size"));
  return plan;
}

Plan read_plan(const Options& options) { return read_plan(options, options.text("kernel"), options.text("schedule")); }

}  // namespace tilescope
