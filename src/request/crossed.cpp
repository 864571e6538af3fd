#include "request/crossed.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/data_directory.h"
#include "base/text.h"
#include "hardware/changes.h"
#include "hardware/derived.h"
#include "predict/sm/rates.h"
#include "request/choose_kernel.h"
#include "request/compared.h"
#include "request/sweep/grid.h"

namespace tilescope {
namespace {

[[noreturn]] void refuse_empty(const std::string& name, const std::string& given) {
  refuse("--" + name, fmt::format("holds an empty value: '{}'", given));
}

// Parts between the commas or semicolons of `text`, those in brackets left alone: "a,b[x=1;y=2]" is two.
std::vector<std::string> by_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if ((c == ',' || c == ';') && depth == 0) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

std::vector<std::string> comma_list(const Options& options, const std::string& name) {
  std::vector<std::string> values;
  for (const std::string& given : options.all(name))
    for (const std::string& value : by_commas(given)) {
      if (value.empty()) refuse_empty(name, given);
      values.push_back(value);
    }
  return values;
}

// Choices of formats. A format for all arrays begins one, and formats of single arrays belong to it: "fp16,kv=fp8,bf16"
// are two choices. No --dtype is one choice, the empty text.
std::vector<std::string> dtype_choices(const Options& options) {
  std::vector<std::string> choices;
  for (const std::string& given : options.all("dtype")) {
    bool begins = true;
    for (const std::string& part : by_commas(given)) {
      if (part.empty()) refuse_empty("dtype", given);
      if (begins || part.find('=') == std::string::npos) choices.push_back(part);
      else choices.back() += "," + part;
      begins = false;
    }
  }
  for (const std::string& choice : choices) refuse_unknown_formats(choice);
  if (choices.empty()) choices.emplace_back();
  return choices;
}

// GPUs of the question with the rates that they are compared by.
std::vector<HardwareProfile> compared_gpus(const std::vector<std::string>& ids, std::optional<RatesFrom>& rates) {
  ProfileCatalogue catalogue(data_directory() / "hardware");
  std::vector<HardwareProfile> gpus;
  for (const std::string& id : ids) gpus.push_back(catalogue.find(id, rates.value_or(RatesFrom::stated)));
  if (rates || ids.size() == 1 || common_rates(gpus) == RatesFrom::stated) return gpus;
  rates = RatesFrom::derived;
  for (HardwareProfile& gpu : gpus) gpu = catalogue.complete(std::move(gpu), RatesFrom::derived);
  return gpus;
}

std::vector<std::string> gpus_of(const Options& options) {
  std::vector<std::string> gpus = listed_gpus(options);
  if (gpus.empty())
    refuse("--hardware", "is missing: give GPUs to compare, as in --hardware h100_sxm,h200_sxm, or all");
  return gpus;
}

std::vector<AskedKernel> asked_by(const Options& options) {
  std::vector<AskedKernel> list;
  for (const std::string& kernel : comma_list(options, "kernel")) list.push_back({kernel, std::nullopt});
  for (const std::string& schedule : comma_list(options, "schedule")) list.push_back({std::nullopt, schedule});
  if (list.empty()) list.emplace_back();
  return list;
}

}  // namespace

std::vector<std::string> gpus_named(const std::string& given) {
  const auto [name, changes] = name_and_changes(given);
  if (name != "all") return {given};
  std::vector<std::string> gpus;
  for (const HardwareProfile& gpu : list_profiles(data_directory() / "hardware"))
    gpus.push_back(changes.empty() ? gpu.id : changed_name(gpu.id, changes));
  return gpus;
}

std::vector<std::string> listed_gpus(const Options& options) {
  std::vector<std::string> gpus;
  for (const std::string& given : comma_list(options, "hardware"))
    for (std::string& gpu : gpus_named(given)) gpus.push_back(std::move(gpu));
  return gpus;
}

bool CrossedQuestion::same_id(std::size_t gpu) const {
  const auto has_id = [&](const HardwareProfile& other) { return other.id == profiles[gpu].id; };
  return std::count_if(profiles.begin(), profiles.end(), has_id) > 1;
}

CrossedQuestion crossed_question(const Options& options) {
  CrossedQuestion question{options, gpus_of(options), {}, dtype_choices(options), asked_by(options)};
  std::optional<RatesFrom> rates = rates_from(options);
  question.profiles = compared_gpus(question.gpus, rates);
  for (const char* list : {"dtype", "kernel", "schedule", "hardware", "sort", "best", "basis"})
    question.options = question.options.without(list);
  if (rates) question.options = question.options.with("basis", to_string(*rates));
  return question;
}

RowOptions row_options(const CrossedQuestion& question, const AskedKernel& asked, const std::string& gpu,
                       const std::string& dtype) {
  RowOptions row{question.options.with("hardware", gpu)};
  if (!dtype.empty()) row.options = row.options.with("dtype", dtype);
  if (asked.schedule) row.options = row.options.with("schedule", *asked.schedule);
  if (!asks_for_choice(asked.kernel)) {
    if (asked.kernel) row.options = row.options.with("kernel", *asked.kernel);
    return row;
  }
  try {
    const KernelChoice choice = choose_kernel(row.options.with("kernel", *asked.kernel));
    row.reason = join(choice.reasons, "; ");
    if (choice.kernel.empty()) return row;
    if (dtype.empty() && *asked.kernel == "auto") row.options = row.options.with("dtype", "fp16");
    row.options = row.options.without("diagram").with("kernel", choice.kernel);
  } catch (const InputError& error) {
    row.diagnostics = error.diagnostics();
  }
  return row;
}

std::vector<Options> crossed(const Options& options) {
  const CrossedQuestion question = crossed_question(options);
  std::vector<Options> rows;
  for (const AskedKernel& asked : question.kernels)
    for (const std::string& gpu : question.gpus)
      for (const std::string& dtype : question.dtypes) {
        Options& row = rows.emplace_back(question.options.with("hardware", gpu));
        if (!dtype.empty()) row = row.with("dtype", dtype);
        if (asked.schedule) row = row.with("schedule", *asked.schedule);
        if (asked.kernel) row = row.with("kernel", *asked.kernel);
      }
  return rows;
}

void each_answer(const Options& options, const std::function<void(const PredictedPoint&)>& visit) {
  if (!options.has("axis")) {
    const Answer a = answer(options);
    return visit(a.row());
  }
  each_point(SweepGrid(options), [&](const SweptPoint& swept) {
    const Plan& plan = *swept.of->plan;
    const HardwareProfile& hardware = *swept.of->hardware;
    const Prediction* prediction = swept.predicted();
    const JsonOptions errors = prediction ? stated_errors(plan, hardware, swept.point, *prediction) : JsonOptions{};
    visit({plan, hardware, swept.point, prediction, errors, join(swept.reasons, "; ")});
  });
}

}  // namespace tilescope
