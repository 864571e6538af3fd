#include "request/choose_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/contains.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "predict/point/plan_cache.h"
#include "request/answer.h"

namespace tilescope {
namespace {

std::filesystem::path kernels_directory() { return data_directory() / "kernels"; }

struct Timed {
  std::string kernel;
  double seconds = 0;
};

// The prediction's time of a kernel that exists for the point; nullopt: it does not.
std::optional<double> seconds_of(const Options& options, const std::string& kernel) {
  try {
    const Answer a = answer_of_plan(options.with("kernel", kernel));
    if (!a.outside.empty() || !a.prediction.feasible) return std::nullopt;
    return a.prediction.time.total;
  } catch (const InputError&) {
    return std::nullopt;  // not built for the formats, the mask, the head_dim, the tile or the GPU
  } catch (const CountOverflow&) {
    return std::nullopt;
  }
}

Options for_kernels(const Options& options) {
  const Options open = options.without("kernel").without("diagram");  // a kernel has its own diagram
  return options.has("dtype") ? open : open.with("dtype", "fp16");    // not each kernel's own
}

KernelChoice fastest(const Options& options) {
  const Options open = for_kernels(options);
  const Plan plain = read_plan(options.without("kernel"));
  if (options.has("schedule")) refuse("--kernel", "auto chooses the schedule too; leave out --schedule");
  std::vector<Timed> timed;
  for (const std::string& kernel : kernels_of_diagram(plain.schedule.diagram.name))
    if (const auto seconds = seconds_of(open, kernel)) timed.push_back({kernel, *seconds});
  std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; });
  const std::string gpu = read_hardware(options).id;
  if (timed.empty())
    return {
        {}, {}, {fmt::format("no kernel with a descriptor takes this point on {}; see tilescope list kernels", gpu)}};
  std::vector<std::string> shown;
  for (const Timed& each : timed) shown.push_back(fmt::format("{} {:.2f} us", each.kernel, each.seconds * 1e6));
  constexpr std::size_t most = 4;
  if (shown.size() > most) shown.resize(most), shown.emplace_back("...");
  return {timed.front().kernel,
          fmt::format("--kernel auto: {} is predicted to be the fastest of {} kernels for this point on {}: {}",
                      timed.front().kernel, timed.size(), gpu, join(shown, ", ")),
          {}};
}

std::pair<std::string, std::string> software_and_backend(const std::string& text) {
  const std::size_t colon = text.find(':');
  return {text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
}

// The table of a software, and a check of the backend.
Calls calls_of(const std::string& software, const std::string& backend) {
  for (const auto& [name, file] : shipped_calls(kernels_directory())) {
    if (name != software) continue;
    Calls calls = load_calls(file);
    std::vector<std::string> backends;
    for (const CallRule& rule : calls.rules)
      if (!contains(backends, rule.backend)) backends.push_back(rule.backend);
    if (!backend.empty() && !contains(backends, backend))
      refuse("--kernel", fmt::format("{} has no backend '{}'{}", software, backend, did_you_mean(backend, backends)));
    return calls;
  }
  throw std::logic_error("no table of calls of " + software);
}

}  // namespace

bool asks_for_choice(const std::optional<std::string>& kernel) {
  if (!kernel) return false;
  if (*kernel == "auto") return true;
  const auto tables = shipped_calls(kernels_directory());
  const std::string software = software_and_backend(*kernel).first;
  return std::any_of(tables.begin(), tables.end(), [&](const auto& table) { return table.first == software; });
}

std::vector<std::string> kernels_of_diagram(const std::string& diagram) {
  const std::filesystem::path data = data_directory();
  const auto kernels = shipped_kernels(data / "kernels");
  std::vector<std::shared_ptr<const Plan>> plans(kernels.size());
  std::vector<std::string> names;
  in_order(
      kernels.size(), all_cores(),
      [&](std::size_t i, std::size_t) { plans[i] = shipped_plan(kernels[i].first, kernels[i].second, data); },
      [&](std::size_t i, std::size_t) {
        if (plans[i]->schedule.diagram.name == diagram) names.push_back(kernels[i].first);
      });
  return names;
}

KernelChoice kernel_of_call(const std::string& text, const HardwareProfile& hardware, const Plan& plan,
                            const Point& point) {
  const auto [software, backend] = software_and_backend(text);
  const Calls calls = calls_of(software, backend);
  const std::string by = backend.empty() ? calls.call : fmt::format("{} with backend {}", calls.call, backend);
  if (!contains(calls.dtypes, point.dtypes[0]) || !contains(calls.masks, point.mask.kind))
    return {
        {},
        {},
        {fmt::format("the table of {} covers no {} with mask {}", by, to_string(point.dtypes[0]), point.mask.text)}};
  const CallRule* rule = launched_by(calls, hardware, {pass_of(plan.schedule.diagram), point.workload, backend});
  if (!rule) return {{}, {}, {fmt::format("the table of {} has no rule for this call", by)}};
  const std::string launch = fmt::format("{} launches {} (backend {})", by, rule->launches, rule->backend);
  if (rule->kernel.empty())
    return {{},
            {},
            {fmt::format("{}, which no descriptor describes; --kernel {}:BACKEND asks for another backend", launch,
                         software)},
            rule->launches};
  return {rule->kernel, fmt::format("--kernel {}: {}, kernel {}", text, launch, rule->kernel), {}, rule->launches};
}

KernelChoice choose_kernel(const Options& options) {
  const std::string asked = options.text("kernel").value_or("");
  if (asked == "auto") return fastest(options);
  const Options open = options.without("kernel").without("tile").without("splits");
  const Plan plan = read_plan(open);
  return kernel_of_call(asked, read_hardware(options), plan, read_point(open, plan));
}

}  // namespace tilescope
