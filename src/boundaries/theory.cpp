#include "boundaries/theory.h"

namespace tilescope {
namespace {

constexpr double fp16_bytes = 2;

}  // namespace

TheoryAnswers theory_answers(const TheoryQuestion& question, const Derivation& derivation,
                             const NamedDerivation* named) {
  TheoryAnswers answers;
  for (const HardwareProfile& gpu : question.gpus)
    answers.levels.push_back({gpu.id, boundary_optima(derivation.request, question.models, gpu, fp16_bytes)});
  if (question.gpus.size() < 2 && question.formats.size() < 2 && question.clusters.empty()) return answers;
  answers.schedule = bound_schedule(derivation, named);
  if (answers.schedule.kernels.empty()) return answers;
  if (question.gpus.size() > 1) {
    answers.gpus_refused = answers.schedule.open_because();
    if (answers.gpus_refused.empty()) answers.gpus = gpu_merits(answers.schedule.law(), question.gpus, fp16_bytes);
  }
  if (!question.clusters.empty()) {
    for (const HardwareProfile& gpu : question.gpus)
      for (ClusterRow& row : cluster_rows(answers.schedule, gpu, question.clusters, fp16_bytes))
        answers.clusters.push_back(std::move(row));
    if (answers.clusters.empty()) {
      const std::string open = answers.schedule.open_because();
      answers.clusters_refused = open.empty() ? "it does not fit a block, or no rate of L2 and HBM is known"
                                              : "H*(M) has no closed form: " + open;
    }
  }
  if (question.formats.size() > 1)
    answers.formats = format_change(answers.schedule, question.formats, question.format_requests);
  return answers;
}

std::vector<PageSection> theory_sections(const TheoryAnswers& answers) {
  std::vector<PageSection> sections;
  for (const TheoryAnswers::Levels& levels : answers.levels)
    sections.push_back(levels_section(levels.optima, levels.hardware, fp16_bytes));
  if (!answers.gpus.empty()) sections.push_back(gpus_section(answers.schedule, answers.gpus, fp16_bytes));
  if (!answers.gpus_refused.empty())
    sections.push_back({.heading = "GPUs by H*(M)",
                        .paragraphs = {"No comparison: H*(M) has no closed form: " + answers.gpus_refused + "."}});
  if (!answers.clusters.empty()) sections.push_back(clusters_section(answers.schedule, answers.clusters));
  if (!answers.clusters_refused.empty())
    sections.push_back({.heading = "Clusters", .paragraphs = {"No answer: " + answers.clusters_refused + "."}});
  if (answers.formats) sections.push_back(formats_section(*answers.formats));
  return sections;
}

nlohmann::ordered_json theory_json(const TheoryAnswers& answers) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const TheoryAnswers::Levels& levels : answers.levels)
    json["levels"].push_back({{"hardware", levels.hardware}, {"boundaries", levels_json(levels.optima)}});
  if (!answers.gpus.empty()) json["gpus"] = gpus_json(answers.schedule, answers.gpus);
  if (!answers.gpus_refused.empty()) json["gpus"] = {{"no_comparison", answers.gpus_refused}};
  if (!answers.clusters.empty()) json["clusters"] = clusters_json(answers.schedule, answers.clusters);
  if (!answers.clusters_refused.empty()) json["clusters"] = {{"no_answer", answers.clusters_refused}};
  if (answers.formats) json["formats"] = formats_json(*answers.formats);
  return json;
}

}  // namespace tilescope
