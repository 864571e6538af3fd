// One's own operator the whole way: a derived schedule is saved, then predicted on GPUs, with the counts of derive.
#include "derive/saved/saved_schedule.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/data_directory.h"
#include "base/files.h"
#include "base/text.h"
#include "derive/symbolic/counted.h"
#include "predict/explain/because.h"
#include "predict/formula_value.h"
#include "predict/linear_attention.h"
#include "request/answer.h"
#include "request/compared.h"
#include "request/searched.h"

namespace tilescope::request_saved_schedule_test {
namespace {

// Bytes of each array across L2 <-> SM where every value has four, by the symbolic counts.
std::map<std::string, std::int64_t> counted_bytes(const Answer& answered) {
  const Schedule& schedule = answered.plan.schedule;
  const Counted counted(schedule, false);
  const std::span<const std::int64_t> tiles{answered.point.tiles.data(), schedule.parameters.size()};
  const std::vector<std::int64_t> outputs = counted.at(schedule, answered.point.workload, {}, tiles);
  std::map<std::string, std::int64_t> bytes;
  for (std::size_t t = 0; t < counted.symbolic.terms.size(); ++t)
    bytes[schedule.diagram.array(counted.symbolic.terms[t].array).name] += 4 * outputs[t];
  return bytes;
}

std::map<std::string, std::int64_t> predicted_bytes(const Answer& answered) {
  std::map<std::string, std::int64_t> bytes;
  for (const Term& term : answered.prediction.terms)
    if (term.boundary == Boundary::l2 && term.array >= 0)
      bytes[answered.plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name] += term.bytes;
  return bytes;
}

// How many formulas have sizes and tiles only; each evaluates to the bytes of its term.
int check_formulas(const Answer& answered) {
  const Diagram& diagram = answered.plan.schedule.diagram;
  const FormulaNames names = sizes_of(diagram, answered.point.workload);
  int checked = 0;
  const Json answer = answered.json();
  for (const Json& term : answer["terms"]) {
    if (term["array"].is_string()) checked += check_formula(term, names, 0);
  }
  return checked;
}

}  // namespace

TEST_CASE("every shipped diagram is derived, saved and predicted on GPUs of all kinds, with the counts of derive") {
  const TemporaryDirectory directory("saved");
  int predictions = 0, formulas = 0;
  for (const std::string& name : shipped_names(data_directory() / "models" / "diagrams")) {
    if (name == "attention_sink_window") continue;  // takes seconds
    CAPTURE(name);
    const Workload workload{2, 16, 16, 1024, 1024, 64, 64};
    const Derivation derivation = derive({.diagram = find_diagram(name, data_directory() / "models"),
                                          .workload = workload,
                                          .ranked = 3,
                                          .run_programs = false},
                                         data_directory() / "none");
    for (std::size_t rank = 0; rank < derivation.ranked.size(); ++rank) {
      CAPTURE(rank);
      const std::string file = directory.path() / "saved.yaml";
      write_file(file, saved_schedule(derivation, rank, "saved", data_directory() / "models").yaml);
      for (const std::string gpu : {"h200_sxm", "mi300x", "b200_sxm", "rtx4090"}) {
        CAPTURE(gpu);
        Options options;
        const auto give = [&](const std::string& option, const std::string& value) {
          options = options.with(option, value);
        };
        give("hardware", gpu), give("schedule", file), give("dtype", "fp32"), give("l2", "closed");
        const bool sized = std::any_of(derivation.request.diagram.axes.begin(), derivation.request.diagram.axes.end(),
                                       [](const Axis& axis) { return axis.extent.has_value(); });
        if (sized)
          give("batch", "2"), give("heads-q", "16"), give("heads-kv", "16"), give("q-len", "1k"), give("kv-len", "1k"),
              give("head-dim", "64"), give("v-head-dim", "64");
        const Answer answered = answer(options);
        CHECK(std::isfinite(answered.prediction.time.total));
        CHECK(answered.prediction.time.total > 0);
        const auto shown = [](const std::map<std::string, std::int64_t>& bytes) {
          std::string text;
          for (const auto& [array, count] : bytes) text += fmt::format("{} {}, ", array, count);
          return text;
        };
        CHECK(shown(predicted_bytes(answered)) == shown(counted_bytes(answered)));
        formulas += check_formulas(answered);
        ++predictions;
      }
    }
  }
  CHECK(predictions > 100);
  CHECK(formulas > 300);
}

TEST_CASE("the formula of an array that is read only once a stream is complete leaves out the steps of the stream") {
  const TemporaryDirectory directory("awaited");
  const std::string diagram_file = directory.path() / "linear.yaml", file = directory.path() / "saved.yaml";
  write_file(diagram_file, linear_attention_diagram);
  const Derivation derivation =
      derive({.diagram = load_diagram(diagram_file), .workload = {1, 1, 1, 8192, 8192, 128, 128}, .ranked = 4},
             data_directory() / "none");
  int formulas = 0, late = 0;
  for (std::size_t rank = 0; rank < derivation.ranked.size(); ++rank) {
    CAPTURE(rank);
    std::string yaml = saved_schedule(derivation, rank, "saved", data_directory() / "models").yaml;
    const std::size_t named = yaml.find("diagram: ");
    yaml.replace(named, yaml.find('\n', named) - named, "diagram: " + diagram_file);
    write_file(file, yaml);
    Options options;
    for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{
             {"hardware", "h200_sxm"}, {"schedule", file}, {"l2", "closed"}, {"q-len", "8k"}, {"head-dim", "128"}})
      options = options.with(option, value);
    const Answer answered = answer(options);
    formulas += check_formulas(answered);
    for (const Term& term : answered.prediction.terms)
      if (term.array >= 0 && term.boundary == Boundary::l2 &&
          answered.plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name == "Q")
        late += join(because(answered.plan, answered.point, term), "; ").find("x:stream") == std::string::npos;
  }
  CHECK(formulas > 3);
  CHECK(late > 0);
}

}  // namespace tilescope::request_saved_schedule_test
