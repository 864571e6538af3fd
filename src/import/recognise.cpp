#include "import/recognise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "import/kernel_of_launch.h"
#include "import/point_of_call.h"
#include "request/options.h"

namespace tilescope::imported {
namespace {

bool is_aside(const std::string& name, const OperatorTable& table) {
  return std::any_of(table.aside.begin(), table.aside.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

bool agrees(const HardwareProfile& profile, const ToolDevice& device) {
  if (!device.compute_capability.empty() && device.compute_capability != profile.compute_capability) return false;
  if (device.units != 0 && device.units != profile.units.value) return false;
  const MemoryLevel* hbm = profile.level(LevelId::hbm);
  if (device.memory_bytes == 0 || !hbm || !hbm->capacity_bytes) return true;
  return std::abs(static_cast<double>(device.memory_bytes) / hbm->capacity_bytes->value - 1) < 0.12;
}

std::vector<std::string> names_of(const ToolFile& file, const std::vector<std::size_t>& launches) {
  std::vector<std::string> names;
  for (const std::size_t each : launches) names.push_back(file.launches[each].name);
  return names;
}

// Whether --point has no sizes: it states what the file's calls lack.
bool completes_calls(const ToolFile& file, const Asked& asked) {
  return !file.operators.empty() && asked.points.size() == 1 && !asked.points.front().options.has("q-len") &&
         !asked.points.front().options.has("workload");
}

class Recogniser {
 public:
  Recogniser(const ToolFile& file, const OperatorTable& table, const HardwareProfile& hardware, const Asked& asked)
      : file_(&file), table_(&table), hardware_(&hardware), asked_(&asked) {}

  std::vector<FoundRun> by_operators() {
    std::map<std::size_t, std::vector<std::size_t>> calls;  // launches by call
    for (std::size_t i = 0; i < file_->launches.size(); ++i) {
      const ToolLaunch& launch = file_->launches[i];
      if (is_aside(launch.name, *table_)) add_unknown(i, "");
      else if (launch.call) calls[*launch.call].push_back(i);
      else
        add_unknown(i,
                    is_known_launch(launch.name) ? "looks like attention, but lies in no operator; give --point" : "");
    }
    for (const auto& [call, launches] : calls) add_run(launches, answer_of_call(call, launches));
    return sorted();
  }

  std::vector<FoundRun> by_points() {
    std::vector<std::vector<std::size_t>> covered(asked_->points.size());
    for (std::size_t i = 0; i < file_->launches.size(); ++i) {
      const ToolLaunch& launch = file_->launches[i];
      const auto first = std::find_if(asked_->points.begin(), asked_->points.end(), [&](const GivenPoint& point) {
        return point.covers(launch) && (!point.name.empty() || !is_aside(launch.name, *table_));
      });
      if (first == asked_->points.end()) add_unknown(i, "");
      else covered[static_cast<std::size_t>(first - asked_->points.begin())].push_back(i);
    }
    std::vector<Diagnostic> findings;
    for (std::size_t i = 0; i < covered.size(); ++i) {
      try {
        add_point(asked_->points[i], covered[i]);
      } catch (const InputError& error) {
        for (const Diagnostic& finding : error.diagnostics()) findings.push_back(at_place(asked_->points[i], finding));
      }
    }
    if (!findings.empty()) throw InputError(std::move(findings));
    return sorted();
  }

 private:
  void add_unknown(std::size_t launch, const std::string& reason) { runs_.push_back({{launch}, {}, reason}); }

  void add_run(const std::vector<std::size_t>& launches, const KernelAnswer& answer) {
    if (answer.point && answer.launches == launches.size()) {
      runs_.push_back({launches, answer.point, {}});
      return;
    }
    const std::string reason = answer.point ? fmt::format("the call launches {} kernels, the descriptor {} has {}",
                                                          launches.size(), answer.point->kernel, answer.launches)
                                            : answer.reason;
    for (const std::size_t each : launches) add_unknown(each, reason);
  }

  // Calls of equal arguments that launch kernels of equal names are answered once.
  KernelAnswer answer_of_call(std::size_t call, const std::vector<std::size_t>& launches) {
    const ToolOperator& given = file_->operators[call];
    const std::vector<std::string> names = names_of(*file_, launches);
    const std::string key = key_of(given) + join(names, "\n");
    const auto known = answers_.find(key);
    if (known != answers_.end()) return known->second;
    return answers_[key] = new_answer(given, names);
  }

  KernelAnswer new_answer(const ToolOperator& given, const std::vector<std::string>& names) const {
    const AttentionOperator& kind = *table_->find(given.name);
    const CallPoint point =
        point_of_call(given, kind, completes_calls(*file_, *asked_) ? asked_->points.front().options : Options());
    if (!point.problem.empty()) return {.point = {}, .main = {}, .reason = given.name + ": " + point.problem};
    const std::string kernel = asked_->kernel.value_or(kind.kernel);
    if (kernel.empty())
      return {.point = {}, .main = {}, .reason = "no descriptor describes the kernels of " + given.name};
    try {
      return kernel_of_launch(point.options.with("hardware", hardware_->file), kernel, kind.launches, names);
    } catch (const InputError& error) {
      return {.point = {}, .main = {}, .reason = error.diagnostics().front().message};
    } catch (const std::overflow_error& error) {
      return {.point = {}, .main = {}, .reason = error.what()};
    }
  }

  void add_point(const GivenPoint& point, const std::vector<std::size_t>& covered) {
    if (covered.empty()) refuse("--point", "covers no launch of " + file_->path + "; see the table without --point");
    std::vector<std::size_t> known;
    std::copy_if(covered.begin(), covered.end(), std::back_inserter(known),
                 [&](std::size_t each) { return is_known_launch(file_->launches[each].name); });
    refuse_several(point, known);
    Options options = point.options.with("hardware", hardware_->file).without("kernel");
    const std::string kernel = point.options.text("kernel").value_or(asked_->kernel.value_or(""));
    KernelAnswer answer = kernel_of_launch(options, kernel, "", names_of(*file_, covered));
    if (!answer.point) refuse("--point", answer.reason);
    if (file_->form == ToolForm::measured_yaml) answer.launches = 1;  // it states sums over the launches of a run
    std::vector<std::size_t> own = covered;
    if (answer.launches == 1) own = single_launches(point, covered, answer);
    if (own.size() % answer.launches != 0)
      refuse("--point", fmt::format("{} launches are no multiple of the {} of a run of {}; choose them with name= or "
                                    "launches=",
                                    own.size(), answer.launches, answer.point->kernel));
    for (std::size_t i = 0; i < own.size(); i += answer.launches)
      runs_.push_back({{own.begin() + static_cast<std::ptrdiff_t>(i),
                        own.begin() + static_cast<std::ptrdiff_t>(i + answer.launches)},
                       answer.point,
                       {}});
  }

  // One point without a choice of launches is of one kernel.
  void refuse_several(const GivenPoint& point, const std::vector<std::size_t>& launches) const {
    if (!point.name.empty() || !point.numbers.empty()) return;
    std::set<std::string> names;
    for (const std::string& name : names_of(*file_, launches)) names.insert(short_name(name));
    if (names.size() > 1)
      refuse("--point", fmt::format("covers {} different kernels, such as {} and {}; choose with name=", names.size(),
                                    shown_text(*names.begin()), shown_text(*names.rbegin())));
  }

  // Of the launches that a point covers, those of its one kernel.
  std::vector<std::size_t> single_launches(const GivenPoint& point, const std::vector<std::size_t>& covered,
                                           const KernelAnswer& answer) {
    std::vector<std::size_t> own;
    for (const std::size_t each : covered)
      if (file_->launches[each].name.find(answer.main) != std::string::npos) own.push_back(each);
      else add_unknown(each, "");
    refuse_several(point, own);
    return own;
  }

  std::vector<FoundRun> sorted() {
    std::sort(runs_.begin(), runs_.end(),
              [](const FoundRun& a, const FoundRun& b) { return a.launches.front() < b.launches.front(); });
    return std::move(runs_);
  }

  const ToolFile* file_;
  const OperatorTable* table_;
  const HardwareProfile* hardware_;
  const Asked* asked_;
  std::vector<FoundRun> runs_;
  std::map<std::string, KernelAnswer> answers_;
};

}  // namespace

HardwareProfile hardware_of(const ToolFile& file, const std::optional<std::string>& hardware) {
  const auto found = file.devices.find(file.launches.front().device);
  return hardware_of(found != file.devices.end() ? found->second : ToolDevice{}, file.path, hardware);
}

HardwareProfile hardware_of(const ToolDevice& device, const std::string& path,
                            const std::optional<std::string>& hardware) {
  const std::filesystem::path folder = data_directory() / "hardware";
  if (hardware) return find_profile(*hardware, folder);
  if (device.units == 0)
    refuse("--hardware",
           fmt::format("is missing: {} does not say which GPU it is of; give it as in --hardware h100_sxm", path));
  std::vector<HardwareProfile> fitting;
  for (HardwareProfile& profile : list_profiles(folder))
    if (agrees(profile, device)) fitting.push_back(std::move(profile));
  keep_best_named(fitting, device.name);
  if (fitting.size() == 1) return fitting.front();
  std::vector<std::string> ids;
  for (const HardwareProfile& profile : fitting) ids.push_back(profile.id);
  refuse("--hardware", fitting.empty() ? fmt::format("no profile describes {} with {} SMs; give one as --hardware FILE",
                                                     shown_text(device.name), device.units)
                                       : fmt::format("several profiles describe {}: {}; name one",
                                                     shown_text(device.name), join(ids, ", ")));
}

std::vector<FoundRun> recognise(const ToolFile& file, const OperatorTable& table, const HardwareProfile& hardware,
                                const Asked& asked) {
  Recogniser recogniser(file, table, hardware, asked);
  return asked.points.empty() || completes_calls(file, asked) ? recogniser.by_operators() : recogniser.by_points();
}

std::string short_name(const std::string& name) {
  std::string plain;
  int depth = 0;
  for (const char c : name) {
    if (c == '<' || c == '(') ++depth;
    if (depth == 0) plain += c;
    if ((c == '>' || c == ')') && depth > 0) --depth;
    // What follows the parameters, and "(anonymous namespace)", is left out.
  }
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  if (const std::size_t space = plain.rfind(' '); space != std::string::npos) plain = plain.substr(space + 1);
  if (const std::size_t colons = plain.rfind("::"); colons != std::string::npos) plain = plain.substr(colons + 2);
  return plain.empty() ? name : plain;
}

}  // namespace tilescope::imported
