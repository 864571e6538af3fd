#include "request/choose_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/contains.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "predict/point/plan_cache.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "request/answer.h"

namespace tilescope {
namespace {

std::filesystem::path kernels_directory() { return data_directory() / "kernels"; }

// A kernel that may be the fastest.
struct Contender {
  std::string kernel;
  StartedAnswer started;
  double closed_seconds = 0;  // by the closed form
  bool runs = false;
  std::optional<double> seconds = {};  // as predicted; nullopt: far behind, or it does not run
};

// Calls `step`; false: the kernel is not built for the formats, the mask, the head_dim, the tile or the GPU.
template <class Step>
bool possible(Step step) {
  try {
    step();
    return true;
  } catch (const InputError&) {
    return false;
  } catch (const CountOverflow&) {
    return false;
  }
}

// nullopt: no tile fits.
std::optional<double> seconds_by_closed_form(const StartedAnswer& started) {
  if (const auto seconds = started.tiles.seconds()) return seconds;
  Point closed = started.answer.point;
  closed.l2 = L2Model::closed;
  const Prediction prediction = predict(started.answer.plan, started.answer.hardware, closed);
  return prediction.feasible ? std::optional(prediction.time.total) : std::nullopt;
}

// The kernels that exist for the point, without a walk through the L2.
std::vector<Contender> contenders(const Options& options, const std::vector<std::string>& kernels) {
  std::vector<Contender> all;
  for (const std::string& kernel : kernels)
    possible([&] {
      Contender one{.kernel = kernel, .started = start_answer(options.with("kernel", kernel))};
      const Answer& a = one.started.answer;
      refuse_unsupported(a.plan, a.hardware, a.point);
      if (!outside_shapes(a.plan.kernel, a.hardware, a.point.workload).empty()) return;
      if (const auto seconds = seconds_by_closed_form(one.started)) one.closed_seconds = *seconds;
      else return;
      all.push_back(std::move(one));
    });
  return all;
}

constexpr std::size_t most_shown = 4;

// Predicts the contenders as `predict` does, but for those that the closed form puts far behind the ones that are
// shown: the walk through the L2 takes longer than all else.
void predict_contenders(std::vector<Contender>& all) {
  constexpr double far_behind = 2;
  std::vector<double> by_closed_form;
  for (const Contender& each : all) by_closed_form.push_back(each.closed_seconds);
  std::sort(by_closed_form.begin(), by_closed_form.end());
  const double most =
      all.size() <= most_shown ? std::numeric_limits<double>::infinity() : far_behind * by_closed_form[most_shown - 1];
  const bool walks = !all.empty() && all.front().started.answer.point.l2 == L2Model::walk;
  in_order(
      all.size(), walks ? all_cores() : 1,
      [&](std::size_t i, std::size_t) {
        Contender& one = all[i];
        one.runs = possible([&] {
          if (one.closed_seconds > most) return;
          finish_answer(one.started);
          const Prediction& prediction = one.started.answer.prediction;
          if (prediction.feasible) one.seconds = prediction.time.total;
        });
      },
      [](std::size_t, std::size_t) {});
}

Options for_kernels(const Options& options) {
  const Options open = options.without("kernel").without("diagram");  // a kernel has its own diagram
  return options.has("dtype") ? open : open.with("dtype", "fp16");    // not each kernel's own
}

KernelChoice fastest(const Options& options) {
  const Plan plain = read_plan(options.without("kernel"));
  if (options.has("schedule")) refuse("--kernel", "auto chooses the schedule too; leave out --schedule");
  std::vector<Contender> all = contenders(for_kernels(options), kernels_of_diagram(plain.schedule.diagram.name));
  predict_contenders(all);
  std::vector<Contender*> timed;
  for (Contender& each : all)
    if (each.seconds) timed.push_back(&each);
  std::stable_sort(timed.begin(), timed.end(),
                   [](const Contender* a, const Contender* b) { return *a->seconds < *b->seconds; });
  const std::string gpu = read_hardware(options).id;
  if (timed.empty())
    return {
        {}, {}, {fmt::format("no kernel with a descriptor takes this point on {}; see tilescope list kernels", gpu)}};
  const auto count = std::count_if(all.begin(), all.end(), [](const Contender& each) { return each.runs; });
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(timed.size(), most_shown); ++i)
    shown.push_back(fmt::format("{} {:.2f} us", timed[i]->kernel, *timed[i]->seconds * 1e6));
  if (count > std::ssize(shown)) shown.emplace_back("...");
  const std::string best = timed.front()->kernel;
  return {.kernel = best,
          .how = fmt::format("--kernel auto: {} is predicted to be the fastest of {} kernels for this point on {}: {}",
                             best, count, gpu, join(shown, ", ")),
          .reasons = {},
          .answer = std::make_shared<Answer>(std::move(timed.front()->started.answer))};
}

std::pair<std::string, std::string> software_and_backend(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon + 1 == text.size())
    refuse("--kernel", fmt::format("'{}' names no backend; leave out the colon, or name one behind it", text));
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
  if (hardware.vendor != "NVIDIA")
    return {
        {},
        {},
        {fmt::format("the table of {} is of NVIDIA's GPUs, {} is of {}", calls.call, hardware.id, hardware.vendor)}};
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
  const HardwareProfile hardware = read_hardware(options);
  const KernelChoice choice = kernel_of_call(asked, hardware, plan, read_point(open, plan));
  if (choice.kernel.empty()) return choice;
  // Nobody asked for this kernel by its name, so one that is not built for the point is an answer.
  const Options named = open.without("diagram").with("kernel", choice.kernel);
  const Plan built = read_plan(named);
  std::vector<std::string> reasons;
  if (std::string reason = unsupported_on(built, hardware); !reason.empty()) reasons.push_back(std::move(reason));
  else reasons = unsupported(built, hardware, read_point(named, built));
  for (std::string& reason : reasons) reason = choice.how + "; " + reason;
  return reasons.empty() ? choice : KernelChoice{{}, {}, std::move(reasons)};
}

}  // namespace tilescope
