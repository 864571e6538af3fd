#include "cli/commands/records/predicted_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "analysis/report/points.h"
#include "analysis/report/report.h"
#include "base/checked.h"
#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/output/progress.h"
#include "cli/output/revision.h"
#include "network/calls.h"
#include "network/layer_time.h"
#include "request/crossed.h"
#include "request/sweep/grid.h"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;

// Of `model`: those that a report of its calls takes.
const std::vector<std::string> kModelOptions{"phase", "context", "chunk", "speculative", "tp"};

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

// What is gathered point by point.
struct Gathered {
  std::vector<analysis::ReportPoint> points;
  std::vector<HardwareProfile> gpus;
  std::vector<Json> predictions;
  std::vector<analysis::RefusedPoint> refused;

  void add(const PredictedPoint& row) {
    const std::string reason = no_time_reason(row);
    if (!reason.empty()) return void(refused.push_back({analysis::label_of(row), reason}));
    points.push_back(analysis::point_of(row));
    JsonOptions options = row.options;
    options.terms = false;
    predictions.push_back(to_json(row.plan, row.hardware, row.point, *row.prediction, options));
    add_gpu(row.hardware);
  }

  void take(Gathered other, const std::string& prefix) {
    for (analysis::ReportPoint& point : other.points) {
      point.label = prefix + point.label, point.id = prefix + point.id;
      points.push_back(std::move(point));
    }
    for (Json& prediction : other.predictions) predictions.push_back(std::move(prediction));
    for (analysis::RefusedPoint& point : other.refused) refused.push_back({prefix + point.label, point.reason});
    for (const HardwareProfile& gpu : other.gpus) add_gpu(gpu);
  }

 private:
  void add_gpu(const HardwareProfile& added) {
    if (std::none_of(gpus.begin(), gpus.end(), [&](const auto& gpu) { return gpu.id == added.id; }))
      gpus.push_back(added);
  }
};

// A point to predict: the first of its choices that can run.
struct AskedPoint {
  std::string prefix;  // of its label
  std::vector<Options> choices;
};

// "fused_mma fp16 l40s": the row of a question that `predict` refuses.
std::string row_label(const Options& row) {
  std::vector<std::string> words;
  for (const char* name : {"kernel", "schedule", "dtype", "hardware"})
    if (const auto text = row.text(name)) words.push_back(*text);
  return join(words, " ");
}

// Adds the points of the first choice that can run. Returns the findings where `predict` refuses them all.
std::vector<Diagnostic> add_asked(const AskedPoint& asked, Gathered& gathered) {
  std::vector<Diagnostic> findings;
  for (std::size_t i = 0; i < asked.choices.size(); ++i) {
    const bool last = i + 1 == asked.choices.size();
    Gathered found;
    try {
      each_answer(asked.choices[i], [&](const PredictedPoint& row) { found.add(row); });
    } catch (const InputError& error) {
      found.refused.push_back({row_label(asked.choices[i]), error.diagnostics().front().message});
      if (findings.empty()) findings = error.diagnostics();
    } catch (const CountOverflow& error) {
      found.refused.push_back({row_label(asked.choices[i]), error.what()});
    }
    if (found.points.empty() && !last) continue;
    gathered.take(std::move(found), asked.prefix);
    break;
  }
  return findings;
}

Gathered gather(const std::vector<AskedPoint>& rows, Progress& progress) {
  Gathered gathered;
  std::vector<Diagnostic> findings;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Diagnostic& finding : add_asked(rows[i], gathered))
      if (std::none_of(findings.begin(), findings.end(), [&](const Diagnostic& known) {
            return known.path == finding.path && known.message == finding.message;
          }))
        findings.push_back(finding);
    progress.at(i + 1, rows.size());
  }
  if (!gathered.points.empty()) return gathered;
  if (!findings.empty()) throw InputError(findings);
  refuse("report",
         gathered.refused.empty() ? "nothing was asked" : "no point has a time: " + gathered.refused.front().reason);
}

// The calls of attention of a model, one layer of each group; ideal kernels where no kernel runs one.
std::vector<AskedPoint> calls_of_model(const ModelQuestion& question) {
  std::vector<AskedPoint> asked;
  for (const std::string& gpu : question.hardware)
    for (const std::string& dtype : question.dtypes)
      for (const std::string& kernel : question.kernels)
        for (const ContextMix& mix : question.contexts)
          for (const Phase phase : question.phases)
            for (const AttentionGroup& group : question.network.attention)
              for (const AttentionCall& call : calls_of(group, phase, mix, question)) {
                Options options = options_of_call(question, call, dtype).with("hardware", gpu).with("l2", question.l2);
                if (!question.basis.empty()) options = options.with("basis", question.basis);
                AskedPoint& row = asked.emplace_back();
                row.prefix =
                    fmt::format("{} {}, {} ({} layers): ", to_string(phase), mix.text, group.name, group.layers);
                if (kernel != "ideal" && kernel != "auto") {
                  row.choices = {options.without("diagram").without("size").with("kernel", kernel)};
                  continue;
                }
                if (kernel == "auto") row.choices.push_back(options.with("kernel", kernel));
                row.choices.push_back(options.with("schedule", phase == Phase::decode ? "split-kv" : "flash2"));
                row.choices.push_back(options.with("schedule", phase == Phase::decode ? "flash2" : "split-kv"));
              }
  return asked;
}

}  // namespace

std::vector<OptionSpec> predicted_options() {
  std::vector<OptionSpec> options = point_options();
  for (OptionSpec& option : options) {
    if (option.name == "hardware")
      option.help =
          "GPU profile ids or YAML files, by commas; of records: only those of this GPU (default: the one with "
          "most)";
    if (option.name == "kernel" || option.name == "schedule" || option.name == "dtype")
      option.help += "; a list by commas, as in compare";
  }
  options = options + sweep_axis_options();
  options.push_back(
      {"model", "the attention calls of this model: a config.json, or a name in models/networks", Value::file});
  for (const OptionSpec& option : model_options())
    if (contains(kModelOptions, option.name))
      options.push_back({option.name, "of --model: " + option.help, option.value, option.choices});
  return options;
}

bool asks_for_predictions(const Options& given) {
  const std::vector<OptionSpec> options = predicted_options();
  return std::any_of(options.begin(), options.end(), [&](const OptionSpec& option) {
    return option.name != "hardware" && option.name != "basis" && given.has(option.name);
  });
}

PredictedReport predicted_report(const Arguments& arguments) {
  Options point = arguments;
  for (const OptionSpec& option : arguments.specs()) {
    const std::vector<OptionSpec> known = predicted_options();
    if (std::none_of(known.begin(), known.end(), [&](const OptionSpec& each) { return each.name == option.name; }))
      point = point.without(option.name);
  }
  std::vector<AskedPoint> asked;
  const auto model = arguments.text("model");
  if (model) asked = calls_of_model(read_model_question(*model, point));
  else
    for (Options& row : crossed(point)) asked.push_back({"", {std::move(row)}});
  Progress progress(arguments, "report: predicting");
  Gathered gathered = gather(asked, progress);
  PredictedReport answer{analysis::report_of_predictions(std::move(gathered.points), gathered.gpus),
                         std::move(gathered.predictions)};
  if (model) answer.report.title = "Attention of " + fs::path(*model).stem().string();
  answer.report.refused = std::move(gathered.refused);
  answer.report.generated = today();
  answer.report.revision = build_revision();
  return answer;
}

}  // namespace tilescope::cli
